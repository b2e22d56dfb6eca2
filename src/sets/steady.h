/*
 * sets/steady.h
 *		What the rows of a query depend on, beside the rows of tables.
 */
#ifndef NW_SETS_STEADY_H
#define NW_SETS_STEADY_H

#include "postgres.h"

#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"

/*
 * Say whether the rows of a rewritten query depend on nothing but the rows of
 * tables and what settings is set to: expressions that read a setting or name
 * a user.  foreign tells whether some of the tables are foreign.
 */
extern bool nw_query_is_steady(Query *query, List **settings, bool *foreign);

/*
 * Say whether the output text of a type depends on nothing but some settings,
 * and add these.
 */
extern bool nw_text_is_steady(Oid type, List **settings);

/* What the rows that are read depend on. */
typedef struct NwDependence
{
	List *relids;   /* every relation that is read */
	bool steady;    /* on nothing but the rows of these and the settings */
	List *settings; /* see nw_query_is_steady() */
	bool foreign;   /* some of the rows are elsewhere */
} NwDependence;

/* The values that some settings had. */
typedef struct NwPins NwPins;

/* Note the values of settings, in the current memory context. */
extern NwPins *nw_pins_create(const List *settings);

/* True where all settings have the same values now. */
extern bool nw_pins_hold(const NwPins *pins);

#endif /* NW_SETS_STEADY_H */
