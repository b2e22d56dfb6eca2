/*
 * sql/explain.c
 *		Tell all of a prediction at once: nw_explain.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "sql/args.h"
#include "sql/json.h"
#include "sql/shared_rows.h"

PG_FUNCTION_INFO_V1(nw_explain);

/* Write the classes of a prediction, the most probable first. */
static void
put_probabilities(JsonbInState *json, NwTally *tally)
{
	int *ranking = nw_tally_ranking(tally);

	nw_push_jsonb(json, WJB_BEGIN_ARRAY, NULL);
	for (int i = 0; i < tally->verdict.n; i++)
	{
		nw_push_jsonb(json, WJB_BEGIN_OBJECT, NULL);
		nw_json_key(json, "label");
		nw_json_text(json, WJB_VALUE, nw_tally_label(tally, ranking[i]));
		nw_json_key(json, "probability");
		nw_json_number(json, nw_verdict_probability(&tally->verdict, ranking[i]));
		nw_push_jsonb(json, WJB_END_OBJECT, NULL);
		CHECK_FOR_INTERRUPTS();
	}
	nw_push_jsonb(json, WJB_END_ARRAY, NULL);
}

/* Write the supports that a prediction rests on, the heaviest first. */
static void
put_reasons(JsonbInState *json, const NwTally *tally)
{
	nw_push_jsonb(json, WJB_BEGIN_ARRAY, NULL);
	for (int i = 0; i < tally->heaviest.n; i++)
	{
		const NwHeavy *item = &tally->heaviest.item[i];

		nw_push_jsonb(json, WJB_BEGIN_OBJECT, NULL);
		nw_json_key(json, "id");
		if (item->id)
			nw_json_text(json, WJB_VALUE, nw_bytes_of_string(item->id));
		else
			nw_json_null(json);
		nw_json_key(json, "label");
		nw_json_text(json, WJB_VALUE, tally->labels->text[item->class]);
		nw_json_key(json, "weight");
		nw_json_number(json, nw_tally_weight(tally, item));
		nw_json_key(json, "distance");
		nw_json_number(json, nw_tally_distance(tally, item));
		if (tally->nmembers > 0)
		{
			nw_json_key(json, "member");
			nw_json_text(json, WJB_VALUE, nw_bytes_of_string(nw_tally_member(tally, item)));
		}
		nw_push_jsonb(json, WJB_END_OBJECT, NULL);
		CHECK_FOR_INTERRUPTS();
	}
	nw_push_jsonb(json, WJB_END_ARRAY, NULL);
}

/* Write the members of a mixture that took part, and the temperatures of each. */
static void
put_members(JsonbInState *json, const NwTally *tally)
{
	nw_push_jsonb(json, WJB_BEGIN_ARRAY, NULL);
	for (int i = 0; i < tally->nmembers; i++)
	{
		const NwMember *member = &tally->member[i];

		nw_push_jsonb(json, WJB_BEGIN_OBJECT, NULL);
		nw_json_key(json, "support");
		nw_json_text(json, WJB_VALUE, nw_bytes_of_string(member->name));
		nw_json_key(json, "share");
		nw_json_number(json, nw_tally_share(tally, i));
		nw_json_key(json, "tau");
		nw_json_number(json, member->tally->query.tau);
		nw_json_key(json, "temper");
		nw_json_number(json, member->tally->temper);
		nw_push_jsonb(json, WJB_END_OBJECT, NULL);
	}
	nw_push_jsonb(json, WJB_END_ARRAY, NULL);
}

/*
 * nw_explain(query, support text, top int, classes, exclude, empty_ok boolean)
 * returns jsonb:
 * {label, confidence, probabilities, reasons, support, tau, temper}, and members of a
 * mixture
 */
Datum
nw_explain(PG_FUNCTION_ARGS)
{
	NwCall call;
	NwTally *tally;
	JsonbInState json = {0};
	int top = nw_top_argument(fcinfo, 2);
	int best;

	if (!nw_call_arguments(&call, fcinfo, 1))
		PG_RETURN_NULL();
	call.top = top;
	nw_classes_argument(&call, fcinfo, 3);
	nw_exclude_argument(&call, fcinfo, 4);
	nw_empty_argument(&call, fcinfo, 5);

	tally = nw_call_tally(&call);
	if (tally == NULL)
		PG_RETURN_NULL();
	nw_warn_of_own_row(fcinfo, &call, tally);
	best = nw_verdict_winner(&tally->verdict);
	nw_push_jsonb(&json, WJB_BEGIN_OBJECT, NULL);
	nw_json_key(&json, "label");
	nw_json_text(&json, WJB_VALUE, nw_tally_label(tally, best));
	nw_json_key(&json, "confidence");
	nw_json_number(&json, nw_verdict_probability(&tally->verdict, best));
	nw_json_key(&json, "probabilities");
	put_probabilities(&json, tally);
	nw_json_key(&json, "reasons");
	put_reasons(&json, tally);
	nw_json_key(&json, "support");
	nw_json_text(&json, WJB_VALUE, nw_bytes_of_string(call.support));
	nw_json_key(&json, "tau");
	if (tally->nmembers > 0)
		nw_json_null(&json);
	else
		nw_json_number(&json, tally->query.tau);
	nw_json_key(&json, "temper");
	nw_json_number(&json, tally->temper);
	if (tally->nmembers > 0)
	{
		nw_json_key(&json, "members");
		put_members(&json, tally);
	}
	nw_push_jsonb(&json, WJB_END_OBJECT, NULL);
	PG_RETURN_JSONB_P(JsonbValueToJsonb(json.result));
}
