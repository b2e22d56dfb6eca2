/*
 * sets/dependence.c
 *		Say what the rows of a query depend on, beside the rows of tables.
 *
 * A view or a policy may call any function, and so depend on anything.  Most
 * call immutable functions only, or compare a column with a setting or with
 * the user's name.  The values of these can be noted and compared later;
 * where there is anything else, nothing can be said.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "sets/dependence.h"

/* One setting and the value it had. */
typedef struct SettingValue
{
	ExprState *state; /* that reads it */
	Datum value;
	bool isnull;
	int16 typlen;
	bool typbyval;
} SettingValue;

struct NwSettingValues
{
	ExprContext *context;
	int n;
	SettingValue item[FLEXIBLE_ARRAY_MEMBER];
};

/* Say whether the result of a function may change. */
static bool
function_is_mutable(Oid function, void *arg)
{
	(void) arg;
	return func_volatile(function) != PROVOLATILE_IMMUTABLE;
}

/*
 * Make of current_setting('name') an expression that returns NULL where there
 * is no such setting; NULL where it is something else, or its argument is not
 * a constant.
 */
static Expr *
setting_of(const FuncExpr *call)
{
	Node *name;

	if (call->funcid != F_CURRENT_SETTING_TEXT && call->funcid != F_CURRENT_SETTING_TEXT_BOOL)
		return NULL;
	name = linitial(call->args);
	if (!IsA(name, Const) || ((Const *) name)->constisnull)
		return NULL;
	return (Expr *) makeFuncExpr(F_CURRENT_SETTING_TEXT_BOOL, TEXTOID,
	                             list_make2(copyObject(name), makeBoolConst(true, false)),
	                             call->funccollid, call->inputcollid, COERCE_EXPLICIT_CALL);
}

/* Add settings to those that matter, by name. */
static void
add_settings(List **settings, const char *const *names, int n)
{
	for (int i = 0; i < n; i++)
	{
		Const *name = makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
		                        CStringGetTextDatum(names[i]), false, false);

		*settings = lappend(*settings, makeFuncExpr(F_CURRENT_SETTING_TEXT_BOOL, TEXTOID,
		                                            list_make2(name, makeBoolConst(true, false)),
		                                            DEFAULT_COLLATION_OID, DEFAULT_COLLATION_OID,
		                                            COERCE_EXPLICIT_CALL));
	}
}

/*
 * True where no setting changes the output text of a base type's values (as
 * DateStyle, TimeZone or extra_float_digits do for some).
 */
static bool
text_needs_no_settings(Oid base)
{
	switch (base)
	{
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case NAMEOID:
		case CHAROID:
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case NUMERICOID:
		case OIDOID:
		case TIDOID:
		case UUIDOID:
			return true;
		default:
			return type_is_enum(base);
	}
}

/*
 * Say whether the output text of a type depends on nothing but some settings, and
 * add these.
 */
static bool
add_text_settings(List **settings, Oid type)
{
	static const char *const names[] = {"extra_float_digits", "DateStyle",    "TimeZone",
	                                    "IntervalStyle",      "bytea_output", "lc_monetary"};
	Oid base = getBaseType(type);
	Oid function;
	bool is_varlena;

	if (text_needs_no_settings(base))
		return true;
	if (OidIsValid(get_element_type(base)))
		return add_text_settings(settings, get_element_type(base));
	switch (base)
	{
		case FLOAT4OID:
		case FLOAT8OID:
			add_settings(settings, names, 1);
			return true;
		case DATEOID:
		case TIMEOID:
		case TIMETZOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			add_settings(settings, names + 1, 2);
			return true;
		case INTERVALOID:
			add_settings(settings, names + 3, 1);
			return true;
		case MONEYOID:
			add_settings(settings, names + 5, 1);
			return true;
		default:

			/* some that depend on settings are called immutable all the same */
			getTypeOutputInfo(base, &function, &is_varlena);
			if (get_typtype(base) != TYPTYPE_BASE || function_is_mutable(function, NULL))
				return false;
			add_settings(settings, names, lengthof(names));
			return true;
	}
}

