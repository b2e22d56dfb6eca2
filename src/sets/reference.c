/*
 * sets/reference.c
 *		Keep reference scores of sets, and read them.
 *
 * Scores hold for the set as it was when they were found: for its version then.
 * A change that leaves all scores as they are (another name, another stamp) takes
 * them along to the new version; after any other they are refused until they are
 * found anew.  Scores of another owner's set, or of other rows, go with these.
 *
 * The table shows them to members of the role that owns the set.  Functions that
 * predict read them here for whoever may predict from the set, and let out of them
 * what the prediction says, no more.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "grow.h"
#include "sets/reference.h"

/* What makes scores of a kind. */
typedef struct Maker
{
	const char *kind;
	const char *function;
	const char *arguments; /* beside set, queries, k and by_class; NULL for none */
	bool by_tau;           /* they change with tau */
	bool by_temper;        /* and with temper */
} Maker;

/* By NwReferenceKind. */
static const Maker makers[] = {
	{"threshold", "nw_conformal", "method => 'threshold'", true, true},
	{"adaptive", "nw_conformal", "method => 'adaptive'", true, true},
	{"residual", "nw_conformal", "method => 'residual'", true, false},
	{"neighbour", "nw_learn_typicality", NULL, false, false},
};

StaticAssertDecl(lengthof(makers) == NW_REFERENCE_NEIGHBOUR + 1, "one maker for each kind");

const char *
nw_reference_name(NwReferenceKind kind)
{
	return makers[kind].kind;
}

/* Look up a kind by its name; false where there is none such. */
bool
nw_reference_parse(const char *name, NwReferenceKind *kind)
{
	for (int i = 0; i < (int) lengthof(makers); i++)
	{
		if (strcmp(name, makers[i].kind) == 0)
		{
			*kind = i;
			return true;
		}
	}
	return false;
}

/* Complain about a row that the functions did not write. */
static void
report_damage(const NwSet *set, NwReferenceKind kind)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
	                errmsg("reference scores of set \"%s\" are damaged", set->name),
	                errhint("Run %s again.", makers[kind].function)));
}

/* Complain about scores of a set that was another one. */
static void
report_earlier(const NwSet *set, NwReferenceKind kind)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
	                errmsg("reference scores of set \"%s\" are of an earlier state", set->name),
	                errdetail("What they are compared with has changed since they were found."),
	                errhint("Run %s again.", makers[kind].function)));
}

/* Take scores out of an array; false where it is none that was written here. */
bool
nw_scores_decode(Datum datum, double **score, int *n)
{
	ArrayType *array = DatumGetArrayTypeP(datum);

	if (ARR_NDIM(array) != 1 || ARR_ELEMTYPE(array) != FLOAT8OID || ARR_HASNULL(array) ||
	    ARR_DIMS(array)[0] < 1)
		return false;
	*n = ARR_DIMS(array)[0];
	*score = (double *) ARR_DATA_PTR(array);
	for (int i = 0; i < *n; i++)
	{
		if (isnan((*score)[i]) || (i > 0 && (*score)[i] < (*score)[i - 1]))
			return false;
	}
	return true;
}

/* Put the class in front whose bytes come first, and that of all classes before it. */
static int
compare_classes(const void *a, const void *b)
{
	NwBytes x = ((const NwReference *) a)->class;
	NwBytes y = ((const NwReference *) b)->class;

	if (x.data == NULL || y.data == NULL)
		return (y.data == NULL) - (x.data == NULL);
	return nw_bytes_compare(x, y);
}

/*
 * The version that scores of a set are of.  Those of a mixture are of its members'
 * versions as well, as the active snapshot has them: a hash of all stands for these.
 */
static int64
state_version(Oid schema, const NwSet *set)
{
	int64 versions[1 + NW_MAX_MEMBERS] = {set->version};

	if (!nw_set_is_mixture(set))
		return set->version;
	for (int i = 0; i < set->nmembers; i++)
	{
		const NwSet *member = nw_set_find(schema, set->members[i]);

		versions[1 + i] = member ? member->version : 0;
	}
	return (int64) hash_bytes_extended((const unsigned char *) versions,
	                                   (1 + set->nmembers) * (int) sizeof(int64), 0);
}

