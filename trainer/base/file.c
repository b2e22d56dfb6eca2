/*
 * base/file.c: whole files, read and written.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/message.h"
#include "base/text.h"

#define MAX_LINKS 40 /* to follow, as the system does */

/* Read all that an open file holds; false, with errno set, where that is not possible. */
static bool
read_all(int fd, NwBuf *into)
{
	char chunk[65536];
	struct stat st;
	ssize_t n;

	*into = (NwBuf) {0};
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
	{
		into->cap = (size_t) st.st_size + 1;
		into->data = nw_alloc(into->cap);
	}
	while ((n = read(fd, chunk, sizeof(chunk))) != 0)
	{
		if (n > 0)
			nw_buf_add(into, chunk, (size_t) n);
		else if (errno != EINTR)
		{
			int saved = errno;

			nw_buf_free(into);
			errno = saved;
			return false;
		}
	}
	nw_buf_add(into, NULL, 0);
	return true;
}

/* Read a whole file; false, with errno set, where that is not possible. */
bool
nw_try_read_file(const char *path, NwBuf *into)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool ok;
	int saved;

	*into = (NwBuf) {0};
	if (fd < 0)
		return false;
	ok = read_all(fd, into);
	saved = errno;
	close(fd);
	errno = saved;
	return ok;
}

/* Read a whole file that must be a regular one, so that it is never waited for; false, with what
 * the problem is, where that is not possible. */
bool
nw_try_read_regular_file(const char *path, NwBuf *into, const char **problem)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	bool ok = false;

	*into = (NwBuf) {0};
	if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
		*problem = "not a regular file";
	else
	{
		ok = fd >= 0 && read_all(fd, into);
		*problem = ok ? NULL : strerror(errno);
	}
	if (fd >= 0)
		close(fd);
	return ok;
}

bool
nw_try_read_stdin(NwBuf *into)
{
	return read_all(STDIN_FILENO, into);
}

void
nw_read_file(const char *path, NwBuf *into)
{
	if (!nw_try_read_file(path, into))
		nw_fatal("could not read \"%s\": %s", path, strerror(errno));
}

/*
 * Write a path as one without links, where the file itself need not be; NULL, with errno set,
 * without its folder, and where links lead in a circle.
 */
static char *
resolved(const char *path)
{
	char *at = nw_strdup(path);

	for (int links = 0; links <= MAX_LINKS; links++)
	{
		char *copy = nw_strdup(at);
		char *again = nw_strdup(at);
		char *dir = realpath(dirname(copy), NULL);
		char *whole = dir ? nw_printf("%s/%s", dir, basename(again)) : NULL;
		char target[PATH_MAX];
		ssize_t len = whole ? readlink(whole, target, sizeof(target) - 1) : -1;
		int saved = errno;

		free(at);
		free(again);
		free(copy);
		if (len < 0)
		{
			free(dir);
			errno = saved;
			return whole;
		}
		target[len] = 0;
		at = target[0] == '/' ? nw_strdup(target) : nw_printf("%s/%s", dir, target);
		free(dir);
		free(whole);
	}
	free(at);
	errno = ELOOP;
	return NULL;
}

/*
 * Name the file that is written for a path: the one that a link leads to, or would; to be freed.
 * NULL, with errno set, where a link leads nowhere.
 */
static char *
behind_link(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode) ? resolved(path) : nw_strdup(path);
}

/* Say that a link leads nowhere; errno tells why. */
static char *
lost_link(const char *path)
{
	return nw_printf("could not follow link \"%s\": %s", path, strerror(errno));
}

/* Make a rename in a folder survive a crash. */
static void
sync_parent(const char *path)
{
	char *copy = nw_strdup(path);
	int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
	{
		fsync(fd);
		close(fd);
	}
	free(copy);
}

/* Name the file that a file is written as until it is complete; to be freed. */
static char *
temporary(const char *path)
{
	return nw_printf("%s.%ld.tmp", path, (long) getpid());
}

/*
 * Replace a file as a whole, the one that a link leads to: readers see the old content or the
 * new, never a part.  Why that is not possible (to be freed), else NULL.
 */
char *
nw_try_write_file(const char *path, const void *data, size_t len)
{
	char *file = behind_link(path);
	char *tmp;
	const char *p = data;
	const char *what = "create";
	int fd;

	if (file == NULL)
		return lost_link(path);
	tmp = temporary(file);
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		goto fail;
	what = "write";
	while (len > 0)
	{
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			goto fail;
		p += n;
		len -= (size_t) n;
	}
	if (fsync(fd) != 0)
		goto fail;
	if (close(fd) != 0)
	{
		fd = -1;
		goto fail;
	}
	fd = -1;
	what = "rename";
	if (rename(tmp, file) != 0)
		goto fail;
	sync_parent(file);
	free(tmp);
	free(file);
	return NULL;

fail:
{
	int saved = errno;

	if (fd >= 0)
		close(fd);
	unlink(tmp);
	free(tmp);
	free(file);
	return nw_printf("could not %s \"%s\": %s", what, path, strerror(saved));
}
}

void
nw_write_file(const char *path, const void *data, size_t len)
{
	char *why = nw_try_write_file(path, data, len);

	if (why != NULL)
		nw_fatal("%s", why);
}

/* Remove a file, the one that a link leads to. */
void
nw_remove_file(const char *path)
{
	char *file = behind_link(path);

	if (file != NULL)
		unlink(file);
	free(file);
}

/* End unless files below a folder can be looked for. */
void
nw_check_folder(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0 || (S_ISDIR(st.st_mode) && access(path, X_OK) != 0))
		nw_fatal("could not open folder \"%s\": %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		nw_fatal("\"%s\" is not a folder", path);
}

/* Find out before hours of work that a file can be written where it shall go. */
void
nw_check_writable(const char *path)
{
	char *file = behind_link(path);
	char *tmp;
	char *dir;
	struct stat st;
	int fd;

	if (file == NULL)
		nw_fatal("%s", lost_link(path));
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		nw_fatal("\"%s\" is not a regular file", path);
	tmp = temporary(file);
	dir = dirname(file);
	if (access(dir, W_OK) != 0)
		nw_fatal("could not write to folder \"%s\": %s", dir, strerror(errno));
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		nw_fatal("could not create \"%s\": %s", path, strerror(errno));
	close(fd);
	unlink(tmp);
	free(tmp);
	free(file);
}

/* Say whether two paths lead to one file, which need not be there yet. */
bool
nw_same_file(const char *a, const char *b)
{
	struct stat x;
	struct stat y;
	char *whole_a;
	char *whole_b;
	bool same;

	if (strcmp(a, b) == 0)
		return true;
	if (stat(a, &x) == 0 && stat(b, &y) == 0)
		return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
	whole_a = resolved(a);
	whole_b = resolved(b);
	same = whole_a && whole_b && strcmp(whole_a, whole_b) == 0;
	free(whole_a);
	free(whole_b);
	return same;
}
