/*
 * sql/vote.c
 *		The aggregates nw_vote and nw_argmax: a prediction over whatever rows
 *		a query brings together.
 *
 * The state is one mass for each label.  Masses do not depend on the order of
 * their terms, so serial and parallel plans give the same digits.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "bytes/aggregate_state.h"
#include "compat.h"
#include "grow.h"
#include "math/verdict.h"
#include "sets/labels.h"
#include "sql/args.h"
#include "sql/json.h"

/* A mass for each label. */
typedef struct VoteState
{
	NwLabels *labels;
	NwMass *mass; /* [labels->n] */
	int allocated;
	MemoryContext mcxt;
} VoteState;

PG_FUNCTION_INFO_V1(nw_vote_accum);
PG_FUNCTION_INFO_V1(nw_vote_combine);
PG_FUNCTION_INFO_V1(nw_vote_serialize);
PG_FUNCTION_INFO_V1(nw_vote_deserialize);
PG_FUNCTION_INFO_V1(nw_vote_final);
PG_FUNCTION_INFO_V1(nw_argmax_final);

/* Make an empty state for labels of a type. */
static VoteState *
make_state(MemoryContext mcxt, Oid type)
{
	VoteState *state = MemoryContextAllocZero(mcxt, sizeof(VoteState));

	state->mcxt = mcxt;
	state->labels = nw_labels_create(mcxt, type);
	return state;
}

/* The mass of a class, empty where it is new. */
static NwMass *
class_mass(VoteState *state, int class)
{
	int old = state->allocated;

	NW_RESERVE(state->mcxt, state->mass, state->allocated, class + 1);
	for (; old < state->allocated; old++)
		nw_mass_clear(&state->mass[old]);
	return &state->mass[class];
}

/* The mass of a label's text. */
static NwMass *
label_mass(VoteState *state, NwBytes label)
{
	return class_mass(state, nw_labels_add_text(state->labels, label));
}

/* nw_vote_accum(internal, label, distance float8 [, tau float8]) */
Datum
nw_vote_accum(PG_FUNCTION_ARGS)
{
	MemoryContext mcxt = nw_aggregate_context(fcinfo);
	VoteState *state;
	double tau = 1;
	double distance;

	state = PG_ARGISNULL(0) ? make_state(mcxt, nw_type_of_argument(fcinfo, 1))
	                        : (VoteState *) PG_GETARG_POINTER(0);

	if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_POINTER(state);

	if (PG_NARGS() > 3)
		tau = nw_tau_argument(fcinfo, 3);
	distance = PG_GETARG_FLOAT8(2);
	if (!(fabs(distance) <= NW_DISTANCE_MAX))
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
		                errmsg("distance must be a finite number, not %g", distance)));

	nw_mass_add(class_mass(state, nw_labels_add(state->labels, PG_GETARG_DATUM(1))),
	            nw_distance_score(distance, tau));
	PG_RETURN_POINTER(state);
}

/* nw_vote_combine(internal, internal) */
Datum
nw_vote_combine(PG_FUNCTION_ARGS)
{
	MemoryContext mcxt = nw_aggregate_context(fcinfo);
	VoteState *state;
	VoteState *other;

	if (PG_ARGISNULL(1))
	{
		if (PG_ARGISNULL(0))
			PG_RETURN_NULL();
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	}
	other = (VoteState *) PG_GETARG_POINTER(1);
	state = PG_ARGISNULL(0) ? make_state(mcxt, TEXTOID) : (VoteState *) PG_GETARG_POINTER(0);
	for (int i = 0; i < other->labels->n; i++)
		nw_mass_merge(label_mass(state, other->labels->text[i]), &other->mass[i]);
	PG_RETURN_POINTER(state);
}

