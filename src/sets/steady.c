/*
 * sets/steady.c
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
#include "sets/steady.h"
#include "sets/text_out.h"

typedef struct Search
{
	List *settings;
	bool foreign;
} Search;

/* One setting and the value it had. */
typedef struct Pin
{
	ExprState *state;
	Datum value;
	bool isnull;
	int16 typlen;
	bool typbyval;
} Pin;

struct NwPins
{
	ExprContext *context;
	int n;
	Pin pin[FLEXIBLE_ARRAY_MEMBER];
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

bool
nw_text_is_steady(Oid type, List **settings)
{
	static const char *const names[] = {"extra_float_digits", "DateStyle",    "TimeZone",
	                                    "IntervalStyle",      "bytea_output", "lc_monetary"};
	Oid base = getBaseType(type);
	Oid function;
	bool is_varlena;

	if (nw_textout_is_steady(base))
		return true;
	if (OidIsValid(get_element_type(base)))
		return nw_text_is_steady(get_element_type(base), settings);
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
entry_is_unsteady(const RangeTblEntry *rte, Search *search)
{
	switch (rte->rtekind)
	{
		case RTE_RELATION:
			if (rte->relkind == RELKIND_FOREIGN_TABLE)
				search->foreign = true;

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

/* Find what is unsteady, and gather settings. */
static bool
unsteady_walker(Node *node, void *arg)
{
	Search *search = arg;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		Query *query = (Query *) node;

		return query->commandType != CMD_SELECT || query->rowMarks != NIL ||
		       query_tree_walker(query, unsteady_walker, arg, QTW_EXAMINE_RTES_BEFORE);
	}
	if (IsA(node, RangeTblEntry))
		return entry_is_unsteady((RangeTblEntry *) node, search);
	if (IsA(node, SQLValueFunction))
	{
		search->settings = lappend(search->settings, node);
		return false;
	}
	if (IsA(node, FuncExpr))
	{
		Expr *setting = setting_of((FuncExpr *) node);

		if (setting)
		{
			search->settings = lappend(search->settings, setting);
			return false;
		}
	}

	/* the text of a value may depend on settings, whatever its function says */
	if (IsA(node, CoerceViaIO) &&
	    !nw_text_is_steady(exprType((Node *) ((CoerceViaIO *) node)->arg), &search->settings))
		return true;

	/* constraints of domains and what is made of values may call anything */
	if (IsA(node, CoerceToDomain) || IsA(node, NextValueExpr) || IsA(node, XmlExpr) ||
	    nw_is_json_expression(node) || check_functions_in_node(node, function_is_mutable, NULL))
		return true;
	return expression_tree_walker(node, unsteady_walker, arg);
}

bool
nw_query_is_steady(Query *query, List **settings, bool *foreign)
{
	Search search = {NIL, false};
	bool steady = !unsteady_walker((Node *) query, &search);

	*settings = search.settings;
	*foreign = search.foreign;
	return steady;
}

NwPins *
nw_pins_create(const List *settings)
{
	NwPins *pins = palloc(offsetof(NwPins, pin) + list_length(settings) * sizeof(Pin));
	ListCell *cell;

	pins->context = CreateStandaloneExprContext();
	pins->n = 0;
	foreach(cell, settings)
	{
		Expr *expr = copyObject(lfirst(cell));
		Pin *pin = &pins->pin[pins->n++];

		get_typlenbyval(exprType((Node *) expr), &pin->typlen, &pin->typbyval);
		pin->state = ExecInitExpr(expr, NULL);
		pin->value = ExecEvalExprSwitchContext(pin->state, pins->context, &pin->isnull);
		if (!pin->isnull)
			pin->value = datumCopy(pin->value, pin->typbyval, pin->typlen);
	}
	ResetExprContext(pins->context);
	return pins;
}

bool
nw_pins_hold(const NwPins *pins)
{
	bool hold = true;

	for (int i = 0; hold && i < pins->n; i++)
	{
		const Pin *pin = &pins->pin[i];
		bool isnull;
		Datum value = ExecEvalExprSwitchContext(pin->state, pins->context, &isnull);

		hold = isnull == pin->isnull &&
		       (isnull || datumIsEqual(value, pin->value, pin->typbyval, pin->typlen));
	}
	if (pins->n > 0)
		ResetExprContext(pins->context);
	return hold;
}
