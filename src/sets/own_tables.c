/*
 * sets/own_tables.c
 *		Open the extension's own tables, verified, and write their rows.
 *
 * The tables belong to a superuser, whoever created the extension, so that
 * nobody else can put anything in their place.  They lie in a schema that may
 * belong to anyone, though, and superusers make mistakes (ALTER TABLE ...
 * OWNER TO, REASSIGN OWNED), so what is found by name is compared with what the
 * script made, before anything is read or written.  The verdict holds until the
 * relation cache hears of a change.
 *
 * Rows are written by the table's own access method: no query is parsed, no
 * name looked up and no trigger fired, so there is no place for anybody's code,
 * and no other user's rights are needed.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/sequence.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "rewrite/rowsecurity.h"
#include "tcop/utility.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "rows.h"
#include "sets/extension.h"
#include "sets/own_tables.h"
#include "sets/pgvector.h"

#define VERSION_NAME "nw_version"

/* In a list of column types: pgvector's type vector. */
#define VECTOR_TYPE InvalidOid

#define MAX_INDEXES 2

/* An index by which rows are looked up. */
typedef struct OwnIndex
{
	const char *name; /* NULL where there is none */
	bool unique;
	int nkeys;
	AttrNumber key[2];
} OwnIndex;

/* What the script makes. */
typedef struct OwnTable
{
	const char *name;
	bool secured; /* by row-level security, with one policy */
	int ncolumns;
	const Oid *types; /* [ncolumns] */
	OwnIndex index[MAX_INDEXES];
} OwnTable;

static const Oid registry_types[] = {
	INT8OID, TEXTOID, REGROLEOID, TEXTOID, TEXTOID,        NAMEOID,       NAMEOID, NAMEOID,
	NAMEOID, NAMEOID, NAMEOID,    TEXTOID, FLOAT8OID,      INT4OID,       INT8OID, INT4OID,
	INT8OID, BOOLOID, TEXTOID,    TEXTOID, TIMESTAMPTZOID, INT8OID,       INT8OID, TIMESTAMPTZOID,
	INT8OID, INT8OID, FLOAT8OID,  BOOLOID, TEXTARRAYOID,   FLOAT8ARRAYOID};

static const Oid prototype_types[] = {INT8OID, TEXTOID, INT4OID,  VECTOR_TYPE,
                                      INT8OID, TEXTOID, FLOAT8OID};

static const Oid influence_types[] = {INT8OID, INT8OID, BOOLOID, TEXTOID,   TEXTOID,  TEXTOID,
                                      INT4OID, TEXTOID, TEXTOID, FLOAT8OID, FLOAT8OID};

static const Oid suspect_types[] = {INT8OID,   INT8OID,   TEXTOID,   TEXTOID,   TEXTOID,
                                    FLOAT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, INT8OID};

static const Oid reference_types[] = {INT8OID, TEXTOID, TEXTOID,        INT8OID,
                                      TEXTOID, INT4OID, TIMESTAMPTZOID, FLOAT8ARRAYOID};

static const Oid saved_types[] = {
	TEXTOID,      NAMEOID,       TEXTOID, TEXTOID, NAMEOID,        NAMEOID,        NAMEOID,
	NAMEOID,      NAMEOID,       NAMEOID, TEXTOID, FLOAT8OID,      INT4OID,        INT8OID,
	INT4OID,      BOOLOID,       TEXTOID, TEXTOID, TIMESTAMPTZOID, INT8OID,        TIMESTAMPTZOID,
	INT8OID,      FLOAT8OID,     BOOLOID, TEXTOID, INT4OID,        VECTOR_TYPE,    INT8OID,
	TEXTOID,      FLOAT8OID,     TEXTOID, TEXTOID, INT4OID,        TIMESTAMPTZOID, FLOAT8ARRAYOID,
	TEXTARRAYOID, FLOAT8ARRAYOID};

#define COLUMNS(types) lengthof(types), types

