/*
 * sql/json.h
 *		What SQL functions return as jsonb, piece by piece.
 */
#ifndef NW_SQL_JSON_H
#define NW_SQL_JSON_H

#include "postgres.h"

#include "compat.h"
#include "sets/text_out.h"

extern void nw_json_key(JsonbInState *json, const char *key);
extern void nw_json_text(JsonbInState *json, JsonbIteratorToken token, NwBytes text);
extern void nw_json_number(JsonbInState *json, double number);
extern void nw_json_null(JsonbInState *json);

#endif /* NW_SQL_JSON_H */