/* Take a row apart, which is of the kind given, and has to be of a version of the set. */
static NwReference
decode_row(const NwSet *set, int64 version, NwReferenceKind kind, HeapTuple tuple, TupleDesc desc)
{
	Datum values[NW_REFERENCE_COLUMNS];
	bool nulls[NW_REFERENCE_COLUMNS];
	NwReference row = {0};

	heap_deform_tuple(tuple, desc, values, nulls);
	if (nulls[Anum_reference_version - 1] || nulls[Anum_reference_at - 1] ||
	    nulls[Anum_reference_scores - 1])
		report_damage(set, kind);
	if (DatumGetInt64(values[Anum_reference_version - 1]) != version)
		report_earlier(set, kind);
	if (!nw_scores_decode(
			PointerGetDatum(DatumGetArrayTypePCopy(values[Anum_reference_scores - 1])), &row.score,
			&row.n))
		report_damage(set, kind);
	if (!nulls[Anum_reference_class - 1])
		row.class = nw_bytes_of_string(TextDatumGetCString(values[Anum_reference_class - 1]));
	row.queries = nw_own_get_text(values, nulls, Anum_reference_queries - 1);
	row.at = DatumGetTimestampTz(values[Anum_reference_at - 1]);
	if (!nulls[Anum_reference_k - 1])
	{
		row.k = DatumGetInt32(values[Anum_reference_k - 1]);
		if (row.k < 1)
			report_damage(set, kind);
	}
	return row;
}

/* Begin to read the rows of a set, of one kind or of all (NULL). */
static SysScanDesc
begin_scan(Relation rel, const NwSet *set, const char *kind, Snapshot snapshot, ScanKeyData *keys)
{
	nw_own_key(&keys[0], Anum_reference_set, set->set_id);
	if (kind)
		nw_own_text_key(&keys[1], Anum_reference_kind, kind);
	return systable_beginscan(rel, nw_own_index(rel, NW_REFERENCE, Anum_reference_set), true,
	                          snapshot, kind ? 2 : 1, keys);
}