/* nw_vote_serialize(internal) returns bytea */
Datum
nw_vote_serialize(PG_FUNCTION_ARGS)
{
	VoteState *state = (VoteState *) PG_GETARG_POINTER(0);
	StringInfoData buf;

	(void) nw_aggregate_context(fcinfo);
	pq_begintypsend(&buf);
	pq_sendint32(&buf, state->labels->n);
	for (int i = 0; i < state->labels->n; i++)
	{
		NwBytes label = state->labels->text[i];
		const NwMass *mass = &state->mass[i];

		pq_sendint32(&buf, label.len);
		pq_sendbytes(&buf, label.data, label.len);
		pq_sendfloat8(&buf, mass->top);
		for (int b = 0; b < NW_BINS; b++)
		{
			pq_sendint64(&buf, (uint64) (mass->bin[b] >> 64));
			pq_sendint64(&buf, (uint64) mass->bin[b]);
		}
	}
	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

/* nw_vote_deserialize(bytea, internal) returns internal */
Datum
nw_vote_deserialize(PG_FUNCTION_ARGS)
{
	bytea *serialized = PG_GETARG_BYTEA_PP(0);
	VoteState *state;
	NwStateReader reader;
	NwBytes label;
	NwMass mass;
	bool valid;

	(void) nw_aggregate_context(fcinfo);
	state = make_state(CurrentMemoryContext, TEXTOID);
	valid = nw_vote_read_begin(&reader, VARDATA_ANY(serialized), VARSIZE_ANY_EXHDR(serialized));
	for (int n = 1; valid && reader.n > 0; n++)
	{
		CHECK_FOR_INTERRUPTS();
		valid = nw_vote_read_next(&reader, &label.data, &label.len, &mass) &&
		        pg_verifymbstr(label.data, label.len, true);
		if (valid)
			*label_mass(state, label) = mass;
		/* a label that was there already makes no new class */
		valid = valid && state->labels->n == n;
	}
	if (!valid || !nw_state_read_end(&reader))
		ereport(ERROR, (errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
		                errmsg("invalid state of aggregate")));
	PG_RETURN_POINTER(state);
}

/* Put the classes in order and add them up; NULL where there are none. */
static VoteState *
finish_vote(FunctionCallInfo fcinfo, NwVerdict *verdict)
{
	VoteState *state;
	int n;

	(void) nw_aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		return NULL;
	state = (VoteState *) PG_GETARG_POINTER(0);
	n = state->labels->n;
	verdict->class = palloc_extended(Max(n, 1) * sizeof(int), MCXT_ALLOC_HUGE);
	verdict->value = palloc_extended(Max(n, 1) * sizeof(NwScaled), MCXT_ALLOC_HUGE);
	return nw_verdict_close(verdict, state->mass, nw_labels_order(state->labels), n) ? state : NULL;
}

/* nw_vote_final(internal) returns jsonb: {label: probability} */
Datum
nw_vote_final(PG_FUNCTION_ARGS)
{
	NwVerdict verdict;
	VoteState *state = finish_vote(fcinfo, &verdict);
	JsonbInState json = {0};

	if (state == NULL)
		PG_RETURN_NULL();
	nw_push_jsonb(&json, WJB_BEGIN_OBJECT, NULL);
	for (int i = 0; i < verdict.n; i++)
	{
		nw_json_text(&json, WJB_KEY, state->labels->text[verdict.class[i]]);
		nw_json_number(&json, nw_verdict_probability(&verdict, i));
	}
	nw_push_jsonb(&json, WJB_END_OBJECT, NULL);
	PG_RETURN_JSONB_P(JsonbValueToJsonb(json.result));
}

/*
 * nw_argmax_final(internal, label, distance float8 [, tau float8]) returns the most
 * probable label, of the label's own type
 *
 * The value is made of its text, by the type's own input function: of several values
 * of one text none has to be chosen.  A domain's conditions were met when the label
 * went in, and are not asked again.
 */
Datum
nw_argmax_final(PG_FUNCTION_ARGS)
{
	NwVerdict verdict;
	VoteState *state = finish_vote(fcinfo, &verdict);
	NwBytes label;
	Oid type;
	Oid input;
	Oid ioparam;

	if (state == NULL)
		PG_RETURN_NULL();
	label = state->labels->text[verdict.class[nw_verdict_winner(&verdict)]];
	type = getBaseType(get_fn_expr_rettype(fcinfo->flinfo));
	if (type == TEXTOID)
		return nw_bytes_datum(label);
	getTypeInputInfo(type, &input, &ioparam);
	return OidInputFunctionCall(input, nw_bytes_copy(CurrentMemoryContext, label), ioparam, -1);
}
