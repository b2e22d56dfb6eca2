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

extern MemoryContext nw_aggregate_context(FunctionCallInfo fcinfo);
extern Oid nw_type_of_argument(FunctionCallInfo fcinfo, int arg);
extern void nw_check_argument(FunctionCallInfo fcinfo, int arg, const char *name);
extern char *nw_text_argument(FunctionCallInfo fcinfo, int arg, const char *name);
extern double nw_tau_argument(FunctionCallInfo fcinfo, int arg);
extern double nw_temper_argument(FunctionCallInfo fcinfo, int arg);
extern int nw_top_argument(FunctionCallInfo fcinfo, int arg);
extern double nw_confidence_argument(FunctionCallInfo fcinfo, int arg);
extern int nw_bins_argument(FunctionCallInfo fcinfo, int arg);
extern void nw_check_bins(int bins);
extern void nw_check_same_bins(int64 a, int64 b);
extern void nw_check_confidence(double confidence);

extern bool nw_call_arguments(NwCall *call, FunctionCallInfo fcinfo, int support_arg);
extern void nw_classes_argument(NwCall *call, FunctionCallInfo fcinfo, int arg);
extern void nw_exclude_argument(NwCall *call, FunctionCallInfo fcinfo, int arg);
extern void nw_empty_argument(NwCall *call, FunctionCallInfo fcinfo, int arg);

#endif /* NW_SQL_ARGS_H */
