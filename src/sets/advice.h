/*
 * sets/advice.h
 *		What registering a set points out.
 */
#ifndef NW_SETS_ADVICE_H
#define NW_SETS_ADVICE_H

#include "postgres.h"

#include "sets/source.h"

extern void nw_advise_ids(const NwSource *source);
extern void nw_advise_view(const NwSource *source);

#endif /* NW_SETS_ADVICE_H */
