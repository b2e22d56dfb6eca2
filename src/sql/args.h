/*
 * sql/args.h
 *		The arguments that the prediction functions share.
 */
#ifndef NW_SQL_ARGS_H
#define NW_SQL_ARGS_H

#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"

#include "predict/call.h"

/* The type in which a query arrives. */
typedef enum NwQueryForm
{
	NW_QUERY_VECTOR,
	NW_QUERY_HALFVEC,
	NW_QUERY_TEXT
} NwQueryForm;

/*
 * Define the three overloads of a function that takes a query: NAME_vector,
 * NAME_halfvec and NAME_text, all served by
 * static Datum NAME(FunctionCallInfo fcinfo, NwQueryForm form).
 */
#define NW_QUERY_OVERLOAD(name, suffix, form) \
	PG_FUNCTION_INFO_V1(name##suffix);        \
	Datum name##suffix(PG_FUNCTION_ARGS)      \
	{                                         \
		return name(fcinfo, form);            \
	}                                         \
	extern int no_such_variable

#define NW_QUERY_FUNCTION(name)                          \
	NW_QUERY_OVERLOAD(name, _vector, NW_QUERY_VECTOR);   \
	NW_QUERY_OVERLOAD(name, _halfvec, NW_QUERY_HALFVEC); \
	NW_QUERY_OVERLOAD(name, _text, NW_QUERY_TEXT)

/*
 * Start a call from argument 0 (the query) and argument support_arg (the name
 * of a set); false where the query is NULL.
 */
extern bool nw_call_init(NwCall *call, FunctionCallInfo fcinfo, NwQueryForm form, int support_arg);

/* Read the classes or exclude argument at position arg; NULL leaves it out. */
extern void nw_call_classes(NwCall *call, FunctionCallInfo fcinfo, int arg);
extern void nw_call_exclude(NwCall *call, FunctionCallInfo fcinfo, int arg);

/* Read an argument that says how many rows to return; NULL means all. */
extern int nw_top_argument(FunctionCallInfo fcinfo, int arg);

/* Read a text argument that must not be NULL. */
extern char *nw_text_argument(FunctionCallInfo fcinfo, int arg, const char *name);

/*
 * Start a function that returns rows into a tuplestore.  The caller's
 * description of the rows is used: one made anew would stay for as long as
 * the statement, for each call.
 */
#define nw_begin_rows(fcinfo) InitMaterializedSRF((fcinfo), MAT_SRF_USE_EXPECTED_DESC)

/* Make a text datum. */
extern Datum nw_bytes_datum(NwBytes bytes);

#endif /* NW_SQL_ARGS_H */
