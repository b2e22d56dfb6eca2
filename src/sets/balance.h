/*
 * sets/balance.h
 *		Give classes a say of their own, whatever the number of their rows.
 */
#ifndef NW_SETS_BALANCE_H
#define NW_SETS_BALANCE_H

#include "postgres.h"

#include "sets/labels.h"

/* What classes of a set are to weigh, and what its rows do weigh. */
typedef struct NwBalance NwBalance;

extern char *nw_balance_check(const char *text);
extern NwBalance *nw_balance_begin(const char *text, const char *set, Oid label_type);
extern void nw_balance_count(NwBalance *balance, Datum label, double weight);
extern double nw_balance_weigh(NwBalance *balance, Datum label, double weight);

#endif /* NW_SETS_BALANCE_H */
