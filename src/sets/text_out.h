/*
 * sets/text_out.h
 *		The output text of a column's values, as bytes.
 */
#ifndef NW_SETS_TEXT_OUT_H
#define NW_SETS_TEXT_OUT_H

#include "postgres.h"

#include "fmgr.h"

/* How the values of one type become text. */
typedef struct NwTextOut
{
	Oid type; /* a domain's base type */
	int16 typlen;
	bool typbyval;
	bool is_text; /* the value's bytes are its text */
	FmgrInfo output;
} NwTextOut;

/* A run of bytes. */
typedef struct NwBytes
{
	const char *data;
	int len;
} NwBytes;

/* The bytes of a string, which stays where it is. */
static inline NwBytes
nw_bytes_of_string(const char *string)
{
	return (NwBytes) {string, (int) strlen(string)};
}

extern void nw_text_out_init(NwTextOut *out, Oid type, MemoryContext mcxt);
extern NwBytes nw_text_out(NwTextOut *out, Datum value);
extern NwBytes nw_text_out_image(const NwTextOut *out, Datum *value);
extern bool nw_text_out_is_injective(const NwTextOut *out);
extern char *nw_bytes_copy(MemoryContext mcxt, NwBytes bytes);
extern int nw_bytes_compare(NwBytes a, NwBytes b);
extern NwBytes nw_bytes_of_varlena(Datum value);
extern Datum nw_bytes_datum(NwBytes bytes);

#endif /* NW_SETS_TEXT_OUT_H */
