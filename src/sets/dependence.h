/*
 * sets/dependence.h
 *		What the rows of a set depend on.
 */
#ifndef NW_SETS_DEPENDENCE_H
#define NW_SETS_DEPENDENCE_H

#include "postgres.h"

#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"

/* What the rows that are read depend on. */
typedef struct NwDependence
{
	List *relids;   /* every relation that is read */
	List *settings; /* expressions that read a setting or name a user */
	bool foreign;   /* some of the rows are elsewhere */
	bool known;     /* the rows depend on nothing but these relations and settings */
} NwDependence;

/* The values that some settings had. */
typedef struct NwSettingValues NwSettingValues;

extern void nw_dependence_add_query(NwDependence *depends, Query *query);
extern void nw_dependence_add_text(NwDependence *depends, Oid type);
extern NwSettingValues *nw_setting_values_read(const List *settings);
extern bool nw_setting_values_hold(const NwSettingValues *values);

#endif /* NW_SETS_DEPENDENCE_H */
