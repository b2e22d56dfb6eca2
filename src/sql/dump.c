/*
 * sql/dump.c
 *		Dump and restore registered sets, their prototypes and reference scores.
 *
 * pg_dump copies tables, with the rights of whoever runs it, and refuses those
 * with policies that would keep rows from that role.  The registry has OIDs of
 * roles, which mean nothing elsewhere, and prototypes and scores are for members
 * of the role that owns them.  So none is dumped itself.  A table that is always
 * empty stands for all, nw_saved: one, so that a set is restored before its
 * prototypes by several workers, too.
 *
 * For pg_dump, its rows come from nw_dump, which returns what the caller may
 * read: a set, then its prototypes, then its scores.  Rows that are copied into it are taken
 * over by a trigger, which does for the caller what nw_register and nw_distill
 * could do for it, and no more: a set goes to the role that owned it where the
 * caller has that role's privileges, else to the caller.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "predict/prototypes.h"
#include "predict/typicality.h"
#include "rows.h"
#include "sets/balance.h"
#include "sets/extension.h"
#include "sets/own_tables.h"
#include "sets/pgvector.h"
#include "sets/reference.h"
#include "sets/registry.h"

PG_FUNCTION_INFO_V1(nw_dump);
PG_FUNCTION_INFO_V1(nw_restore);

/*
 * Columns of nw_saved, in the order of the extension's script: those of a set,
 * then those of a prototype, which has the set's name and nothing else of it, and
 * those of scores, which have the name and perhaps a class.
 */
enum
{
	Saved_name,
	Saved_owner,
	Saved_mode,
	Saved_parent,
	Saved_schema,
	Saved_relation,
	Saved_embedding,
	Saved_label,
	Saved_id,
	Saved_weight,
	Saved_kernel,
	Saved_tau,
	Saved_k,
	Saved_seed,
	Saved_dim,
	Saved_centroids,
	Saved_model,
	Saved_balance,
	Saved_calibrated, /* when, at how many rows */
	Saved_calibrated_rows,
	Saved_distilled,
	Saved_distilled_rows,
	Saved_temper,
	Saved_tags,
	Saved_class,
	Saved_ordinal,
	Saved_vector,
	Saved_members,
	Saved_source_id,
	Saved_mass,
	Saved_score_kind,
	Saved_score_queries,
	Saved_score_k,
	Saved_scored,
	Saved_scores,
	Saved_mixture, /* members of a set, and their shares */
	Saved_shares,
	SAVED_COLUMNS
};

/* Where the rows of a dump go. */
typedef struct Dump
{
	Oid schema; /* the extension's */
	ReturnSetInfo *rows;
	Relation prototypes; /* the table of all sets' prototypes */
	Relation references; /* and that of their scores */
} Dump;

/*
 * The schema of the extension, whose dump functions live elsewhere: pg_dump
 * calls them by names that were written down when the extension was created,
 * and schemas may be renamed.
 */
static Oid
find_extension(void)
{
	Oid schema = InvalidOid;

	(void) nw_extension_find(NW_EXTENSION, &schema);
	return schema;
}

/* True for sets that the caller's dump can hold. */
static bool
may_dump(const Dump *dump, const NwSet *set)
{
	return !nw_set_is_distilled(set) || nw_set_is_mine(dump->schema, set);
}

/* Return the prototypes of a set as nw_saved has them. */
static void
dump_prototypes(Dump *dump, const NwSet *set)
{
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple tuple;

	nw_own_key(&key, Anum_prototype_set, set->set_id);
	scan = systable_beginscan(dump->prototypes,
	                          nw_own_index(dump->prototypes, NW_PROTOTYPE, Anum_prototype_set),
	                          true, GetActiveSnapshot(), 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Datum values[SAVED_COLUMNS] = {0};
		bool nulls[SAVED_COLUMNS];

		memset(nulls, true, sizeof(nulls));

		/* all but the id of the set, in the same order */
		heap_deform_tuple(tuple, RelationGetDescr(dump->prototypes), values + Saved_class - 1,
		                  nulls + Saved_class - 1);
		nulls[Saved_class - 1] = true;
		nw_own_put_text(values, nulls, Saved_name, set->name);
		nw_rows_put(dump->rows, values, nulls);
		CHECK_FOR_INTERRUPTS();
	}
	systable_endscan(scan);
}

