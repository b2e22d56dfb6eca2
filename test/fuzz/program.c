/*
 * program.c
 *		The surroundings of the external program: messages, files, and an end
 *		that is none.  Stands in for trainer/base/message.c.
 */
#include <pthread.h>
#include <sanitizer/allocator_interface.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/message.h"
#include "base/text.h"
#include "harness.h"

#define FILES 3
#define FIRST_FILE 100 /* descriptors of our own are from here on */
#define OPEN_MOST 4    /* files that the program has open at a time */
#define SLOTS (1 << 18)

/* Addresses allocated and not yet freed since fuzz_call() began: a hash table. */
static const volatile void *live[SLOTS];
static uint32_t used[SLOTS]; /* slots in the order of their use */
static uint32_t n_used;
static _Thread_local bool watching; /* not what the fuzzer's own threads allocate */

static sigjmp_buf back;
static int first_free; /* descriptor; those from here on are the program's */

static const char gone; /* its address marks a slot whose memory was freed */

/* Find the slot of an address, or the one it would get. */
static uint32_t
slot_of(const volatile void *p)
{
	uint32_t slot = (uint32_t) (((uintptr_t) p >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 40) % SLOTS;

	while (live[slot] != NULL && live[slot] != p)
		slot = (slot + 1) % SLOTS;
	return slot;
}

/* Remember an allocation. */
static void
allocated(const volatile void *p, size_t size)
{
	uint32_t slot;

	(void) size;
	if (!watching || p == NULL)
		return;
	if (n_used >= SLOTS / 2)
	{
		watching = false;
		fuzz_broken("an input of some kilobytes needs few allocations");
	}
	slot = slot_of(p);
	if (live[slot] == NULL)
		used[n_used++] = slot;
	live[slot] = p;
}

/* Forget an allocation. */
static void
freed(const volatile void *p)
{
	uint32_t slot;

	if (!watching || p == NULL)
		return;
	slot = slot_of(p);
	if (live[slot] == p)
		live[slot] = &gone;
}

/* Stop watching; free what is left where that was nobody's turn. */
static void
stop_watching(bool and_free)
{
	watching = false;
	for (uint32_t i = 0; i < n_used; i++)
	{
		const volatile void *p = live[used[i]];

		live[used[i]] = NULL;
		if (and_free && p != &gone)
			free((void *) p);
	}
	n_used = 0;
}

/* Install the hooks, and see which descriptors are free. */
static void
prepare(void)
{
	static bool prepared;

	if (prepared)
		return;
	prepared = true;
	if (!__sanitizer_install_malloc_and_free_hooks(allocated, freed))
		fuzz_broken("the sanitizer takes hooks");
	first_free = dup(STDERR_FILENO);
	close(first_free);
}

/* Call the program. */
bool
fuzz_call(void (*work)(void *arg), void *arg)
{
	prepare();
	if (sigsetjmp(back, 1) == 0)
	{
		watching = true;
		work(arg);
		stop_watching(false);
		return true;
	}
	stop_watching(true);
	for (int i = 0; i < OPEN_MOST; i++)
		close(first_free + i);
	return false;
}

/* Make a file in memory. */
const char *
fuzz_file(int number, FuzzInput content)
{
	static int descriptor[FILES];
	static char path[FILES][32];

	prepare();
	if (descriptor[number] == 0)
	{
		int fd = memfd_create("fuzz", MFD_CLOEXEC);

		if (fd < 0 || dup2(fd, FIRST_FILE + number) < 0)
			fuzz_broken("there are files in memory");
		close(fd);
		descriptor[number] = FIRST_FILE + number;
		snprintf(path[number], sizeof(path[number]), "/proc/self/fd/%d", FIRST_FILE + number);
	}
	if (ftruncate(descriptor[number], 0) != 0 ||
	    pwrite(descriptor[number], content.data, content.size, 0) != (ssize_t) content.size)
		fuzz_broken("files in memory can be written");
	return path[number];
}

/* End the program's work; the message is formatted as if it were shown. */
static void __attribute__((noreturn))
end(const char *fmt, va_list ap)
{
	char *text = nw_vprintf(fmt, ap);

	if (getenv("FUZZ_SHOW") != NULL)
		fprintf(stderr, "%s\n", text);
	fuzz_use(text, strlen(text));
	siglongjmp(back, 1);
}

void
nw_fatal(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	end(fmt, ap);
}

void
nw_usage_error(const char *subcommand, const char *fmt, ...)
{
	va_list ap;

	(void) subcommand;
	va_start(ap, fmt);
	end(fmt, ap);
}

void
nw_info(const char *fmt, ...)
{
	(void) fmt;
}

/* Threads of the program run where they are started, so that they can end it, too. */
int
fuzz_thread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	sigset_t none;
	sigset_t old;

	(void) attr;
	memset(thread, 0, sizeof(*thread));
	sigemptyset(&none); /* the program blocks all signals, which would hide a crash */
	pthread_sigmask(SIG_SETMASK, &none, &old);
	start(arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return 0;
}

int
fuzz_thread_join(pthread_t thread, void **result)
{
	(void) thread;
	(void) result;
	return 0;
}
