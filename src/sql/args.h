/*
 * sql/args.h
 *		The arguments that the SQL functions share.
 */
#ifndef NW_SQL_ARGS_H
#define NW_SQL_ARGS_H

#include "postgres.h"

#include "fmgr.h"

#include "predict/call.h"

/* Bins of confidence where an aggregate is not told how many. */
#define NW_DEFAULT_BINS 15

/* The type in which a query arrives. */
typedef enum NwQueryForm
{
	NW_QUERY_VECTOR,
	NW_QUERY_HALFVEC,
	NW_QUERY_TEXT,
	NW_QUERY_ANY /* whatever type the caller has: one of these, or an array of numbers */
} NwQueryForm;

/*
 * Define the overloads of a function that has one for each type of query:
 * NAME_vector, NAME_halfvec and NAME_text, all served by
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
extern Oid nw_type_of_argument(FunctionCallInfo fcinfo, int arg);
extern void nw_check_argument(FunctionCallInfo fcinfo, int arg, const char *name);
extern char *nw_text_argument(FunctionCallInfo fcinfo, int arg, const char *name);
extern double nw_tau_argument(FunctionCallInfo fcinfo, int arg);
extern int nw_top_argument(FunctionCallInfo fcinfo, int arg);
extern double nw_confidence_argument(FunctionCallInfo fcinfo, int arg);
extern int nw_bins_argument(FunctionCallInfo fcinfo, int arg);
extern void nw_check_bins(int bins);
extern void nw_check_same_bins(int64 a, int64 b);
extern void nw_check_confidence(double confidence);

extern bool nw_call_arguments(NwCall *call, FunctionCallInfo fcinfo, NwQueryForm form,
                              int support_arg);
extern void nw_classes_argument(NwCall *call, FunctionCallInfo fcinfo, int arg);
extern void nw_exclude_argument(NwCall *call, FunctionCallInfo fcinfo, int arg);

#endif /* NW_SQL_ARGS_H */