/* Return the scores of a set that hold for it as it is. */
static void
dump_scores(Dump *dump, const NwSet *set)
{
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple tuple;

	/* members may be restored later, and would be others then */
	if (nw_set_is_mixture(set))
		return;
	nw_own_key(&key, Anum_reference_set, set->set_id);
	scan = systable_beginscan(dump->references,
	                          nw_own_index(dump->references, NW_REFERENCE, Anum_reference_set),
	                          true, GetActiveSnapshot(), 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		static const struct
		{
			int from;
			int to;
		} places[] = {{Anum_reference_class, Saved_class},
		              {Anum_reference_kind, Saved_score_kind},
		              {Anum_reference_queries, Saved_score_queries},
		              {Anum_reference_k, Saved_score_k},
		              {Anum_reference_at, Saved_scored},
		              {Anum_reference_scores, Saved_scores}};
		Datum row[NW_REFERENCE_COLUMNS];
		bool row_nulls[NW_REFERENCE_COLUMNS];
		Datum values[SAVED_COLUMNS] = {0};
		bool nulls[SAVED_COLUMNS];

		CHECK_FOR_INTERRUPTS();
		heap_deform_tuple(tuple, RelationGetDescr(dump->references), row, row_nulls);
		if (DatumGetInt64(row[Anum_reference_version - 1]) != set->version)
			continue;
		memset(nulls, true, sizeof(nulls));
		for (int i = 0; i < (int) lengthof(places); i++)
		{
			values[places[i].to] = row[places[i].from - 1];
			nulls[places[i].to] = row_nulls[places[i].from - 1];
		}
		nw_own_put_text(values, nulls, Saved_name, set->name);
		nw_rows_put(dump->rows, values, nulls);
	}
	systable_endscan(scan);
}

/* Save when something was made of rows; changes are counted by each server for itself. */
static void
dump_stamp(const NwStamp *stamp, Datum *values, bool *nulls, int first)
{
	values[first] = TimestampTzGetDatum(stamp->at);
	nulls[first] = !stamp->known;
	values[first + 1] = Int64GetDatum(stamp->rows);
	nulls[first + 1] = !stamp->known || stamp->rows < 0;
}

static NwStamp
restore_stamp(const Datum *values, const bool *nulls, int first)
{
	NwStamp stamp = {.known = !nulls[first], .rows = -1, .changes = -1};

	if (stamp.known)
		stamp.at = DatumGetTimestampTz(values[first]);
	if (!nulls[first + 1])
		stamp.rows = DatumGetInt64(values[first + 1]);
	return stamp;
}

/* Return a set as nw_saved has it, its prototypes and its scores. */
static void
dump_set(const NwSet *set, void *arg)
{
	Dump *dump = arg;
	Datum values[SAVED_COLUMNS] = {0};
	bool nulls[SAVED_COLUMNS] = {0};

	if (!may_dump(dump, set))
		return;
	nw_own_put_text(values, nulls, Saved_name, set->name);
	nw_own_put_name(values, nulls, Saved_owner, nw_set_owner_name(dump->schema, set));
	nw_own_put_text(values, nulls, Saved_mode, set->mode);
	nw_own_put_text(values, nulls, Saved_parent, set->parent);
	nw_own_put_name(values, nulls, Saved_schema, set->schema);
	nw_own_put_name(values, nulls, Saved_relation, set->relation);
	nw_own_put_name(values, nulls, Saved_embedding, set->embedding);
	nw_own_put_name(values, nulls, Saved_label, set->label);
	nw_own_put_name(values, nulls, Saved_id, set->id);
	nw_own_put_name(values, nulls, Saved_weight, set->weight);
	nw_own_put_text(values, nulls, Saved_kernel,
	                nw_set_is_mixture(set) ? NULL : nw_kernel_name(set->kernel));
	values[Saved_tau] = Float8GetDatum(set->tau);
	nulls[Saved_tau] = nw_set_is_mixture(set);
	values[Saved_k] = Int32GetDatum(set->k);
	values[Saved_seed] = Int64GetDatum(set->seed);
	nulls[Saved_k] = nulls[Saved_seed] = set->k <= 0;
	values[Saved_dim] = Int32GetDatum(set->dim);
	nulls[Saved_dim] = set->dim <= 0;
	values[Saved_centroids] = BoolGetDatum(set->centroids);
	nw_own_put_text(values, nulls, Saved_model, set->model);
	nw_own_put_text(values, nulls, Saved_balance, set->balance);
	dump_stamp(&set->calibrated, values, nulls, Saved_calibrated);
	dump_stamp(&set->distilled, values, nulls, Saved_distilled);
	values[Saved_temper] = Float8GetDatum(set->temper);
	values[Saved_tags] = BoolGetDatum(set->tags);
	memset(nulls + Saved_class, true, Saved_mixture - Saved_class);
	nw_own_put_texts(values, nulls, Saved_mixture, set->members, set->nmembers);
	nw_own_put_numbers(values, nulls, Saved_shares, set->shares, set->nmembers);
	nw_rows_put(dump->rows, values, nulls);
	if (nw_set_is_distilled(set))
		dump_prototypes(dump, set);
	if (nw_set_is_mine(dump->schema, set))
		dump_scores(dump, set);
}

