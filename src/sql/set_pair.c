/*
 * sql/set_pair.c
 *		Find a support set and a set of queries, and settle whether a query
 *		that is itself a support leaves itself out.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "sets/extension.h"
#include "sets/members.h"
#include "sets/origin.h"
#include "sql/args.h"
#include "sql/set_pair.h"
#include "sql/shared_rows.h"

/*
 * Say whether queries are among the rows that centroids were made of.  Of two views of
 * one table, one may have what the other has not; so their rows decide.
 */
static bool
took_part(const NwSetPair *pair)
{
	NwSet made_of = *pair->support->set;
	const NwSet *queries = pair->queries->set;

	if (!made_of.centroids || (nw_same_name(made_of.schema, queries->schema) &&
	                           nw_same_name(made_of.relation, queries->relation)))
		return true;
	made_of.mode = "full";
	return nw_shared_rows(nw_source_resolve(pair->schema, &made_of), pair->queries).rows > 0;
}

/* Settle leave_one_out for sets that cannot leave a row out. */
static void
settle_centroids(NwSetPair *pair, int asked)
{
	if (asked > 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("leave_one_out is not possible with centroids"),
		                errdetail("A centroid is made of many rows.")));
	pair->took_part = took_part(pair);
	if (pair->took_part)
		ereport(NOTICE,
		        (errmsg("queries of set \"%s\" took part in making set \"%s\"",
		                pair->queries->set->name, pair->support->set->name),
		         errdetail("Centroids cannot leave a row out, so the results are optimistic."),
		         errhint("Evaluate on rows that were not distilled.")));
}

/*
 * Settle leave_one_out; asked is -1 where the caller did not say.  It is the rule where
 * queries are known to be rows of the support; where that is not known, rows of equal
 * id and vector are taken for one, but only for a caller who says so.
 */
static void
settle_leave_one_out(NwSetPair *pair, int asked)
{
	const NwSet *support = pair->support->set;
	const NwSet *queries = pair->queries->set;
	NwKinship kinship;

	if (asked == 0)
		return;
	kinship = nw_set_kinship(support, queries);
	if (kinship != NW_STRANGERS && (support->centroids || queries->centroids))
		settle_centroids(pair, asked);
	else if (kinship == NW_RENAMED_ROWS)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		     errmsg("leave_one_out needs the same id column in both sets"),
		     errdetail("Sets \"%s\" and \"%s\" name the rows of one relation by different columns.",
		               support->name, queries->name),
		     errhint("Register them with the same id, or pass leave_one_out => false.")));
	else if (kinship == NW_STRANGERS && asked < 0)
	{
		pair->shared = nw_shared_rows(pair->support, pair->queries);
		nw_warn_of_shared_rows(pair->support, pair->queries, &pair->shared);
	}
	else
	{
		pair->leave_one_out = true;
		pair->same_vector = kinship == NW_STRANGERS;
	}
}

/* Warn of vectors that different models made: their distances mean nothing. */
void
nw_warn_of_models(const NwSet *support, const NwSet *queries)
{
	if (support->model && queries->model && strcmp(support->model, queries->model) != 0)
		ereport(WARNING,
		        (errmsg("sets \"%s\" and \"%s\" have vectors of different models", support->name,
		                queries->name),
		         errdetail("Their models are \"%s\" and \"%s\".", support->model, queries->model),
		         errhint("Compare vectors of one model; correct a wrong name with nw_alter_set.")));
}

static NwSource *
find_queries(const NwSetPair *pair, FunctionCallInfo fcinfo, int arg)
{
	return nw_source_resolve(pair->schema,
	                         nw_set_get(pair->schema, nw_text_argument(fcinfo, arg, "queries")));
}

/*
 * Read and check the names of support and queries and the leave_one_out
 * argument.  A null leave_one_out means: where both are known to have rows of one table.
 * A null name of queries leaves queries NULL.
 */
