/*
 * diagnose.h
 *		Stored diagnoses of sets.
 */
#ifndef NW_DIAGNOSE_H
#define NW_DIAGNOSE_H

#include "postgres.h"

/* Remove what was diagnosed with a set, as support or as queries. */
extern void nw_diagnosis_delete(Oid schema, const char *set);

#endif							/* NW_DIAGNOSE_H */
