/*
 * predict/typicality.h
 *		The distances that a set has learned to compare queries by.
 */
#ifndef NW_PREDICT_TYPICALITY_H
#define NW_PREDICT_TYPICALITY_H

#include "postgres.h"

#include "math/typicality.h"
#include "sets/registry.h"

/* The farthest neighbour whose distance may count. */
#define NW_NEIGHBOURS_MAX 1000

extern void nw_typical_store(Oid schema, const NwSet *set, const char *queries,
                             const NwTypical *typical);
extern const NwTypical *nw_typical_read(Oid schema, const NwSet *set);
extern void nw_report_no_typicality(const char *set);

#endif /* NW_PREDICT_TYPICALITY_H */