/* The tables, by NwOwnTable. */
static const OwnTable own_tables[] = {
	{"nw_registry", false, COLUMNS(registry_types), {{"nw_registry_name", true, 1, {Anum_name}}}},
	{"nw_prototype",
     true,
     COLUMNS(prototype_types),
     {{"nw_prototype_set", false, 1, {Anum_prototype_set}}}},
	{"nw_diagnosed_influence",
     true,
     COLUMNS(influence_types),
     {{"nw_diagnosed_influence_support",
       false,
       2,
       {Anum_diagnosis_support, Anum_diagnosis_queries}},
      {"nw_diagnosed_influence_queries", false, 1, {Anum_diagnosis_queries}}}},
	{"nw_diagnosed_suspect",
     true,
     COLUMNS(suspect_types),
     {{"nw_diagnosed_suspect_support", false, 2, {Anum_diagnosis_support, Anum_diagnosis_queries}},
      {"nw_diagnosed_suspect_queries", false, 1, {Anum_diagnosis_queries}}}},
	{"nw_reference",
     true,
     COLUMNS(reference_types),
     {{"nw_reference_set", false, 2, {Anum_reference_set, Anum_reference_kind}}}},
	{"nw_saved", false, COLUMNS(saved_types), {{0}}}};

#define NTABLES lengthof(own_tables)

StaticAssertDecl(NTABLES == NW_SAVED + 1, "one description for each table");
StaticAssertDecl(lengthof(registry_types) == NW_REGISTRY_COLUMNS,
                 "one type for each column of the registry");
StaticAssertDecl(lengthof(reference_types) == NW_REFERENCE_COLUMNS,
                 "one type for each column of reference scores");

/* What was found to be as it should. */
typedef struct Verdict
{
	Oid relid; /* InvalidOid where nothing is known */
	Oid index[MAX_INDEXES];
} Verdict;

static Verdict verdicts[NTABLES];

/* Forget a verdict on a relation that changes. */
static void
forget_relation(Datum arg, Oid relid)
{
	(void) arg;
	for (int i = 0; i < (int) NTABLES; i++)
	{
		Verdict *verdict = &verdicts[i];

		if (!OidIsValid(relid) || verdict->relid == relid || verdict->index[0] == relid ||
		    verdict->index[1] == relid)
			verdict->relid = InvalidOid;
	}
}

/* Forget all verdicts: a role has changed, perhaps the tables' owner. */
static void
forget_all(Datum arg, int cacheid, uint32 hashvalue)
{
	(void) cacheid;
	(void) hashvalue;
	forget_relation(arg, InvalidOid);
}

/* Install the callbacks that forget what was verified. */
void
nw_own_init(void)
{
	CacheRegisterRelcacheCallback(forget_relation, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHOID, forget_all, (Datum) 0);
}

const char *
nw_own_name(NwOwnTable table)
{
	return own_tables[table].name;
}

/* Say that something is not what the script made. */
static void
report_altered(const char *name)
{
	ereport(
		ERROR,
		(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
	     errmsg("relation \"%s\" of extension \"%s\" has been altered", name, NW_EXTENSION),
	     errdetail("It has to be as the extension's script made it, and to belong to a superuser."),
	     errhint("Undo the change, or drop the extension and create it again.")));
}

/* Find a relation of the extension's by its name. */
static Oid
find_relation(Oid schema, const char *name)
{
	Oid relid = get_relname_relid(name, schema);

	if (!OidIsValid(relid))
		ereport(ERROR,
		        (errcode(ERRCODE_UNDEFINED_TABLE),
		         errmsg("relation \"%s\" of extension \"%s\" does not exist", name, NW_EXTENSION),
		         errhint("Drop the extension and create it again.")));
	return relid;
}

/* True for a relation of the kind given that a superuser has charge of. */
static bool
is_trustworthy(Relation rel, char relkind)
{
	Form_pg_class form = rel->rd_rel;
	Oid extension = nw_extension_find(NW_EXTENSION, NULL);

	return form->relkind == relkind && form->relpersistence == RELPERSISTENCE_PERMANENT &&
	       superuser_arg(form->relowner) && OidIsValid(extension) &&
	       getExtensionOfObject(RelationRelationId, RelationGetRelid(rel)) == extension;
}

