/*
 * sets/scan.c
 *		Read the rows of a set through the executor.
 *
 * The statement is an ordinary SELECT of the set's columns, parsed, rewritten,
 * planned and run as any other: privileges on relation and columns, row-level
 * security, views, partitions and foreign tables hold because the executor
 * makes them hold.  Its text consists of quoted names only.
 */
#include "postgres.h"

#include <math.h>

#include "access/sysattr.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "sets/balance.h"
#include "sets/scan.h"
#include "sets/text_out.h"

/* What a scan holds beyond its face. */
typedef struct NwScanState
{
	const NwSource *source;
	char *sql;
	PlannedStmt *plan;
	bool label_required;
	int label_col; /* positions in the result, or -1 */
	int id_col;
	int weight_col;
	bool balanced; /* rows weigh what the set's balance makes of it */
} NwScanState;

/* A receiver that hands rows to a callback instead of storing them. */
typedef struct RowReceiver
{
	DestReceiver pub;
	const NwScanState *scan;
	NwRowCallback callback;
	void *arg;
	MemoryContext row_mcxt; /* detoasted values of the current row */
	const char *previous;   /* where the last row's vector was */
	const char *first;      /* where that of the page's first row was */
	bool next_follows;      /* this page followed the one before */
	NwBalance *balance;     /* NULL where rows weigh what they say */
	bool counting;          /* rows are counted for it */
} RowReceiver;

/* Bytes from a row's header to its vector, at the most, worth fetching too. */
#define HEADER_BYTES 64

/*
 * Fetch vectors that the scan will probably return soon.
 *
 * Rows of a page lie one below the other, against the direction that the
 * processor's own prefetcher expects; and the buffers of a table that was
 * read in one go follow each other, so that the same place in the next buffer
 * holds a row of the next page.  The second guess reaches farther, which is
 * worth a third of the time of a scan, but where it is wrong it fetches for
 * nothing; so it is made only while it keeps coming true.
 */
static inline void
prefetch_rows(RowReceiver *receiver, const NwVectorData *vector)
{
	const char *here = (const char *) vector->x;
	ptrdiff_t step = here - receiver->previous;
	Size bytes = vector->dim * sizeof(float) + HEADER_BYTES;

	if (step > 0 || step < -BLCKSZ)
	{
		/* upwards or far: a new page, whose first row this is */
		ptrdiff_t from_first = here - receiver->first;

		receiver->next_follows =
			from_first > BLCKSZ - (ptrdiff_t) bytes && from_first < BLCKSZ + (ptrdiff_t) bytes;
		receiver->first = here;
		step = 0;
	}
	if (bytes < BLCKSZ && (receiver->next_follows || step != 0))
	{
		const char *next = here - HEADER_BYTES + (receiver->next_follows ? BLCKSZ : step);

		for (const char *end = next + bytes; next < end; next += 64)
			__builtin_prefetch(next);
	}
	receiver->previous = here;
}

/* Complain about a row weight that is not one. */
static void
check_weight(const NwSource *source, double weight)
{
	if (!(weight >= 0) || isinf(weight))
		ereport(ERROR,
		        (errcode(ERRCODE_DATA_EXCEPTION),
		         errmsg("row weight %g in column \"%s\" of set \"%s\" is not a non-negative number",
		                weight, source->weight, source->set->name)));
}

/* Hand one row to the callback. */
static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	RowReceiver *receiver = (RowReceiver *) self;
	const NwScanState *scan = receiver->scan;
	NwRow row = {.weight = 1};
	MemoryContext caller;

	slot_getallattrs(slot);
	if (slot->tts_isnull[0])
		return true;
	if (scan->label_col >= 0)
	{
		row.label_isnull = slot->tts_isnull[scan->label_col];
		if (row.label_isnull && scan->label_required)
			return true;
		row.label = slot->tts_values[scan->label_col];
	}
	else
		row.label_isnull = true;
	if (scan->weight_col >= 0)
	{
		if (slot->tts_isnull[scan->weight_col])
			return true;
		row.weight = DatumGetFloat8(slot->tts_values[scan->weight_col]);
		check_weight(scan->source, row.weight);
		if (row.weight == 0)
			return true;
	}
	if (receiver->counting)
	{
		nw_balance_count(receiver->balance, row.label, row.weight);
		return true;
	}
	if (receiver->balance)
	{
		row.weight = nw_balance_weigh(receiver->balance, row.label, row.weight);
		if (row.weight == 0)
			return true;
	}
	if (scan->id_col >= 0)
	{
		row.id_isnull = slot->tts_isnull[scan->id_col];
		row.id = slot->tts_values[scan->id_col];
	}

	caller = MemoryContextSwitchTo(receiver->row_mcxt);
	row.vector = nw_vector_read(slot->tts_values[0], scan->source->vector_type);
	prefetch_rows(receiver, &row.vector);
	receiver->callback(&row, receiver->arg);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(receiver->row_mcxt);
	return true;
}