/* nw_dump() returns setof record */
Datum
nw_dump(PG_FUNCTION_ARGS)
{
	Dump dump = {.schema = find_extension(), .rows = nw_rows_begin(fcinfo)};

	if (dump.rows->setDesc->natts != SAVED_COLUMNS)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
		                errmsg("function has %d result columns, not %d", SAVED_COLUMNS,
		                       dump.rows->setDesc->natts)));
	dump.prototypes = nw_own_open(dump.schema, NW_PROTOTYPE, AccessShareLock);
	dump.references = nw_own_open(dump.schema, NW_REFERENCE, AccessShareLock);
	nw_set_each(dump.schema, dump_set, &dump);
	table_close(dump.references, AccessShareLock);
	table_close(dump.prototypes, AccessShareLock);
	return (Datum) 0;
}

/*
 * Take apart the row that a trigger is called for.  Anybody could attach our
 * function to a table of his own, so insist on the table that it is for.
 */
static Oid
read_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	Oid schema = nw_extension_schema(fcinfo);

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_FOR_ROW(trigger->tg_event) ||
	    !TRIGGER_FIRED_BEFORE(trigger->tg_event) || !TRIGGER_FIRED_BY_INSERT(trigger->tg_event) ||
	    RelationGetRelid(trigger->tg_relation) != nw_own_relid(schema, NW_SAVED))
		ereport(ERROR,
		        (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
		         errmsg("function is for inserting into table \"%s\" of extension \"nwhead\"",
		                nw_own_name(NW_SAVED))));
	heap_deform_tuple(trigger->tg_trigtuple, RelationGetDescr(trigger->tg_relation), values, nulls);
	return schema;
}

/* Find who is to own a set: who did, if the caller may act for that role. */
static Oid
restored_owner(const char *set, const char *owner)
{
	Oid role = owner ? get_role_oid(owner, true) : InvalidOid;

	if (OidIsValid(role) && has_privs_of_role(GetUserId(), role))
		return role;
	ereport(NOTICE,
	        (errmsg("set \"%s\" now belongs to role \"%s\"", set,
	                GetUserNameFromId(GetUserId(), false)),
	         owner == NULL ? errdetail("The role that owned it was gone.")
	         : OidIsValid(role)
	             ? errdetail("It belonged to role \"%s\", which is not for you to act for.", owner)
	             : errdetail("It belonged to role \"%s\", which does not exist.", owner)));
	return GetUserId();
}

/* Complain about a row that no dump would hold. */
static void
check_saved(bool right, const char *set)
{
	if (!right)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("set \"%s\" cannot be restored from these values", set ? set : "")));
}

/* Register a set whose values were found to be right. */
static void
insert_restored(Oid schema, NwSet *set, const Datum *values, const bool *nulls)
{
	set->owner = restored_owner(set->name, nw_own_get_name(values, nulls, Saved_owner));
	if (!nw_set_insert(schema, set))
		nw_set_report_taken(set->name, "Remove it with nw_unregister, and restore again.");
}

/*
 * Register a mixture out of a dump.  Its members may come later, and are looked up at each
 * use anyway.
 */
