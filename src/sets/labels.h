/*
 * sets/labels.h
 *		The classes of a support: output texts numbered as they are met.
 */
#ifndef NW_SETS_LABELS_H
#define NW_SETS_LABELS_H

#include "postgres.h"

#include "sets/text_out.h"

struct bytemap_hash;

/* How many values met lately are remembered. */
#define NW_RECENT_LABELS 256

/* A numbering of output texts, or of other byte strings. */
typedef struct NwLabels
{
	MemoryContext mcxt;
	NwTextOut out;
	int n; /* classes met so far */
	int allocated;
	NwBytes *text;                 /* [n] output text of each class */
	struct bytemap_hash *by_text;  /* output text -> class */
	struct bytemap_hash *by_image; /* stored bytes -> class; NULL where these are the text */
	NwBytes *recent_image; /* [NW_RECENT_LABELS] values met lately, by a few of their bytes */
	int *recent_class;     /* [NW_RECENT_LABELS] and the classes of these */
	int *order;            /* [ordered] classes in byte order, once asked for */
	int ordered;           /* how many classes there were then */
} NwLabels;

extern NwLabels *nw_labels_create(MemoryContext parent, Oid type);
extern int nw_labels_add(NwLabels *labels, Datum value);
extern int nw_labels_add_text(NwLabels *labels, NwBytes text);
extern int nw_labels_find_text(const NwLabels *labels, NwBytes text);
extern const int *nw_labels_order(NwLabels *labels);
extern Size nw_labels_memory(const NwLabels *labels);

/* A set of byte strings, for look-ups. */
typedef struct NwByteSet NwByteSet;

extern NwByteSet *nw_byteset_create(MemoryContext mcxt, int expected);
extern void nw_byteset_add(NwByteSet *set, NwBytes bytes);
extern bool nw_byteset_has(const NwByteSet *set, NwBytes bytes);

#endif /* NW_SETS_LABELS_H */