/* Every receiver has to have such functions; there is nothing to do in them. */
static void
startup_receiver(DestReceiver *self, int operation, TupleDesc desc)
{
	(void) self;
	(void) operation;
	(void) desc;
}

static void
shutdown_receiver(DestReceiver *self)
{
	(void) self;
}

/* Write the statement that reads a set's columns, and note their positions. */
static void
write_statement(NwScanState *scan, int columns, int64 limit)
{
	const NwSource *source = scan->source;
	StringInfoData sql;
	int n = 1;

	scan->label_col = scan->id_col = scan->weight_col = -1;
	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT %s", quote_identifier(source->embedding));
	scan->label_required = (columns & NW_SCAN_LABEL) != 0;
	if ((columns & NW_SCAN_LABEL) || (columns & NW_SCAN_TRUTH && source->label))
	{
		appendStringInfo(&sql, ", %s", quote_identifier(source->label));
		scan->label_col = n++;
	}
	if (columns & NW_SCAN_ID)
	{
		appendStringInfo(&sql, ", %s", source->id ? quote_identifier(source->id) : "ctid");
		scan->id_col = n++;
	}
	if ((columns & NW_SCAN_WEIGHT) && source->weight)
	{
		appendStringInfo(&sql, ", %s::pg_catalog.float8", quote_identifier(source->weight));
		scan->weight_col = n++;
	}
	scan->balanced =
		nw_source_is_balanced(source) && scan->label_required && (columns & NW_SCAN_WEIGHT) != 0;
	appendStringInfo(&sql, " FROM %s",
	                 quote_qualified_identifier(source->schema, source->relation));
	if (source->distilled)
		appendStringInfo(&sql,
		                 " WHERE set_id OPERATOR(pg_catalog.=) '" INT64_FORMAT "'::pg_catalog.int8",
		                 source->set->set_id);
	if (limit > 0)
		appendStringInfo(&sql, " LIMIT " INT64_FORMAT, limit);
	scan->sql = sql.data;
}

/* The type of a column of a query's result, domains resolved. */
static Oid
result_type(const Query *query, int column)
{
	TargetEntry *entry = list_nth_node(TargetEntry, query->targetList, column);

	return getBaseType(exprType((Node *) entry->expr));
}

/*
 * Insist that the statement reads what was resolved.  The relation has been
 * locked, but its schema may have been renamed.
 */
static void
check_result(const NwScanState *state, const Query *query)
{
	const NwSource *source = state->source;
	RangeTblEntry *rte = linitial_node(RangeTblEntry, query->rtable);

	if (nw_entry_relid(rte) != source->relid ||
	    nw_vector_type(result_type(query, 0)) != source->vector_type ||
	    (state->label_col >= 0 &&
	     result_type(query, state->label_col) != getBaseType(source->label_type)) ||
	    (state->id_col >= 0 && result_type(query, state->id_col) != getBaseType(source->id_type)))
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
		                errmsg("relation \"%s.%s\" of set \"%s\" has been replaced or altered",
		                       source->schema, source->relation, source->set->name),
		                errhint("Try again.")));
}

/*
 * Plan to read some columns of a set with the caller's privileges and
 * policies; limit is 0 for all rows.
 */
NwScan *
nw_scan_plan(const NwSource *source, int columns, int64 limit)
{
	NwScan *scan = palloc0(sizeof(NwScan));
	NwScanState *state = palloc0(sizeof(NwScanState));
	int level = NewGUCNestLevel();
	List *rewritten;
	Query *query;

	state->source = source;
	write_statement(state, columns, limit);

	/* whoever has come here may read all prototypes of the set: no row is filtered */
	if (source->distilled)
		(void) set_config_option("row_security", "on", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
		                         true, 0, false);

	rewritten = pg_analyze_and_rewrite_fixedparams(
		linitial_node(RawStmt, pg_parse_query(state->sql)), state->sql, NULL, 0, NULL);
	AtEOXact_GUC(true, level);
	if (list_length(rewritten) != 1)
		elog(ERROR, "unexpected rewrite result");
	query = linitial_node(Query, rewritten);
	check_result(state, query);

	/* before planning, which changes the query */
	scan->depends.known = true;
	nw_dependence_add_query(&scan->depends, query);
	scan->depends.settings = copyObject(scan->depends.settings);
	state->plan = nw_plan_query(query, state->sql);

	/* compiling would cost more than these few expressions can gain */
	state->plan->jitFlags = 0;

	scan->depends.relids = state->plan->relationOids;
	if (state->label_col >= 0)
		nw_dependence_add_text(&scan->depends, source->label_type);
	if (state->id_col >= 0)
		nw_dependence_add_text(&scan->depends, source->id_type);
	scan->state = state;
	return scan;
}