void
nw_set_pair_init(NwSetPair *pair, FunctionCallInfo fcinfo, int support_arg, int queries_arg,
                 int leave_one_out_arg)
{
	char *support = nw_text_argument(fcinfo, support_arg, "support");
	int asked = PG_ARGISNULL(leave_one_out_arg) ? -1 : PG_GETARG_BOOL(leave_one_out_arg);

	memset(pair, 0, sizeof(NwSetPair));
	pair->schema = nw_extension_schema(fcinfo);
	pair->support = nw_source_resolve(pair->schema, nw_set_get(pair->schema, support));
	nw_source_check_labelled(pair->support);
	if (PG_ARGISNULL(queries_arg))
	{
		if (asked == 0)
			ereport(
				ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			     errmsg("leave_one_out => false needs queries"),
			     errdetail(
					 "Without queries the set's own rows are asked about, each without itself.")));
		return;
	}
	pair->queries = find_queries(pair, fcinfo, queries_arg);
	settle_leave_one_out(pair, asked);
	nw_warn_of_models(pair->support->set, pair->queries->set);
}

/* Pair each member of a mixture with the queries. */
static void
pair_members(NwSetPair *pair, NwSet *set, FunctionCallInfo fcinfo, int queries_arg, int asked)
{
	pair->support = palloc0(sizeof(NwSource));
	pair->support->set = set;
	pair->queries = find_queries(pair, fcinfo, queries_arg);
	pair->member = palloc0(set->nmembers * sizeof(NwSetPair));
	for (int i = 0; i < set->nmembers; i++)
	{
		NwSetPair *member = &pair->member[i];

		member->schema = pair->schema;
		member->support = nw_source_resolve(
			pair->schema, nw_member_get(pair->schema, set->members[i], set->name));
		nw_source_check_labelled(member->support);
		member->queries = pair->queries;
	}

	/* the rows of all are there before those of any are looked at */
	for (int i = 0; i < set->nmembers; i++)
	{
		settle_leave_one_out(&pair->member[i], asked);
		nw_warn_of_models(pair->member[i].support->set, pair->queries->set);
	}
}

/* The same where the support may be a mixture, which has no rows to stand for queries. */
void
nw_set_pair_init_any(NwSetPair *pair, FunctionCallInfo fcinfo, int support_arg, int queries_arg,
                     int leave_one_out_arg)
{
	Oid schema = nw_extension_schema(fcinfo);
	NwSet *set = nw_set_get(schema, nw_text_argument(fcinfo, support_arg, "support"));

	if (!nw_set_is_mixture(set))
	{
		nw_set_pair_init(pair, fcinfo, support_arg, queries_arg, leave_one_out_arg);
		return;
	}
	if (PG_ARGISNULL(queries_arg))
		nw_members_report(set);
	memset(pair, 0, sizeof(NwSetPair));
	pair->schema = schema;
	pair_members(pair, set, fcinfo, queries_arg,
	             PG_ARGISNULL(leave_one_out_arg) ? -1 : PG_GETARG_BOOL(leave_one_out_arg));
}

/* Start a batch that asks the support about the queries. */
void
nw_set_pair_batch(const NwSetPair *pair, NwBatch *batch, NwAnswerCallback callback, void *arg)
{
	const NwSet *set = pair->support->set;

	memset(batch, 0, sizeof(NwBatch));
	if (pair->member)
	{
		batch->mixture = set;
		batch->member = palloc(set->nmembers * sizeof(NwBatch));
		for (int i = 0; i < set->nmembers; i++)
			nw_set_pair_batch(&pair->member[i], &batch->member[i], NULL, NULL);
	}
	batch->source = pair->support;
	batch->leave_one_out = pair->leave_one_out;
	batch->same_vector = pair->same_vector;
	batch->callback = callback;
	batch->arg = arg;
}

void
nw_set_pair_values(const NwSetPair *pair, double tau, Datum *values)
{
	values[0] = CStringGetTextDatum(pair->support->set->name);
	values[1] =
		CStringGetTextDatum(pair->queries ? pair->queries->set->name : pair->support->set->name);
	values[2] = Float8GetDatum(tau);
}

/* A mixture has no temperature: its members have. */
void
nw_set_pair_nulls(const NwSetPair *pair, bool *nulls)
{
	nulls[2] = pair->member != NULL;
}
