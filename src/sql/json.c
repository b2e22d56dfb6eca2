/*
 * sql/json.c
 *		What SQL functions return as jsonb, piece by piece.
 */
#include "postgres.h"

#include "common/shortest_dec.h"
#include "fmgr.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "sql/json.h"

/* Write the key of a value to come. */
void
nw_json_key(JsonbInState *json, const char *key)
{
	nw_json_text(json, WJB_KEY, nw_bytes_of_string(key));
}

/* Write a text, which has to stay until the whole is made, as a key or a value. */
void
nw_json_text(JsonbInState *json, JsonbIteratorToken token, NwBytes text)
{
	JsonbValue value = {.type = jbvString};

	value.val.string.val = unconstify(char *, text.data);
	value.val.string.len = text.len;
	nw_push_jsonb(json, token, &value);
}

/* Write a finite number, whose digits give the same double back. */
void
nw_json_number(JsonbInState *json, double number)
{
	char text[DOUBLE_SHORTEST_DECIMAL_LEN];
	JsonbValue value = {.type = jbvNumeric};

	/* not as a double is printed: that follows extra_float_digits */
	double_to_shortest_decimal_buf(number, text);
	value.val.numeric = DatumGetNumeric(DirectFunctionCall3(
		numeric_in, CStringGetDatum(text), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
	nw_push_jsonb(json, WJB_VALUE, &value);
}

void
nw_json_null(JsonbInState *json)
{
	JsonbValue value = {.type = jbvNull};

	nw_push_jsonb(json, WJB_VALUE, &value);
}
