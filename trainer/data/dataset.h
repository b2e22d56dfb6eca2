/*
 * data/dataset.h: labelled images.
 */
#ifndef NW_DATASET_H
#define NW_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "data/image.h"
#include "data/unpacker.h"

/* where images come from, as the command line says it; one of three kinds */
typedef struct NwDatasetOptions
{
	const char *folder;       /* of images */
	const char *idx_images;   /* a file in the MNIST format */
	const char *idx_labels;   /* the file with their labels */
	const char *class_names;  /* a file with a name for each label, or NULL */
	const char *table;        /* of a database */
	const char *image_column; /* bytea */
	const char *label_column; /* NULL where there is none */
	const char *id_column;
	const char *dsn;
	const char *known;    /* a table whose ids are left out; NULL for none */
	int per_class;        /* at most so many images of each class; 0 for all */
	uint64_t subset_seed; /* of the choice among them */
} NwDatasetOptions;

typedef struct NwDataset
{
	char *name; /* of the folder, file or table */
	int64_t n;
	int *label;     /* number of the class; -1 where there is none */
	char **classes; /* in byte order */
	int n_classes;
	int channels; /* of the first image */
	int height;
	int width;

	/* a folder's */
	char **path; /* of each image, within the folder */

	/* a file's */
	uint8_t *pixels;      /* [images of the file, height, width] */
	NwUnpacker *unpacker; /* what reads them */
	bool borrowed;        /* pixels and unpacker are another dataset's, which lives longer */
	int64_t *place;       /* of each image: its number in the file */

	/* a table's */
	NwBuf *blob;    /* of each image: it, encoded */
	NwBuf *id;      /* of each image: its id in PostgreSQL's binary form */
	char **id_text; /* and as text */
	char *id_type;  /* in SQL */
} NwDataset;

void nw_dataset_set_labels(NwDataset *d, char **names);
const char *nw_dataset_use_classes(NwDataset *d, const NwDataset *other);
void nw_dataset_keep(NwDataset *d, const bool *keep);
NwDataset *nw_dataset_split(NwDataset *d, const bool *out);
void nw_dataset_whole(const NwDataset *d);
int64_t *nw_dataset_count(const NwDataset *d);
const uint8_t *nw_dataset_pixels(const NwDataset *d, int64_t i);
uint64_t nw_dataset_hash(const NwDataset *d);
char *nw_dataset_image(const NwDataset *d, int64_t i, int channels, int enough, NwImage *out);
void nw_dataset_free(NwDataset *d);

#endif
