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
	Oid type; /* domains resolved */
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

/* Prepare for a type; the output function's memory goes to mcxt. */
extern void nw_textout_init(NwTextOut *out, Oid type, MemoryContext mcxt);

/*
 * The output text of a value.  It may lie in the value itself, else it is
 * allocated in the current context.  Not terminated.
 */
extern NwBytes nw_textout(NwTextOut *out, Datum value);

/*
 * The stored bytes of a value: the same bytes always mean the same text.  May
 * lie in *value or be allocated in the current context.
 */
extern NwBytes nw_textout_image(const NwTextOut *out, Datum *value);

/*
 * True where no setting changes the output text of a type's values (as
 * DateStyle, TimeZone or extra_float_digits do for some).
 */
extern bool nw_textout_is_steady(Oid type);

/*
 * True where values of different stored bytes always have different texts, so
 * that the one tells them apart as the other does.
 */
extern bool nw_textout_is_injective(const NwTextOut *out);

/* Copy bytes into a context, with a terminator behind them. */
extern char *nw_bytes_copy(MemoryContext mcxt, NwBytes bytes);

/* Compare bytewise; a prefix sorts first. */
extern int nw_bytes_compare(NwBytes a, NwBytes b);

#endif /* NW_SETS_TEXT_OUT_H */
