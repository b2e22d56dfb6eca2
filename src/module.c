/*
 * module.c
 *		Load the module: settings, hooks, and the arithmetic for this CPU.
 */
#include "postgres.h"

#include <limits.h>

#include "fmgr.h"
#include "utils/guc.h"
#include "utils/inval.h"

#include "index/other_extensions.h"
#include "index/usable.h"
#include "math/simd/simd.h"
#include "predict/statement_cache.h"
#include "sets/own_tables.h"
#include "sets/pgvector.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

/* The values of nwhead.engine. */
static const struct config_enum_entry engines[] = {{"auto", NW_ENGINE_AUTO, false},
                                                   {"executor", NW_ENGINE_EXECUTOR, false},
                                                   {"index", NW_ENGINE_INDEX, false},
                                                   {NULL, 0, false}};

/* Tell everyone that a relation has changed: the server has few such slots. */
static void
relation_changed(Datum arg, Oid relid)
{
	(void) arg;
	nw_cache_relation_changed(relid);
	nw_other_extensions_relation_changed();
}

/* Define settings and install hooks, once for each backend. */
void
_PG_init(void)
{
	DefineCustomIntVariable(
		"nwhead.statement_cache",
		"Sets the memory in which one statement keeps support rows between predictions.",
		"Supports that need more are read again for each prediction; 0 turns the cache off.",
		&nw_statement_cache, 256 * 1024, 0, MAX_KILOBYTES, PGC_USERSET, GUC_UNIT_KB, NULL, NULL,
		NULL);
	DefineCustomEnumVariable(
		"nwhead.engine", "Chooses how predictions read the rows of a set.",
		"\"auto\" takes an nw index that covers the set where that is likely to be faster; \"index\" takes it wherever it may be used, \"executor\" never.",
		&nw_engine, NW_ENGINE_AUTO, engines, PGC_USERSET, 0, NULL, NULL, NULL);
	MarkGUCPrefixReserved("nwhead");

	nw_simd_init();
	nw_vector_init();
	nw_own_init();
	nw_cache_init();
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
}
