/*
 * sets/extension.h
 *		Installed extensions, this one and others.
 */
#ifndef NW_SETS_EXTENSION_H
#define NW_SETS_EXTENSION_H

#include "postgres.h"

#include "fmgr.h"

/* The name of this extension. */
#define NW_EXTENSION "nwhead"

extern Oid nw_extension_schema(FunctionCallInfo fcinfo);
extern Oid nw_extension_find(const char *name, Oid *schema);

#endif /* NW_SETS_EXTENSION_H */