/* True where a table has the columns it was made with, and no others. */
static bool
columns_match(TupleDesc desc, const OwnTable *own)
{
	if (desc->natts != own->ncolumns)
		return false;
	for (int i = 0; i < own->ncolumns; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);
		Oid type = own->types[i] == VECTOR_TYPE ? nw_vector_oid() : own->types[i];

		if (attribute->attisdropped || attribute->atttypid != type || attribute->atttypmod != -1)
			return false;
	}
	return true;
}

/* True where every trigger is a foreign key's or the extension's own. */
static bool
triggers_match(Relation rel)
{
	/* looking into catalogs may rebuild the relation, and free its triggers */
	const TriggerDesc *triggers = CopyTriggerDesc(rel->trigdesc);

	for (int i = 0; triggers && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (trigger->tgisinternal ? trigger->tgfoid >= FirstUnpinnedObjectId
		                          : getExtensionOfObject(ProcedureRelationId, trigger->tgfoid) !=
		                                nw_extension_find(NW_EXTENSION, NULL))
			return false;
	}
	return true;
}

/* True where a table is guarded by the script's policy, or meant to be open. */
static bool
policies_match(Relation rel, bool secured)
{
	int npolicies = rel->rd_rsdesc ? list_length(rel->rd_rsdesc->policies) : 0;

	return rel->rd_rel->relrowsecurity == secured && npolicies == (secured ? 1 : 0);
}

/* True where writing to a table's indexes runs no code but PostgreSQL's. */
static bool
indexes_match(Relation rel)
{
	List *indexes = RelationGetIndexList(rel);
	ListCell *cell;
	bool match = true;

	foreach(cell, indexes)
	{
		Relation index = index_open(lfirst_oid(cell), AccessShareLock);

		match &= index->rd_rel->relam == BTREE_AM_OID &&
		         heap_attisnull(index->rd_indextuple, Anum_pg_index_indexprs, NULL) &&
		         heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);
		for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
			match &= index->rd_opfamily[i] < FirstUnpinnedObjectId;
		index_close(index, AccessShareLock);
	}
	list_free(indexes);
	return match;
}

/* True where an index finds the rows of a table by the columns given. */
static bool
index_matches(Oid relid, const OwnIndex *own, Oid indexid, TupleDesc desc)
{
	Relation index = relation_open(indexid, AccessShareLock);
	Form_pg_index form = index->rd_index;
	bool match;

	match = index->rd_rel->relkind == RELKIND_INDEX && index->rd_rel->relam == BTREE_AM_OID &&
	        form->indrelid == relid && form->indisvalid && form->indisready && form->indislive &&
	        form->indisunique == own->unique && form->indimmediate &&
	        form->indnkeyatts == own->nkeys && form->indnatts == own->nkeys;
	for (int i = 0; match && i < own->nkeys; i++)
	{
		bool is_text = TupleDescAttr(desc, own->key[i] - 1)->atttypid == TEXTOID;

		match = form->indkey.values[i] == own->key[i] &&
		        index->rd_opfamily[i] == (is_text ? TEXT_BTREE_FAM_OID : INTEGER_BTREE_FAM_OID) &&
		        index->rd_opcintype[i] == (is_text ? TEXTOID : INT8OID) &&
		        index->rd_indcollation[i] == (is_text ? C_COLLATION_OID : InvalidOid);
	}
	relation_close(index, AccessShareLock);
	return match;
}

