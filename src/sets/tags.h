/*
 * sets/tags.h
 *		Labels of several values: the tags that classes are made of.
 */
#ifndef NW_SETS_TAGS_H
#define NW_SETS_TAGS_H

#include "postgres.h"

#include "sets/labels.h"
#include "sets/registry.h"

/* The tags of classes, numbered. */
typedef struct NwTags
{
	MemoryContext mcxt;
	const char *set; /* whose classes they are */
	NwLabels *names; /* the tags, in output text; others may share them */
	int n;           /* classes taken apart so far */
	int *start;      /* [n + 1] where the tags of each begin */
	int start_allocated;
	int *tag; /* numbers of tags, each once for a class */
	int tag_allocated;
	int *met; /* [met_allocated] by tag: the last class that has it, from 1 on */
	int met_allocated;
} NwTags;

extern void nw_tags_check_type(const NwSet *set, Oid label_type);
extern void nw_tags_check_set(const NwSet *set);
extern void nw_tags_init(NwTags *tags, const NwSet *set, NwLabels *names);
extern void nw_tags_learn(NwTags *tags, const NwLabels *classes);

#endif /* NW_SETS_TAGS_H */
