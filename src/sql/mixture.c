/*
 * sql/mixture.c
 *		Register a set that is made of other sets: nw_register_mixture.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/snapmgr.h"

#include "sets/extension.h"
#include "sets/members.h"
#include "sets/registry.h"
#include "sql/args.h"
#include "sql/set_pair.h"

#define TAKEN_HINT "Pass replace => true to give it other members."

PG_FUNCTION_INFO_V1(nw_register_mixture);

/* Read the names of the members. */
static void
members_argument(FunctionCallInfo fcinfo, int arg, NwSet *set)
{
	Datum value;
	bool isnull = false;

	nw_check_argument(fcinfo, arg, "sets");
	value = PG_GETARG_DATUM(arg);
	set->members = nw_own_get_texts(&value, &isnull, 0, &set->nmembers);
	if (set->nmembers == 0 || set->nmembers > NW_MAX_MEMBERS)
		ereport(ERROR,
		        (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		         errmsg("sets must be a list of 1 to %d names without nulls", NW_MAX_MEMBERS)));
	for (int i = 0; i < set->nmembers; i++)
	{
		for (int j = 0; j < i; j++)
		{
			if (strcmp(set->members[i], set->members[j]) == 0)
				ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				                errmsg("set \"%s\" is named twice", set->members[i]),
				                errhint("Name it once, with the sum of the weights.")));
		}
	}
}

/* Read the shares of the members; equal ones where the argument is null. */
static void
shares_argument(FunctionCallInfo fcinfo, int arg, NwSet *set)
{
	Datum value = PG_GETARG_DATUM(arg);
	bool isnull = PG_ARGISNULL(arg);
	int n;

	set->shares = nw_own_get_numbers(&value, &isnull, 0, &n);
	if (isnull)
	{
		set->shares = palloc(set->nmembers * sizeof(double));
		for (int i = 0; i < set->nmembers; i++)
			set->shares[i] = 1;
		return;
	}
	if (set->shares == NULL || n != set->nmembers)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("weights must be a list of one number for each of the %d sets",
		                       set->nmembers)));
	for (int i = 0; i < n; i++)
	{
		if (!nw_set_shares_are_valid(&set->shares[i], 1))
			ereport(ERROR,
			        (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			         errmsg("weights must be positive and finite, not %s",
			                float8out_internal(set->shares[i])),
			         errhint("A set that is to have no weight is left out of the mixture.")));
	}
}

/* Insist that one query can be compared with both of two members. */
static void
check_dims(const NwSet *a, const NwSet *b)
{
	if (a->dim > 0 && b->dim > 0 && a->dim != b->dim)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("set \"%s\" has %d dimensions, but set \"%s\" has %d", a->name,
		                       a->dim, b->name, b->dim),
		                errdetail("One query is compared with all members of a mixture.")));
}

/* Look the members up, and keep them as they are until the transaction ends. */
static void
hold_members(Oid schema, NwSet *set)
{
	NwSet **member = palloc(set->nmembers * sizeof(NwSet *));

	for (int i = 0; i < set->nmembers; i++)
	{
		member[i] = nw_set_get(schema, set->members[i]);
		if (nw_set_is_mixture(member[i]))
			member[i] = nw_member_get(schema, set->members[i], set->name);
		if (!nw_set_is_distilled(member[i]) && member[i]->label == NULL)
			ereport(
				ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			     errmsg("set \"%s\" has no labels", set->members[i]),
			     errdetail("It was registered with label => NULL and can only serve as queries.")));
		for (int j = 0; j < i; j++)
			check_dims(member[j], member[i]);
		if (i > 0)
			nw_warn_of_models(member[0], member[i]);
		set->dim = Max(set->dim, member[i]->dim);
	}
	nw_set_hold_all(schema, member, set->nmembers);
}

/*
 * nw_register_mixture(name text, sets text[], weights float8[], replace boolean,
 *					   temper float8) returns void
 */
Datum
nw_register_mixture(PG_FUNCTION_ARGS)
{
	Oid schema = nw_extension_schema(fcinfo);
	bool replace = !PG_ARGISNULL(3) && PG_GETARG_BOOL(3);
	NwSet set = {.mode = NW_MIXTURE, .temper = 1};
	NwSet *old;

	set.name = nw_text_argument(fcinfo, 0, "name");
	set.owner = GetUserId();
	nw_set_check_name(set.name);
	members_argument(fcinfo, 1, &set);
	shares_argument(fcinfo, 2, &set);
	nw_check_may_register(schema);
	nw_push_fresh_snapshot();
	old = nw_set_find(schema, set.name);
	if (old && !replace)
		nw_set_report_taken(set.name, TAKEN_HINT);
	if (old)
	{
		nw_set_check_owner(schema, old);
		if (!nw_set_is_mixture(old))
			ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
			                errmsg("set \"%s\" is not a mixture", set.name),
			                errhint("Choose another name, or remove the set with nw_unregister.")));
		set.temper = old->temper;
	}
	if (!PG_ARGISNULL(4))
		set.temper = nw_temper_argument(fcinfo, 4);
	hold_members(schema, &set);
	if (old)
		nw_set_change(schema, old, &set, true);
	else if (!nw_set_insert(schema, &set))
		nw_set_report_taken(set.name, TAKEN_HINT);
	PopActiveSnapshot();
	PG_RETURN_VOID();
}