/* Insist that an open table is what the script made, and note its indexes. */
static void
verify_table(Relation rel, Oid schema, const OwnTable *own, Verdict *verdict)
{
	TupleDesc desc = RelationGetDescr(rel);
	Oid index[MAX_INDEXES] = {InvalidOid, InvalidOid};

	if (!is_trustworthy(rel, RELKIND_RELATION) || RelationGetNamespace(rel) != schema ||
	    strcmp(RelationGetRelationName(rel), own->name) != 0 ||
	    rel->rd_rel->relam != HEAP_TABLE_AM_OID || rel->rd_rel->relispartition ||
	    has_subclass(RelationGetRelid(rel)) || rel->rd_rules != NULL || !columns_match(desc, own) ||
	    !triggers_match(rel) || !policies_match(rel, own->secured) || !indexes_match(rel))
		report_altered(own->name);
	for (int i = 0; i < MAX_INDEXES && own->index[i].name; i++)
	{
		index[i] = find_relation(schema, own->index[i].name);
		if (!index_matches(RelationGetRelid(rel), &own->index[i], index[i], desc))
			report_altered(own->index[i].name);
	}
	memcpy(verdict->index, index, sizeof(index));
	verdict->relid = RelationGetRelid(rel);
}

/*
 * Open a table of the extension's, which is what the script made or an error.
 * A lock that allows writing is refused where nothing may be written.
 */
Relation
nw_own_open(Oid schema, NwOwnTable table, LOCKMODE lockmode)
{
	const OwnTable *own = &own_tables[table];
	Verdict *verdict = &verdicts[table];
	Relation rel;

	if (lockmode > AccessShareLock)
		PreventCommandIfReadOnly("UPDATE");
	rel = relation_open(find_relation(schema, own->name), lockmode);

	/* taking the lock has let in what the verdict has to be dropped for */
	if (verdict->relid != RelationGetRelid(rel))
		verify_table(rel, schema, own, verdict);
	return rel;
}

/* The OID of such a table, after the same checks. */
Oid
nw_own_relid(Oid schema, NwOwnTable table)
{
	Relation rel = nw_own_open(schema, table, AccessShareLock);
	Oid relid = RelationGetRelid(rel);

	table_close(rel, AccessShareLock);
	return relid;
}

/* The index by which the rows of an open table are found by a column. */
Oid
nw_own_index(Relation rel, NwOwnTable table, AttrNumber column)
{
	const Verdict *verdict = &verdicts[table];

	for (int i = 0; i < MAX_INDEXES; i++)
	{
		if (own_tables[table].index[i].name && own_tables[table].index[i].key[0] == column)
			return verdict->index[i];
	}
	elog(ERROR, "table \"%s\" has no index on column %d", RelationGetRelationName(rel), column);
	return InvalidOid; /* keep the compiler quiet */
}

/* A number never given before. */
int64
nw_own_next_version(Oid schema)
{
	Oid relid = find_relation(schema, VERSION_NAME);
	Relation rel = relation_open(relid, RowExclusiveLock);

	if (!is_trustworthy(rel, RELKIND_SEQUENCE))
		report_altered(VERSION_NAME);
	relation_close(rel, NoLock);
	return nextval_internal(relid, false);
}

/*
 * Write one row, without any trigger, rule or query: no code but this runs.
 * The caller's right to it has been checked.
 */
void
nw_own_insert(Relation rel, Datum *values, bool *nulls)
{
	HeapTuple tuple = heap_form_tuple(RelationGetDescr(rel), values, nulls);

	CatalogTupleInsert(rel, tuple);
	heap_freetuple(tuple);
}

/* Make a key for a column of type int8. */
void
nw_own_key(ScanKey key, AttrNumber column, int64 value)
{
	ScanKeyInit(key, column, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(value));
}

/* The same for a column of type text that is compared byte by byte. */
void
nw_own_text_key(ScanKey key, AttrNumber column, const char *value)
{
	ScanKeyEntryInitialize(key, 0, column, BTEqualStrategyNumber, TEXTOID, C_COLLATION_OID,
	                       F_TEXTEQ, CStringGetTextDatum(value));
}

/*
 * Delete the rows that match keys, the first of them on an indexed column.  The
 * keys are used up.
 */
void
nw_own_delete(Relation rel, NwOwnTable table, ScanKey keys, int nkeys)
{
	Oid index = nw_own_index(rel, table, keys[0].sk_attno);
	Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
	SysScanDesc scan;
	HeapTuple tuple;

	scan = systable_beginscan(rel, index, true, snapshot, nkeys, keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		CatalogTupleDelete(rel, &tuple->t_self);
		CHECK_FOR_INTERRUPTS();
	}
	systable_endscan(scan);
	UnregisterSnapshot(snapshot);
}

