/*
 * index/definition.c
 *		What an nw index is declared to be: its columns and options.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/reloptions.h"
#include "catalog/pg_index.h"
#include "fmgr.h"
#include "utils/lsyscache.h"

#include "index/definition.h"

/* ---- columns ---- */

/* Ask the catalog: to read an expression may be to run it, where it is constant. */
bool
nw_index_has_expression(Relation index)
{
	return !heap_attisnull(index->rd_indextuple, Anum_pg_index_indexprs, NULL);
}

/* Ask the catalog, likewise. */
bool
nw_index_has_predicate(Relation index)
{
	return !heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);
}

/*
 * Refuse an index with a predicate or an expression.  No prediction would use it, and
 * whoever looks into it would run its owner's code.
 */
void
nw_index_refuse_code(Relation index)
{
	if (nw_index_has_expression(index))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		                errmsg("an nw index cannot be on an expression"),
		                errhint("Use CREATE INDEX ... USING nw (embedding) INCLUDE (label).")));
	if (nw_index_has_predicate(index))
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("an nw index cannot have a predicate"),
		     errhint(
				 "Predictions rest on all rows of a set: leave out WHERE, or index a table of its own.")));
}

/* Insist on columns that an nw index can serve, and describe its pages. */
void
nw_index_describe(Relation index, NwLayout *layout)
{
	TupleDesc desc = RelationGetDescr(index);
	Form_pg_attribute embedding = TupleDescAttr(desc, NW_INDEX_EMBEDDING);
	int32 typmod = embedding->atttypmod;
	NwVectorType type;
	int dim;

	if (desc->natts != 2)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		                errmsg("an nw index needs one embedding and one included label"),
		                errhint("Use CREATE INDEX ... USING nw (embedding) INCLUDE (label).")));
	nw_index_refuse_code(index);
	type = nw_vector_type(getBaseTypeAndTypmod(embedding->atttypid, &typmod));
	if (type == NW_NOT_A_VECTOR)
		ereport(ERROR,
		        (errcode(ERRCODE_DATATYPE_MISMATCH),
		         errmsg("column \"%s\" is no vector or halfvec", NameStr(embedding->attname))));
	dim = nw_vector_typmod_dim(typmod);
	if (dim == 0)
		ereport(ERROR,
		        (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		         errmsg("column \"%s\" does not have dimensions", NameStr(embedding->attname)),
		         errhint("Declare them: ALTER TABLE ... ALTER COLUMN ... TYPE vector(n).")));
	if (dim > NW_INDEX_MAX_DIM)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
		                errmsg("column \"%s\" has %d dimensions, an nw index at most %d",
		                       NameStr(embedding->attname), dim, NW_INDEX_MAX_DIM)));
	nw_layout_init(layout, dim, type);
}

/* The present type of the label's column. */
Oid
nw_index_label_type(Relation index)
{
	return TupleDescAttr(RelationGetDescr(index), NW_INDEX_LABEL)->atttypid;
}

/* Read a value of the embedding's column; returns its stored bytes, detoasted. */
const char *
nw_index_vector(Relation index, const NwLayout *layout, Datum datum, NwVectorData *vector)
{
	datum = PointerGetDatum(PG_DETOAST_DATUM(datum));
	*vector = nw_vector_read(datum, layout->type);
	if (vector->dim != layout->dim)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("index \"%s\" has %d dimensions, not %d",
		                       RelationGetRelationName(index), layout->dim, vector->dim)));
	return nw_vector_elements(datum);
}

/* ---- options ---- */

/* WITH (...), as the relation cache keeps it. */
typedef struct Options
{
	int32 vl_len_;
	int lists; /* for each class, or NW_LISTS_AUTO */
} Options;

/* Options of nw indexes: a kind of their own. */
static relopt_kind option_kind = 0;

/* Make the options known to the server, once. */
static void
define_options(void)
{
	if (option_kind != 0)
		return;
	option_kind = add_reloption_kind();
	add_int_reloption(option_kind, "lists",
	                  "Number of lists for each class; 0 leaves it to the size of the class",
	                  NW_LISTS_AUTO, NW_LISTS_AUTO, NW_LISTS_MAX, AccessExclusiveLock);
}

/* Parse WITH (lists = ...). */
bytea *
nw_index_options(Datum reloptions, bool validate)
{
	static const relopt_parse_elt table[] = {
		{.optname = "lists", .opttype = RELOPT_TYPE_INT, .offset = offsetof(Options, lists)}};

	define_options();
	return (bytea *) build_reloptions(reloptions, validate, option_kind, sizeof(Options), table,
	                                  lengthof(table));
}

/* The option lists of an index. */
int
nw_index_lists_option(Relation index)
{
	const Options *options = (const Options *) index->rd_options;

	return options ? options->lists : NW_LISTS_AUTO;
}