static void
restore_mixture(Oid schema, const Datum *values, const bool *nulls)
{
	NwSet set = {.mode = NW_MIXTURE};
	int nshares;

	set.name = nw_own_get_text(values, nulls, Saved_name);
	set.members = nw_own_get_texts(values, nulls, Saved_mixture, &set.nmembers);
	set.shares = nw_own_get_numbers(values, nulls, Saved_shares, &nshares);
	check_saved(set.name && set.name[0] && set.nmembers > 0 && set.nmembers <= NW_MAX_MEMBERS &&
	                nshares == set.nmembers && nw_set_shares_are_valid(set.shares, nshares),
	            set.name);
	nw_set_check_name(set.name);
	for (int i = 0; i < set.nmembers; i++)
	{
		check_saved(strcmp(set.members[i], set.name) != 0, set.name);
		for (int j = 0; j < i; j++)
			check_saved(strcmp(set.members[i], set.members[j]) != 0, set.name);
	}
	for (int i = Saved_parent; i < Saved_mixture; i++)
		check_saved(nulls[i] || i == Saved_dim || i == Saved_centroids || i == Saved_temper ||
		                i == Saved_calibrated || i == Saved_calibrated_rows ||
		                (i == Saved_tags && !DatumGetBool(values[i])),
		            set.name);
	set.dim = nulls[Saved_dim] ? 0 : DatumGetInt32(values[Saved_dim]);
	check_saved(set.dim >= 0 && set.dim <= NW_MAX_DIM, set.name);
	set.temper = nulls[Saved_temper] ? 1 : DatumGetFloat8(values[Saved_temper]);
	nw_check_temper(set.temper);
	set.calibrated = restore_stamp(values, nulls, Saved_calibrated);
	check_saved(set.calibrated.rows >= -1, set.name);
	insert_restored(schema, &set, values, nulls);
}

/* Register a set out of a dump. */
static void
restore_set(Oid schema, const Datum *values, const bool *nulls)
{
	NwSet set = {0};
	char *kernel = nw_own_get_text(values, nulls, Saved_kernel);

	nw_check_may_register(schema);
	set.name = nw_own_get_text(values, nulls, Saved_name);
	set.mode = nw_own_get_text(values, nulls, Saved_mode);
	if (set.mode && nw_set_is_mixture(&set))
	{
		restore_mixture(schema, values, nulls);
		return;
	}
	set.parent = nw_own_get_text(values, nulls, Saved_parent);
	set.schema = nw_own_get_name(values, nulls, Saved_schema);
	set.relation = nw_own_get_name(values, nulls, Saved_relation);
	set.embedding = nw_own_get_name(values, nulls, Saved_embedding);
	set.label = nw_own_get_name(values, nulls, Saved_label);
	set.id = nw_own_get_name(values, nulls, Saved_id);
	set.weight = nw_own_get_name(values, nulls, Saved_weight);
	check_saved(set.name && set.name[0] && set.mode && set.schema && set.relation &&
	                set.embedding && kernel && !nulls[Saved_tau] && !nulls[Saved_centroids] &&
	                nulls[Saved_mixture] && nulls[Saved_shares],
	            set.name);
	nw_set_check_name(set.name);
	set.kernel = nw_check_kernel(kernel);
	set.tau = DatumGetFloat8(values[Saved_tau]);
	nw_check_tau(set.tau);
	set.k = nulls[Saved_k] ? 0 : DatumGetInt32(values[Saved_k]);
	set.seed = nulls[Saved_seed] ? 0 : DatumGetInt64(values[Saved_seed]);
	set.dim = nulls[Saved_dim] ? 0 : DatumGetInt32(values[Saved_dim]);
	set.centroids = DatumGetBool(values[Saved_centroids]);
	set.model = nw_own_get_text(values, nulls, Saved_model);
	if (!nulls[Saved_balance])
		set.balance = nw_balance_check(nw_own_get_text(values, nulls, Saved_balance));
	set.calibrated = restore_stamp(values, nulls, Saved_calibrated);
	set.distilled = restore_stamp(values, nulls, Saved_distilled);
	set.temper = nulls[Saved_temper] ? 1 : DatumGetFloat8(values[Saved_temper]);
	nw_check_temper(set.temper);
	set.tags = !nulls[Saved_tags] && DatumGetBool(values[Saved_tags]);
	check_saved(set.k >= 0 && set.dim >= 0 && set.dim <= NW_MAX_DIM &&
	                nw_set_is_distilled(&set) == (set.k > 0) && set.calibrated.rows >= -1 &&
	                set.distilled.rows >= -1,
	            set.name);
	insert_restored(schema, &set, values, nulls);
}

/*
 * Find the set that a restored prototype is of.  Prototypes of a version never
 * change, so the set gets a new version with the first of a statement.
 */