/* Say whether a range table entry may depend on more than rows of tables. */
static bool
relation_is_unknown(const RangeTblEntry *rte, NwDependence *depends)
{
	switch (rte->rtekind)
	{
		case RTE_RELATION:
			if (rte->relkind == RELKIND_FOREIGN_TABLE)
				depends->foreign = true;

			/*
			 * sequences belong to no snapshot, and the server's catalogs are
			 * also written outside of commands
			 */
			return rte->tablesample != NULL || rte->relkind == RELKIND_SEQUENCE ||
			       rte->relid < FirstNormalObjectId;
		case RTE_SUBQUERY:
		case RTE_JOIN:
		case RTE_FUNCTION:
		case RTE_VALUES:
		case RTE_CTE:
		case RTE_RESULT:
			return false;
		default:
			return !nw_is_group_entry(rte);
	}
}

/* Gather settings; true where there is something whose value nobody can tell. */
static bool
unknown_walker(Node *node, void *arg)
{
	NwDependence *depends = arg;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		Query *query = (Query *) node;

		return query->commandType != CMD_SELECT || query->rowMarks != NIL ||
		       query_tree_walker(query, unknown_walker, arg, QTW_EXAMINE_RTES_BEFORE);
	}
	if (IsA(node, RangeTblEntry))
		return relation_is_unknown((RangeTblEntry *) node, depends);
	if (IsA(node, SQLValueFunction))
	{
		depends->settings = lappend(depends->settings, node);
		return false;
	}
	if (IsA(node, FuncExpr))
	{
		Expr *setting = setting_of((FuncExpr *) node);

		if (setting)
		{
			depends->settings = lappend(depends->settings, setting);
			return false;
		}
	}

	/* the text of a value may depend on settings, whatever its function says */
	if (IsA(node, CoerceViaIO) &&
	    !add_text_settings(&depends->settings, exprType((Node *) ((CoerceViaIO *) node)->arg)))
		return true;

	/* constraints of domains and what is made of values may call anything */
	if (IsA(node, CoerceToDomain) || IsA(node, NextValueExpr) || IsA(node, XmlExpr) ||
	    nw_is_json_expression(node) || check_functions_in_node(node, function_is_mutable, NULL))
		return true;
	return expression_tree_walker(node, unknown_walker, arg);
}

/*
 * Note what the rows of a rewritten query depend on, beside the rows of its
 * relations.
 */
void
nw_dependence_add_query(NwDependence *depends, Query *query)
{
	if (unknown_walker((Node *) query, depends))
		depends->known = false;
}

/* Note what the output text of a type depends on. */
void
nw_dependence_add_text(NwDependence *depends, Oid type)
{
	if (!add_text_settings(&depends->settings, type))
		depends->known = false;
}

/* Note the values of settings, in the current memory context. */
NwSettingValues *
nw_setting_values_read(const List *settings)
{
	NwSettingValues *values =
		palloc(offsetof(NwSettingValues, item) + list_length(settings) * sizeof(SettingValue));
	ListCell *cell;

	values->context = CreateStandaloneExprContext();
	values->n = 0;
	foreach(cell, settings)
	{
		Expr *expr = copyObject(lfirst(cell));
		SettingValue *item = &values->item[values->n++];

		get_typlenbyval(exprType((Node *) expr), &item->typlen, &item->typbyval);
		item->state = ExecInitExpr(expr, NULL);
		item->value = ExecEvalExprSwitchContext(item->state, values->context, &item->isnull);
		if (!item->isnull)
			item->value = datumCopy(item->value, item->typbyval, item->typlen);
	}
	ResetExprContext(values->context);
	return values;
}

/* True where all settings have the same values now. */
bool
nw_setting_values_hold(const NwSettingValues *values)
{
	bool hold = true;

	for (int i = 0; hold && i < values->n; i++)
	{
		const SettingValue *item = &values->item[i];
		bool isnull;
		Datum value = ExecEvalExprSwitchContext(item->state, values->context, &isnull);

		hold = isnull == item->isnull &&
		       (isnull || datumIsEqual(value, item->value, item->typbyval, item->typlen));
	}
	if (values->n > 0)
		ResetExprContext(values->context);
	return hold;
}