/* Say whether a set has scores of a kind, and all of them hold for the set as it is. */
bool
nw_reference_is_current(Oid schema, const NwSet *set, NwReferenceKind kind)
{
	Relation rel = nw_own_open(schema, NW_REFERENCE, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan = begin_scan(rel, set, makers[kind].kind, GetActiveSnapshot(), keys);
	int64 wanted = state_version(schema, set);
	HeapTuple tuple;
	bool any = false;
	bool current = true;

	while (current && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool isnull;
		Datum version = heap_getattr(tuple, Anum_reference_version, RelationGetDescr(rel), &isnull);

		any = true;
		current = isnull || DatumGetInt64(version) == wanted;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return any && current;
}

/*
 * Read all scores of a kind that a set has, as the active snapshot sees them; NULL
 * where it has none.  Those of an earlier state of the set are an error.  The caller
 * has the right to predict from the set.
 */
NwReferences *
nw_reference_read(Oid schema, const NwSet *set, NwReferenceKind kind)
{
	Relation rel = nw_own_open(schema, NW_REFERENCE, AccessShareLock);
	NwReferences *references = palloc0(sizeof(NwReferences));
	ScanKeyData keys[2];
	SysScanDesc scan = begin_scan(rel, set, makers[kind].kind, GetActiveSnapshot(), keys);
	int64 version = state_version(schema, set);
	HeapTuple tuple;
	int allocated = 0;

	references->kind = kind;
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		NW_RESERVE(CurrentMemoryContext, references->row, allocated, references->n + 1);
		references->row[references->n++] =
			decode_row(set, version, kind, tuple, RelationGetDescr(rel));
		CHECK_FOR_INTERRUPTS();
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	if (references->n == 0)
		return NULL;
	qsort(references->row, references->n, sizeof(NwReference), compare_classes);

	/* of all classes, or of each: once */
	for (int i = 1; i < references->n; i++)
	{
		if (references->row[0].class.data == NULL ||
		    compare_classes(&references->row[i - 1], &references->row[i]) == 0)
			report_damage(set, kind);
	}
	return references;
}

/* The scores that hold for a class; NULL where it has none. */
const NwReference *
nw_reference_find(const NwReferences *references, NwBytes class)
{
	NwReference key = {.class = class};

	if (references->row[0].class.data == NULL)
		return &references->row[0];
	return bsearch(&key, references->row, references->n, sizeof(NwReference), compare_classes);
}

/* Add one row of scores to an open table. */
static void
insert_row(Oid schema, Relation rel, const NwSet *set, NwReferenceKind kind, const NwReference *row)
{
	Datum values[NW_REFERENCE_COLUMNS];
	bool nulls[NW_REFERENCE_COLUMNS] = {false};
	Datum *scores = palloc_extended(sizeof(Datum) * row->n, MCXT_ALLOC_HUGE);

	if (row->n > (int) (MaxAllocSize / sizeof(double) / 2))
		ereport(ERROR,
		        (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("too many reference scores"),
		         errdetail("There are %d of set \"%s\".", row->n, set->name)));
	for (int i = 0; i < row->n; i++)
		scores[i] = Float8GetDatum(row->score[i]);
	values[Anum_reference_set - 1] = Int64GetDatum(set->set_id);
	values[Anum_reference_kind - 1] = CStringGetTextDatum(makers[kind].kind);
	nulls[Anum_reference_class - 1] = row->class.data == NULL;
	values[Anum_reference_class - 1] = row->class.data ? nw_bytes_datum(row->class) : (Datum) 0;
	values[Anum_reference_version - 1] = Int64GetDatum(state_version(schema, set));
	nw_own_put_text(values, nulls, Anum_reference_queries - 1, row->queries);
	values[Anum_reference_k - 1] = Int32GetDatum(row->k);
	nulls[Anum_reference_k - 1] = row->k <= 0;
	values[Anum_reference_at - 1] = TimestampTzGetDatum(row->at);
	values[Anum_reference_scores - 1] = PointerGetDatum(construct_array(
		scores, row->n, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
	nw_own_insert(rel, values, nulls);
	pfree(DatumGetPointer(values[Anum_reference_scores - 1]));
	pfree(scores);
}

/*
 * Add scores to those that a set has.  The set is held unchanged, and the caller's
 * right to it has been checked.
 */
void
nw_reference_insert(Oid schema, const NwSet *set, NwReferenceKind kind, const NwReference *row)
{
	Relation rel = nw_own_open(schema, NW_REFERENCE, RowExclusiveLock);

	insert_row(schema, rel, set, kind, row);
	table_close(rel, NoLock);
}

/* Put scores in the place of those of the same kind, likewise. */
void
nw_reference_replace(Oid schema, const NwSet *set, NwReferenceKind kind, const NwReference *rows,
                     int n)
{
	Relation rel;

	nw_reference_remove(schema, set, kind);
	rel = nw_own_open(schema, NW_REFERENCE, RowExclusiveLock);
	for (int i = 0; i < n; i++)
	{
		insert_row(schema, rel, set, kind, &rows[i]);
		CHECK_FOR_INTERRUPTS();
	}
	table_close(rel, NoLock);
}

/* Delete the scores of one kind, or of all (NULL). */
static void
delete_rows(Oid schema, const NwSet *set, const char *kind)
{
	Relation rel = nw_own_open(schema, NW_REFERENCE, RowExclusiveLock);
	ScanKeyData keys[2];

	nw_own_key(&keys[0], Anum_reference_set, set->set_id);
	if (kind)
		nw_own_text_key(&keys[1], Anum_reference_kind, kind);
	nw_own_delete(rel, NW_REFERENCE, keys, kind ? 2 : 1);
	table_close(rel, NoLock);
}

/* Remove the scores of a kind, likewise. */
void
nw_reference_remove(Oid schema, const NwSet *set, NwReferenceKind kind)
{
	delete_rows(schema, set, makers[kind].kind);
}

/* Remove all scores, likewise. */
void
nw_reference_remove_all(Oid schema, const NwSet *set)
{
	delete_rows(schema, set, NULL);
}

/* Say which scores of a set are those of what it becomes. */
static bool
follows(const NwSet *old, const NwSet *set, const Maker *maker)
{
	if (old->model && !nw_same_name(old->model, set->model))
		return false;
	return !(maker->by_tau && old->tau != set->tau) &&
	       !(maker->by_temper && old->temper != set->temper);
}

/*
 * Take scores of a set along to its new version, where they are the same for it; a
 * set of other rows has a new id, and no scores.
 */
void
nw_reference_follow(Oid schema, const NwSet *old, const NwSet *set)
{
	Relation rel = nw_own_open(schema, NW_REFERENCE, RowExclusiveLock);
	Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
	ScanKeyData keys[2];
	SysScanDesc scan = begin_scan(rel, set, NULL, snapshot, keys);
	HeapTuple tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Datum values[NW_REFERENCE_COLUMNS];
		bool nulls[NW_REFERENCE_COLUMNS];
		bool replace[NW_REFERENCE_COLUMNS] = {[Anum_reference_version - 1] = true};
		NwReferenceKind kind;
		HeapTuple moved;

		CHECK_FOR_INTERRUPTS();
		heap_deform_tuple(tuple, RelationGetDescr(rel), values, nulls);
		if (nulls[Anum_reference_kind - 1] || nulls[Anum_reference_version - 1] ||
		    DatumGetInt64(values[Anum_reference_version - 1]) != old->version ||
		    !nw_reference_parse(TextDatumGetCString(values[Anum_reference_kind - 1]), &kind) ||
		    !follows(old, set, &makers[kind]))
			continue;
		values[Anum_reference_version - 1] = Int64GetDatum(set->version);
		moved = heap_modify_tuple(tuple, RelationGetDescr(rel), values, nulls, replace);
		CatalogTupleUpdate(rel, &tuple->t_self, moved);
		heap_freetuple(moved);
	}
	systable_endscan(scan);
	UnregisterSnapshot(snapshot);
	table_close(rel, NoLock);
}

/* Find the state of a kind in a list, or add one. */
static NwReferenceState *
find_state(List **states, NwReferenceKind kind)
{
	NwReferenceState *state;
	ListCell *cell;

	foreach(cell, *states)
	{
		state = lfirst(cell);
		if (state->kind == kind)
			return state;
	}
	state = palloc0(sizeof(NwReferenceState));
	state->kind = kind;
	state->current = true;
	*states = lappend(*states, state);
	return state;
}

/* List what scores a set has, and whether they are of the set as it is. */
List *
nw_reference_states(Oid schema, const NwSet *set)
{
	Relation rel = nw_own_open(schema, NW_REFERENCE, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan = begin_scan(rel, set, NULL, GetActiveSnapshot(), keys);
	int64 version = state_version(schema, set);
	List *states = NIL;
	HeapTuple tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Datum values[NW_REFERENCE_COLUMNS];
		bool nulls[NW_REFERENCE_COLUMNS];
		NwReferenceKind kind;
		NwReferenceState *state;

		CHECK_FOR_INTERRUPTS();
		heap_deform_tuple(tuple, RelationGetDescr(rel), values, nulls);
		if (nulls[Anum_reference_kind - 1] ||
		    !nw_reference_parse(TextDatumGetCString(values[Anum_reference_kind - 1]), &kind))
			continue;
		state = find_state(&states, kind);
		state->queries = nw_own_get_text(values, nulls, Anum_reference_queries - 1);
		state->k = nulls[Anum_reference_k - 1] ? 0 : DatumGetInt32(values[Anum_reference_k - 1]);
		state->by_class = !nulls[Anum_reference_class - 1];
		state->current &= !nulls[Anum_reference_version - 1] &&
		                  DatumGetInt64(values[Anum_reference_version - 1]) == version;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return states;
}

/* Write the call that finds scores anew. */
char *
nw_reference_call(Oid schema, const NwSet *set, const NwReferenceState *state)
{
	const Maker *maker = &makers[state->kind];
	StringInfoData call;

	initStringInfo(&call);
	appendStringInfo(&call, "%s(%s",
	                 quote_qualified_identifier(get_namespace_name(schema), maker->function),
	                 quote_literal_cstr(set->name));
	if (state->queries)
		appendStringInfo(&call, ", queries => %s", quote_literal_cstr(state->queries));
	if (maker->arguments)
		appendStringInfo(&call, ", %s", maker->arguments);
	if (state->by_class)
		appendStringInfoString(&call, ", by_class => true");
	if (state->k > 0)
		appendStringInfo(&call, ", k => %d", state->k);
	appendStringInfoChar(&call, ')');
	return call.data;
}
