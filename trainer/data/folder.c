/*
 * data/folder.c: images in a folder, one subfolder for each class.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "data/dataset.h"

/* a growing list of relative paths and their classes */
typedef struct List
{
	char **path;
	char **label;
	int64_t n;
	int64_t cap;
} List;

/* Say whether a name ends like an image's. */
static bool
image_name(const char *name)
{
	static const char *const endings[] = {".jpg", ".jpeg", ".png"};
	size_t len = strlen(name);

	for (int i = 0; i < NW_LENGTH(endings); i++)
	{
		size_t n = strlen(endings[i]);

		if (len > n && strcasecmp(name + len - n, endings[i]) == 0)
			return true;
	}
	return false;
}

/* Leave hidden entries out. */
static int
visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

/* Order names by their bytes, whatever the locale. */
static int
by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Collect the images below a folder; a first-level folder's name is the class. */
static void
collect(List *list, const char *root, const char *below, const char *label)
{
	char *dir = below[0] ? nw_printf("%s/%s", root, below) : nw_strdup(root);
	struct dirent **entry;
	int n = scandir(dir, &entry, visible, by_bytes);

	if (n < 0)
		nw_fatal("could not read folder \"%s\": %s", dir, strerror(errno));
	for (int i = 0; i < n; i++)
	{
		char *path =
			below[0] ? nw_printf("%s/%s", below, entry[i]->d_name) : nw_strdup(entry[i]->d_name);
		char *full = nw_printf("%s/%s", root, path);
		struct stat st;

		if (stat(full, &st) != 0)
			nw_fatal("could not read \"%s\": %s", full, strerror(errno));
		if (S_ISDIR(st.st_mode))
			collect(list, root, path, label ? label : entry[i]->d_name);
		else if (image_name(path))
		{
			if (list->n >= list->cap)
			{
				list->cap = list->cap ? list->cap * 2 : 256;
				list->path = nw_realloc(list->path, (size_t) list->cap * sizeof(char *));
				list->label = nw_realloc(list->label, (size_t) list->cap * sizeof(char *));
			}
			list->path[list->n] = nw_strdup(path);
			list->label[list->n++] = label ? nw_strdup(label) : NULL;
		}
		free(path);
		free(full);
		free(entry[i]);
	}
	free(entry);
	free(dir);
}

/* Open a folder of images. */
NwSource *
nw_source_folder(const NwSourceOptions *options)
{
	NwSource *s = nw_alloc0(sizeof(NwSource));
	List list = {0};

	collect(&list, options->folder, "", NULL);
	if (list.n == 0)
		nw_fatal("folder \"%s\" holds no JPEG or PNG images", options->folder);
	s->n = list.n;
	s->path = list.path;
	s->name = nw_strdup(options->folder);
	nw_source_set_labels(s, list.label);
	return s;
}