/* Read a text out of the values of a row, or NULL. */
char *
nw_own_get_text(const Datum *values, const bool *nulls, int column)
{
	return nulls[column] ? NULL : TextDatumGetCString(values[column]);
}

/* The same for a value of type name. */
char *
nw_own_get_name(const Datum *values, const bool *nulls, int column)
{
	return nulls[column] ? NULL : pstrdup(NameStr(*DatumGetName(values[column])));
}

/* Put a text, or NULL, among the values of a row. */
void
nw_own_put_text(Datum *values, bool *nulls, int column, const char *text)
{
	values[column] = nw_text_or_null(text, &nulls[column]);
}

/* The same for a value of type name. */
void
nw_own_put_name(Datum *values, bool *nulls, int column, const char *name)
{
	nulls[column] = name == NULL;
	values[column] = name ? DirectFunctionCall1(namein, CStringGetDatum(name)) : (Datum) 0;
}

/*
 * Take apart an array of one dimension, which has elements of a type and none that is
 * null: [n].  NULL where the value is null or anything else.
 */
static Datum *
get_elements(const Datum *values, const bool *nulls, int column, Oid type, int *n)
{
	ArrayType *array;
	int16 typlen;
	bool typbyval;
	char typalign;
	Datum *elements;

	*n = 0;
	if (nulls[column])
		return NULL;
	array = DatumGetArrayTypeP(values[column]);
	if (ARR_NDIM(array) != 1 || ARR_ELEMTYPE(array) != type || array_contains_nulls(array))
		return NULL;
	get_typlenbyvalalign(type, &typlen, &typbyval, &typalign);
	deconstruct_array(array, type, typlen, typbyval, typalign, &elements, NULL, n);
	return elements;
}

/* Read an array of texts out of the values of a row, or NULL. */
char **
nw_own_get_texts(const Datum *values, const bool *nulls, int column, int *n)
{
	Datum *elements = get_elements(values, nulls, column, TEXTOID, n);
	char **texts = elements ? palloc(*n * sizeof(char *)) : NULL;

	for (int i = 0; i < *n; i++)
		texts[i] = TextDatumGetCString(elements[i]);
	return texts;
}

/* The same for numbers. */
double *
nw_own_get_numbers(const Datum *values, const bool *nulls, int column, int *n)
{
	Datum *elements = get_elements(values, nulls, column, FLOAT8OID, n);
	double *numbers = elements ? palloc(*n * sizeof(double)) : NULL;

	for (int i = 0; i < *n; i++)
		numbers[i] = DatumGetFloat8(elements[i]);
	return numbers;
}

/* Put an array of elements, or NULL where there are none, among the values of a row. */
static void
put_elements(Datum *values, bool *nulls, int column, Datum *elements, Oid type, int n)
{
	int16 typlen;
	bool typbyval;
	char typalign;

	get_typlenbyvalalign(type, &typlen, &typbyval, &typalign);
	nulls[column] = n == 0;
	values[column] =
		n == 0 ? (Datum) 0
			   : PointerGetDatum(construct_array(elements, n, type, typlen, typbyval, typalign));
}

/* Put an array of texts among the values of a row. */
void
nw_own_put_texts(Datum *values, bool *nulls, int column, char *const *texts, int n)
{
	Datum *elements = palloc(Max(n, 1) * sizeof(Datum));

	for (int i = 0; i < n; i++)
		elements[i] = CStringGetTextDatum(texts[i]);
	put_elements(values, nulls, column, elements, TEXTOID, n);
}

/* The same for numbers. */
void
nw_own_put_numbers(Datum *values, bool *nulls, int column, const double *numbers, int n)
{
	Datum *elements = palloc(Max(n, 1) * sizeof(Datum));

	for (int i = 0; i < n; i++)
		elements[i] = Float8GetDatum(numbers[i]);
	put_elements(values, nulls, column, elements, FLOAT8OID, n);
}
