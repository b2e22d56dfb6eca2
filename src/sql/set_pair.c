/*
 * sql/set_pair.c
 *		Find a support set and a set of queries, and settle whether a query
 *		that is itself a support leaves itself out.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "sets/extension.h"
#include "sql/args.h"
#include "sql/set_pair.h"

/* Say whether ids of both sets name rows of one relation. */
static bool
ids_match(const NwSource *support, const NwSource *queries)
{
	const char *a = support->set->id;
	const char *b = queries->set->id;

	if (a == NULL || b == NULL)
		return a == b;
	return strcmp(a, b) == 0;
}

/* Settle leave_one_out; asked is -1 where the caller did not say. */
static bool
settle_leave_one_out(const NwSetPair *pair, int asked)
{
	const NwSource *support = pair->support;
	const NwSource *queries = pair->queries;

	if (asked == 0)
		return false;
	if (!nw_source_same_origin(support, queries))
	{
		if (asked > 0)
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			                errmsg("leave_one_out has nothing to leave out"),
			                errdetail("Sets \"%s\" and \"%s\" come from different relations.",
			                          support->set->name, queries->set->name)));
		return false;
	}
	if (support->set->centroids || queries->set->centroids)
	{
		if (asked > 0)
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			                errmsg("leave_one_out is not possible with centroids"),
			                errdetail("A centroid is made of many rows.")));
		ereport(NOTICE,
		        (errmsg("queries of set \"%s\" took part in making set \"%s\"", queries->set->name,
		                support->set->name),
		         errdetail("Centroids cannot leave a row out, so the results are optimistic."),
		         errhint("Evaluate on rows that were not distilled.")));
		return false;
	}
	if (!ids_match(support, queries))
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		     errmsg("leave_one_out needs the same id column in both sets"),
		     errdetail("Sets \"%s\" and \"%s\" name the rows of one relation by different columns.",
		               support->set->name, queries->set->name),
		     errhint("Register them with the same id, or pass leave_one_out => false.")));
	return true;
}

/* Warn of vectors that different models made: their distances mean nothing. */
static void
warn_models(const NwSet *support, const NwSet *queries)
{
	if (support->model && queries->model && strcmp(support->model, queries->model) != 0)
		ereport(WARNING,
		        (errmsg("sets \"%s\" and \"%s\" have vectors of different models", support->name,
		                queries->name),
		         errdetail("Their models are \"%s\" and \"%s\".", support->model, queries->model),
		         errhint("Compare vectors of one model; correct a wrong name with nw_alter_set.")));
}

/*
 * Read and check the names of support and queries and the leave_one_out
 * argument.  A null leave_one_out means: where both come from one relation.
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
	pair->queries = nw_source_resolve(
		pair->schema, nw_set_get(pair->schema, nw_text_argument(fcinfo, queries_arg, "queries")));
	pair->leave_one_out = settle_leave_one_out(pair, asked);
	warn_models(pair->support->set, pair->queries->set);
}

void
nw_set_pair_values(const NwSetPair *pair, double tau, Datum *values)
{
	values[0] = CStringGetTextDatum(pair->support->set->name);
	values[1] =
		CStringGetTextDatum(pair->queries ? pair->queries->set->name : pair->support->set->name);
	values[2] = Float8GetDatum(tau);
}
