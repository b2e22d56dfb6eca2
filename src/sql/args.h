/*
 * sql/args.h
 *		The arguments that the SQL functions share.
 */
#ifndef NW_SQL_ARGS_H
#define NW_SQL_ARGS_H

#include "postgres.h"

#include "fmgr.h"

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

extern MemoryContext nw_aggregate_context(FunctionCallInfo fcinfo);
extern void nw_check_argument(FunctionCallInfo fcinfo, int arg, const char *name);
extern char *nw_text_argument(FunctionCallInfo fcinfo, int arg, const char *name);
extern double nw_tau_argument(FunctionCallInfo fcinfo, int arg);
extern int nw_top_argument(FunctionCallInfo fcinfo, int arg);
extern int nw_bins_argument(FunctionCallInfo fcinfo, int arg);
extern void nw_check_bins(int bins);

extern bool nw_call_arguments(NwCall *call, FunctionCallInfo fcinfo, NwQueryForm form,
                              int support_arg);
extern void nw_classes_argument(NwCall *call, FunctionCallInfo fcinfo, int arg);
extern void nw_exclude_argument(NwCall *call, FunctionCallInfo fcinfo, int arg);

#endif /* NW_SQL_ARGS_H */
