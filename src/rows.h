/*
 * rows.h
 *		What SQL functions return: rows, one or many.
 */
#ifndef NW_ROWS_H
#define NW_ROWS_H

#include "postgres.h"

#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "compat.h"

/*
 * Start a function that returns rows into a tuplestore.  The caller's
 * description of the rows is used: one made anew would stay for as long as
 * the statement, for each call.
 */
static inline ReturnSetInfo *
nw_rows_begin(FunctionCallInfo fcinfo)
{
	nw_begin_materialized(fcinfo);
	return (ReturnSetInfo *) fcinfo->resultinfo;
}

/* Return one of many rows. */
static inline void
nw_rows_put(ReturnSetInfo *rows, Datum *values, bool *nulls)
{
	tuplestore_putvalues(rows->setResult, rows->setDesc, values, nulls);
}

/* What the one row that a function returns looks like. */
static inline TupleDesc
nw_row_type(FunctionCallInfo fcinfo)
{
	TupleDesc desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return desc;
}

/* Make that row. */
static inline Datum
nw_row_datum(TupleDesc desc, Datum *values, bool *nulls)
{
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

/* Make a text, or say that it is null. */
static inline Datum
nw_text_or_null(const char *text, bool *isnull)
{
	*isnull = text == NULL;
	return text ? CStringGetTextDatum(text) : (Datum) 0;
}

/* Divide one count by another; null where there is nothing to divide by. */
static inline Datum
nw_share_or_null(int64 part, int64 whole, bool *isnull)
{
	*isnull = whole == 0;
	return Float8GetDatum(whole == 0 ? 0 : (double) part / (double) whole);
}

#endif /* NW_ROWS_H */
