/*
 * data/dataset.h: labelled images, wherever they come from.
 */
#ifndef NW_DATASET_H
#define NW_DATASET_H

#include "data/image.h"

/* where images come from, as the command line says it */
typedef struct NwSourceOptions
{
	const char *folder;     /* --images */
	const char *idx_images; /* --idx */
	const char *idx_labels;
	const char *table; /* --table, --image, --label, --id, --dsn */
	const char *image_column;
	const char *label_column;
	const char *id_column;
	const char *dsn;
	const char *class_names; /* --class-names: a file, one name for each label number */
	int per_class;           /* --per-class: 0 for all */
	uint64_t subset_seed;    /* --subset-seed */
} NwSourceOptions;

typedef struct NwSource
{
	int64_t n;
	int *label;     /* number of the class; -1 where there is none */
	char **classes; /* in byte order */
	int n_classes;
	int channels; /* of the first image */
	int height;
	int width;

	/* one of three kinds */
	uint8_t *pixels;         /* IDX: [n, height, width] */
	struct NwStream *stream; /* IDX: what reads them */
	char **path;             /* folder: relative paths */
	NwBuf *blob;             /* table: encoded images */
	NwBuf *id;               /* table: ids in PostgreSQL's binary form */
	char *id_type;           /* table: the id's SQL type */
	int64_t *place;          /* IDX: numbers in the file */
	char *name;              /* folder, file or table */
} NwSource;

NwSource *nw_source_open(const NwSourceOptions *options, bool labels_needed);
void
nw_source_whole(const NwSource *s); /* wait until a file that is being read is known to be sound */
void nw_source_free(NwSource *s);

/* image i where it lies ready in memory, grey and of the source's size; else NULL */
const uint8_t *nw_source_pixels(const NwSource *s, int64_t i);

/* decode image i, grey or RGB as asked; why not (to be freed), else NULL */
char *nw_source_image(const NwSource *s, int64_t i, int channels, int enough, NwImage *out);

/* for the readers in idx.c, folder.c and table.c */
NwSource *nw_source_idx(const NwSourceOptions *options);
NwSource *nw_source_folder(const NwSourceOptions *options);
NwSource *nw_source_table(const NwSourceOptions *options);
void nw_source_set_labels(NwSource *s, char **names); /* names[i] or NULL; takes them over */

#endif