static const NwSet *
find_set(FunctionCallInfo fcinfo, Oid schema, const char *name)
{
	NwSet *set = fcinfo->flinfo->fn_extra;
	NwSet before;
	MemoryContext caller;

	if (set && strcmp(set->name, name) == 0)
	{
		/* what made the row may have removed the set */
		nw_set_hold(schema, set);
		return set;
	}
	nw_push_fresh_snapshot();
	caller = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	set = nw_set_get(schema, name);
	MemoryContextSwitchTo(caller);
	nw_set_check_owner(schema, set);
	check_saved(nw_set_is_distilled(set), name);
	before = *set;
	nw_set_change(schema, &before, set, false);
	PopActiveSnapshot();
	fcinfo->flinfo->fn_extra = set;
	return set;
}

/* Store a prototype out of a dump. */
static void
restore_prototype(FunctionCallInfo fcinfo, Oid schema, const Datum *values, const bool *nulls)
{
	char *name = nw_own_get_text(values, nulls, Saved_name);
	const NwSet *set;
	NwPrototype prototype = {0};
	NwVectorData vector;

	check_saved(name != NULL, name);
	for (int i = Saved_name + 1; i < SAVED_COLUMNS; i++)
		check_saved(i == Saved_source_id || nulls[i] == (i < Saved_class || i > Saved_mass), name);
	set = find_set(fcinfo, schema, name);
	vector = nw_vector_read(values[Saved_vector], NW_VECTOR);
	prototype.label = nw_bytes_of_string(nw_own_get_text(values, nulls, Saved_class));
	prototype.ordinal = DatumGetInt32(values[Saved_ordinal]);
	prototype.x = vector.x;
	prototype.dim = vector.dim;
	prototype.members = DatumGetInt64(values[Saved_members]);
	prototype.source_id = nw_own_get_text(values, nulls, Saved_source_id);
	prototype.weight = DatumGetFloat8(values[Saved_mass]);
	check_saved(vector.dim == set->dim && prototype.ordinal > 0 && prototype.members > 0 &&
	                prototype.weight >= 0 && !isinf(prototype.weight),
	            set->name);
	nw_prototypes_insert(schema, set, &prototype);

	/* if it had any, they were found with other prototypes */
	nw_reference_remove_all(schema, set);
}

/* Store scores out of a dump. */
static void
restore_scores(Oid schema, const Datum *values, const bool *nulls)
{
	char *name = nw_own_get_text(values, nulls, Saved_name);
	char *kind_name = nw_own_get_text(values, nulls, Saved_score_kind);
	NwReference row = {.queries = nw_own_get_text(values, nulls, Saved_score_queries)};
	NwReferenceKind kind;
	NwSet *set;

	check_saved(name && kind_name && nw_reference_parse(kind_name, &kind), name);
	for (int i = Saved_name + 1; i < Saved_score_kind; i++)
		check_saved(i == Saved_class || nulls[i], name);
	check_saved(!nulls[Saved_scored] && !nulls[Saved_scores] && nulls[Saved_mixture] &&
	                nulls[Saved_shares] &&
	                nw_scores_decode(values[Saved_scores], &row.score, &row.n),
	            name);
	if (!nulls[Saved_class])
		row.class = nw_bytes_of_varlena(values[Saved_class]);
	if (!nulls[Saved_score_k])
		row.k = DatumGetInt32(values[Saved_score_k]);
	check_saved(row.k > 0 || nulls[Saved_score_k], name);
	row.at = DatumGetTimestampTz(values[Saved_scored]);
	nw_push_fresh_snapshot();
	set = nw_set_get(schema, name);
	nw_set_check_owner(schema, set);
	check_saved(!nw_set_is_mixture(set) && (kind != NW_REFERENCE_NEIGHBOUR || row.k > 0) &&
	                row.k <= NW_NEIGHBOURS_MAX &&
	                (row.class.data == NULL ||
	                 (kind != NW_REFERENCE_NEIGHBOUR && kind != NW_REFERENCE_RESIDUAL)),
	            name);
	nw_set_hold_unchanged(schema, set);
	nw_reference_insert(schema, set, kind, &row);
	PopActiveSnapshot();
}

/* nw_restore() returns trigger */
Datum
nw_restore(PG_FUNCTION_ARGS)
{
	Datum values[SAVED_COLUMNS];
	bool nulls[SAVED_COLUMNS];
	Oid schema = read_row(fcinfo, values, nulls);
	bool is_set = true;

	for (int i = Saved_class; i < Saved_mixture; i++)
		is_set &= nulls[i];
	if (is_set)
		restore_set(schema, values, nulls);
	else if (!nulls[Saved_score_kind])
		restore_scores(schema, values, nulls);
	else
		restore_prototype(fcinfo, schema, values, nulls);
	return PointerGetDatum(NULL);
}