/* The plan of the ordinary SELECT that reads all rows of a set. */
const PlannedStmt *
nw_scan_statement(const NwSource *source, int columns)
{
	return nw_scan_plan(source, columns, 0)->state->plan;
}

/* Run the statement once. */
static void
run_plan(const NwScanState *state, RowReceiver *receiver)
{
	QueryDesc *desc = CreateQueryDesc(state->plan, state->sql, GetActiveSnapshot(), InvalidSnapshot,
	                                  &receiver->pub, NULL, NULL, 0);

	ExecutorStart(desc, 0);
	nw_executor_run(desc);
	ExecutorFinish(desc);
	ExecutorEnd(desc);
	FreeQueryDesc(desc);
}

/*
 * Read the rows under the active snapshot.  Rows without an embedding are
 * skipped.  The callback's current memory context is reset after each row.
 */
void
nw_scan_run(NwScan *scan, NwRowCallback callback, void *arg)
{
	const NwSource *source = scan->state->source;
	RowReceiver receiver = {.pub = {.receiveSlot = receive_row,
	                                .rStartup = startup_receiver,
	                                .rShutdown = shutdown_receiver,
	                                .rDestroy = shutdown_receiver,
	                                .mydest = DestNone},
	                        .scan = scan->state,
	                        .callback = callback,
	                        .arg = arg};

	/* a registered view may predict from itself */
	check_stack_depth();

	receiver.row_mcxt =
		AllocSetContextCreate(CurrentMemoryContext, "nwhead row", ALLOCSET_DEFAULT_SIZES);
	if (scan->state->balanced)
	{
		receiver.balance =
			nw_balance_begin(source->set->balance, source->set->name, source->label_type);
		receiver.counting = true;
		run_plan(scan->state, &receiver);
		receiver.counting = false;
	}
	run_plan(scan->state, &receiver);
	MemoryContextDelete(receiver.row_mcxt);
}

/* A search for a row of some number of dimensions. */
typedef struct RowSearch
{
	int dim;
	NwTextOut id_out;
	MemoryContext mcxt; /* of the id */
	char *id;           /* of the first such row; NULL where there is none */
} RowSearch;

static void
look_at_dim(const NwRow *row, void *arg)
{
	RowSearch *search = arg;

	if (search->id == NULL && row->vector.dim == search->dim && !row->id_isnull)
		search->id = nw_bytes_copy(search->mcxt, nw_text_out(&search->id_out, row->id));
}

/* Say whether the caller may read the ids of a set, which were not asked for. */
static bool
may_read_ids(const NwSource *source)
{
	AttrNumber column =
		source->id ? get_attnum(source->relid, source->id) : SelfItemPointerAttributeNumber;

	return source->distilled ||
	       pg_class_aclcheck(source->relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK ||
	       pg_attribute_aclcheck(source->relid, column, GetUserId(), ACL_SELECT) == ACLCHECK_OK;
}

/*
 * Complain about rows of different numbers of dimensions, and name one of the second
 * kind.  Its id may not have been read, so the rows are read again.
 */
void
nw_scan_report_mixed(const NwSource *source, int dim, int other)
{
	RowSearch search = {.dim = other, .mcxt = CurrentMemoryContext};

	if (may_read_ids(source))
	{
		nw_text_out_init(&search.id_out, source->id_type, search.mcxt);
		nw_scan_run(nw_scan_plan(source, NW_SCAN_ID | (source->label ? NW_SCAN_LABEL : 0), 0),
		            look_at_dim, &search);
	}
	ereport(
		ERROR,
		(errcode(ERRCODE_DATA_EXCEPTION),
	     errmsg("set \"%s\" has rows of %d and of %d dimensions", source->set->name, dim, other),
	     search.id ? errdetail("The row with id \"%s\" has %d dimensions.", search.id, other) : 0));
}
