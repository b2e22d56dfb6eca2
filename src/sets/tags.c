/*
 * sets/tags.c
 *		Labels of several values: the tags that classes are made of.
 *
 * The label of such a set is an array, each distinct array a class as any
 * other label would be.  What its elements are is read out of the class's text
 * (bytes/array_text.c), which is all that prototypes and indexes have of it.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "bytes/array_text.h"
#include "grow.h"
#include "sets/tags.h"

/* The character between the elements of an array of this type. */
static char
delimiter_of(Oid type)
{
	int16 typlen;
	bool typbyval;
	char typalign;
	char typdelim;
	Oid typioparam;
	Oid func;

	get_type_io_data(type, IOFunc_output, &typlen, &typbyval, &typalign, &typdelim, &typioparam,
	                 &func);
	return typdelim;
}

/* Insist that labels of a type can be taken apart. */
void
nw_tags_check_type(const NwSet *set, Oid label_type)
{
	Oid output;
	bool is_varlena;
	Oid element;

	if (!OidIsValid(label_type))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("set \"%s\" has no labels to take tags from", set->name)));
	getTypeOutputInfo(getBaseType(label_type), &output, &is_varlena);
	element = get_base_element_type(label_type);
	if (output != F_ARRAY_OUT || !OidIsValid(element))
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
		                errmsg("label column \"%s\" of set \"%s\" has type %s", set->label,
		                       set->name, format_type_be(label_type)),
		                errdetail("Tags are the elements of an array, such as text[]."),
		                errhint("For labels of one value, pass tags => false.")));
	if (delimiter_of(element) != ',')
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		                errmsg("tags cannot be of type %s", format_type_be(element)),
		                errdetail("Its values have \"%c\" between them in arrays, not a comma.",
		                          delimiter_of(element))));
}

/* Insist that the labels of a set are said to be tags. */
void
nw_tags_check_set(const NwSet *set)
{
	if (!set->tags)
		ereport(ERROR,
		        (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("set \"%s\" has no tags", set->name),
		         nw_set_is_distilled(set)
		             ? errhint("Let the set that it was distilled from have tags, and distill it "
		                       "anew.")
		             : errhint("Where its label column is an array, say so with nw_alter_set(%s, "
		                       "tags => true).",
		                       quote_literal_cstr(set->name))));
}

/* Make ready for the classes of a set; names get new tags as they are met. */
void
nw_tags_init(NwTags *tags, const NwSet *set, NwLabels *names)
{
	memset(tags, 0, sizeof(NwTags));
	tags->mcxt = CurrentMemoryContext;
	tags->set = set->name;
	tags->names = names;
	NW_RESERVE(tags->mcxt, tags->start, tags->start_allocated, 1);
	tags->start[0] = 0;
}

/* Add a tag to the last class, unless it has it. */
static void
add_tag(NwTags *tags, NwBytes name)
{
	int old = tags->met_allocated;
	int tag = nw_labels_add_text(tags->names, name);

	NW_RESERVE(tags->mcxt, tags->met, tags->met_allocated, tag + 1);
	if (tags->met_allocated > old)
		memset(tags->met + old, 0, (tags->met_allocated - old) * sizeof(int));
	if (tags->met[tag] == tags->n)
		return;
	tags->met[tag] = tags->n;
	NW_RESERVE(tags->mcxt, tags->tag, tags->tag_allocated, tags->start[tags->n] + 1);
	tags->tag[tags->start[tags->n]++] = tag;
}

/* Take the next class apart. */
static void
add_class(NwTags *tags, NwBytes text)
{
	size_t room = nw_array_text_room(text.data, text.len);
	char *space = palloc(Max(text.len, 1));
	NwElement *element = palloc_extended(room * sizeof(NwElement), MCXT_ALLOC_HUGE);
	long n = nw_array_text_read(text.data, text.len, space, element, room);

	/* only prototypes out of a dump that was tampered with */
	if (n < 0)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("label \"%.*s\" of set \"%s\" is not an array", text.len, text.data,
		                       tags->set),
		                errhint("Distill the set anew with nw_distill.")));
	NW_RESERVE(tags->mcxt, tags->start, tags->start_allocated, tags->n + 2);
	tags->n++;
	tags->start[tags->n] = tags->start[tags->n - 1];
	for (long i = 0; i < n; i++)
	{
		if (element[i].data)
			add_tag(tags, (NwBytes) {element[i].data, (int) element[i].len});
	}
	pfree(element);
	pfree(space);
	CHECK_FOR_INTERRUPTS();
}

/* Take all classes apart that were not yet. */
void
nw_tags_learn(NwTags *tags, const NwLabels *classes)
{
	while (tags->n < classes->n)
		add_class(tags, classes->text[tags->n]);
}
