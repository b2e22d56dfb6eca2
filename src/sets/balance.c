/*
 * sets/balance.c
 *		Give classes a say of their own, whatever the number of their rows.
 *
 * The rows of a class weigh together what the class is to weigh: its prior.  Priors are
 * all the same, or given for some classes; what these leave goes to the others, each
 * by its rows.  To know what rows weigh now, they are counted before they are read.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"

#include "grow.h"
#include "math/sum.h"
#include "sets/balance.h"

/* So much may priors be above 1, since decimal fractions are rounded. */
#define ROUNDING 1e-9

/* What is asked for. */
typedef struct Priors
{
	NwLabels *classes; /* those named; none where all classes weigh the same */
	double *prior;     /* [classes->n] */
	double rest;       /* for all others together */
} Priors;

struct NwBalance
{
	const char *set; /* its name */
	Priors *priors;  /* NULL where all classes weigh the same */
	NwLabels *labels;
	NwSum *total; /* [allocated] weight of each class */
	int allocated;
	double *prior; /* [counted] once counted: what rows of a class weigh together, */
	double *whole; /* [counted] and what these rows weigh of themselves */
	int counted;   /* classes */
	MemoryContext mcxt;
};

/* Complain about a balance that is none of those there are. */
static void
report_invalid(const char *detail)
{
	ereport(ERROR,
	        (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("balance is not valid"),
	         errdetail("%s", detail),
	         errhint("It is 'none', 'uniform', or priors such as '{\"urgent\": 0.2}', which are"
	                 " positive and add up to 1 at most.")));
}

/* Read one prior. */
static double
read_prior(const JsonbValue *value)
{
	double prior;

	if (value->type != jbvNumeric)
		report_invalid("A prior is not a number.");
	prior = strtod(
		DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(value->val.numeric))),
		NULL);
	if (!(prior > 0 && prior <= 1))
		report_invalid("A prior is not above 0 and at most 1.");
	return prior;
}

/* Read priors out of a JSON object. */
static Priors *
read_priors(Jsonb *json)
{
	Priors *priors = palloc0(sizeof(Priors));
	JsonbIterator *it = JsonbIteratorInit(&json->root);
	int allocated = 0;
	JsonbValue value;
	JsonbIteratorToken token = JsonbIteratorNext(&it, &value, true);
	NwSum sum;

	if (token != WJB_BEGIN_OBJECT)
		report_invalid("It is not an object of priors by class.");
	nw_sum_clear(&sum);
	priors->classes = nw_labels_create(CurrentMemoryContext, TEXTOID);
	while ((token = JsonbIteratorNext(&it, &value, true)) == WJB_KEY)
	{
		NwBytes name = {value.val.string.val, value.val.string.len};
		int class = nw_labels_add_text(priors->classes, name);

		NW_RESERVE(CurrentMemoryContext, priors->prior, allocated, class + 1);
		(void) JsonbIteratorNext(&it, &value, true);
		priors->prior[class] = read_prior(&value);
		nw_sum_add(&sum, priors->prior[class]);
	}
	if (priors->classes->n == 0)
		report_invalid("It names no class.");
	priors->rest = 1 - nw_sum_value(&sum);
	if (priors->rest < -ROUNDING)
		report_invalid("The priors add up to more than 1.");
	if (priors->rest < ROUNDING)
		priors->rest = 0;
	return priors;
}

/* Read an object of priors. */
static Jsonb *
read_object(const char *text)
{
	if (text[strspn(text, " \t\r\n")] != '{')
		report_invalid(psprintf("There is no balance \"%s\".", text));
	return DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(text)));
}

/* Check what a user writes, and return how it is kept: NULL for none. */
char *
nw_balance_check(const char *text)
{
	Jsonb *json;

	if (strcmp(text, "none") == 0)
		return NULL;
	if (strcmp(text, "uniform") == 0)
		return pstrdup(text);
	json = read_object(text);
	(void) read_priors(json);
	return JsonbToCString(NULL, &json->root, VARSIZE(json));
}

/* Begin to count the rows of a set. */
NwBalance *
nw_balance_begin(const char *text, const char *set, Oid label_type)
{
	NwBalance *balance = palloc0(sizeof(NwBalance));

	balance->set = set;
	balance->mcxt = CurrentMemoryContext;
	balance->labels = nw_labels_create(CurrentMemoryContext, label_type);
	if (strcmp(text, "uniform") != 0)
		balance->priors = read_priors(read_object(text));
	return balance;
}

/* Count a row. */
void
nw_balance_count(NwBalance *balance, Datum label, double weight)
{
	int known = balance->labels->n;
	int class = nw_labels_add(balance->labels, label);

	NW_RESERVE(balance->mcxt, balance->total, balance->allocated, class + 1);
	if (class == known)
		nw_sum_clear(&balance->total[class]);
	nw_sum_add(&balance->total[class], weight);
}

/* The weight of all rows of a class. */
static double
class_total(const NwBalance *balance, int class)
{
	double total = nw_sum_value(&balance->total[class]);

	if (isinf(total))
		ereport(
			ERROR,
			(errcode(ERRCODE_DATA_EXCEPTION),
		     errmsg(
				 "row weights of a class of set \"%s\" add up to more than double precision holds",
				 balance->set),
		     errhint("Weights are relative: divide all of them by a large number.")));
	return total;
}

/* Find what the rows of each class are to weigh, now that all are counted. */
static void
find_priors(NwBalance *balance)
{
	const Priors *priors = balance->priors;
	int n = balance->labels->n;
	Size size = Max(n, 1) * sizeof(double);
	const int *order = nw_labels_order(balance->labels);
	double others = 0;

	balance->counted = n;
	balance->prior = MemoryContextAllocHuge(balance->mcxt, size);
	balance->whole = MemoryContextAllocHuge(balance->mcxt, size);

	/* in byte order, so that no sum tells how rows were read */
	for (int i = 0; i < n; i++)
	{
		int class = order[i];
		int named =
			priors ? nw_labels_find_text(priors->classes, balance->labels->text[class]) : -1;

		balance->whole[class] = class_total(balance, class);
		balance->prior[class] = priors == NULL ? 1 : named >= 0 ? priors->prior[named] : -1;
		if (balance->prior[class] < 0)
			others += balance->whole[class];
	}
	for (int class = 0; class < n; class ++)
	{
		if (balance->prior[class] < 0)
		{
			balance->prior[class] = priors->rest;
			balance->whole[class] = others;
		}
	}
}

/* What a row weighs in a set that was counted. */
double
nw_balance_weigh(NwBalance *balance, Datum label, double weight)
{
	int class;

	if (balance->prior == NULL)
		find_priors(balance);
	class = nw_labels_add(balance->labels, label);
	if (class >= balance->counted)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
		                errmsg("set \"%s\" has other rows each time it is read", balance->set),
		                errdetail("The rows of a balanced set are counted before they are read.")));
	return weight / balance->whole[class] * balance->prior[class];
}
