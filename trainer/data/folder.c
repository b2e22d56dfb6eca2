/*
 * data/folder.c: images in a folder, one subfolder for each class.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/message.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/folder.h"

/* an image below the folder */
typedef struct Found
{
	char *path;
	char *label; /* NULL where it is in no subfolder */
} Found;

typedef struct List
{
	Found *item;
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
			NW_GROW(list->item, list->n, list->cap);
			list->item[list->n++] = (Found) {nw_strdup(path), label ? nw_strdup(label) : NULL};
		}
		free(path);
		free(full);
		free(entry[i]);
	}
	free(entry);
	free(dir);
}

NwDataset *
nw_folder_open(const NwDatasetOptions *options)
{
	NwDataset *d = nw_alloc0(sizeof(NwDataset));
	List list = {0};
	char **labels;

	collect(&list, options->folder, "", NULL);
	d->name = nw_strdup(options->folder);
	d->n = list.n;
	d->path = nw_alloc((size_t) d->n * sizeof(char *));
	labels = nw_alloc((size_t) d->n * sizeof(char *));
	for (int64_t i = 0; i < d->n; i++)
	{
		d->path[i] = list.item[i].path;
		labels[i] = list.item[i].label;
	}
	free(list.item);
	nw_dataset_set_labels(d, labels);
	return d;
}
