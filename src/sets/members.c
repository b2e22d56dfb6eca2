/*
 * sets/members.c
 *		Mixtures: sets that are made of other sets.
 *
 * A mixture has the names of its members, and nothing of theirs: what they are is
 * looked up at each use, as relations are.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"

#include "sets/members.h"

/* Read a member of a mixture, or complain that it cannot be one. */
NwSet *
nw_member_get(Oid schema, const char *name, const char *mixture)
{
	NwSet *set = nw_set_find(schema, name);

	if (set == NULL)
		ereport(ERROR,
		        (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("set \"%s\" is not registered", name),
		         errdetail("It is a member of mixture \"%s\".", mixture),
		         errhint("Register it, or give the mixture other members with"
		                 " nw_register_mixture(%s, ..., replace => true).",
		                 quote_literal_cstr(mixture))));
	if (nw_set_is_mixture(set))
		ereport(
			ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
		     errmsg("set \"%s\" is a mixture, which cannot be a member of another", name),
		     errdetail("Its own members are %s.", nw_members_list(set)),
		     errhint("Name these instead, with the products of the weights for their weights.")));
	return set;
}

/* List the members of a mixture, for a message. */
char *
nw_members_list(const NwSet *set)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < set->nmembers; i++)
		appendStringInfo(&names, "%s\"%s\"", i > 0 ? ", " : "", set->members[i]);
	return names.data;
}

/* Complain about a mixture where a set with rows of its own is needed. */
void
nw_members_report(const NwSet *set)
{
	ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
	                errmsg("set \"%s\" is a mixture and has no rows of its own", set->name),
	                errdetail("Its members are %s.", nw_members_list(set)),
	                errhint("Name one of its members.")));
}
