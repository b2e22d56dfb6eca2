/*
 * sql/cross_fit.h
 *		Find temperatures for prototypes.
 */
#ifndef NW_SQL_CROSS_FIT_H
#define NW_SQL_CROSS_FIT_H

#include "postgres.h"

#include "sets/source.h"
#include "sql/distill_class.h"

extern void nw_cross_fit(const NwDistillTask *task, const NwSource *source, NwSet *set);

#endif /* NW_SQL_CROSS_FIT_H */
