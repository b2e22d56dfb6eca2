/*
 * What tests do that SQL cannot: damage pages, and run out of memory.
 *
 * For a server that is thrown away.  Nothing here is installed.
 */
#include "postgres.h"

#include <sys/resource.h>
#include <unistd.h>

#include "access/relation.h"
#include "fmgr.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(nwtest_flip);
PG_FUNCTION_INFO_V1(nwtest_poke);
PG_FUNCTION_INFO_V1(nwtest_limit_memory);

/* Lock the shared buffer that holds a byte of a relation. */
static char *
lock_byte(Relation rel, int64 offset, int length, Buffer *buffer)
{
	if (offset < 0 || length < 0 || offset % BLCKSZ + length > BLCKSZ ||
	    offset / BLCKSZ >= RelationGetNumberOfBlocks(rel))
		elog(ERROR, "no such bytes");
	*buffer = ReadBuffer(rel, offset / BLCKSZ);
	LockBuffer(*buffer, BUFFER_LOCK_EXCLUSIVE);
	return (char *) BufferGetPage(*buffer) + offset % BLCKSZ;
}

/*
 * flip(regclass, offset int8, mask int4) returns bool: change bits of a byte in
 * its shared buffer, unlogged and without making the page dirty.  Tells whether
 * PostgreSQL would still take the page if it read it from disk.
 */
Datum
nwtest_flip(PG_FUNCTION_ARGS)
{
	Relation rel = relation_open(PG_GETARG_OID(0), AccessShareLock);
	int64 offset = PG_GETARG_INT64(1);
	Buffer buffer;
	bool valid;

	*lock_byte(rel, offset, 1, &buffer) ^= (char) PG_GETARG_INT32(2);
	valid = PageIsVerifiedExtended(BufferGetPage(buffer), offset / BLCKSZ, 0);
	UnlockReleaseBuffer(buffer);
	relation_close(rel, AccessShareLock);
	PG_RETURN_BOOL(valid);
}

/* poke(regclass, offset int8, bytea) returns bytea: put bytes there, and return the old. */
Datum
nwtest_poke(PG_FUNCTION_ARGS)
{
	Relation rel = relation_open(PG_GETARG_OID(0), AccessShareLock);
	bytea *bytes = PG_GETARG_BYTEA_PP(2);
	int length = VARSIZE_ANY_EXHDR(bytes);
	bytea *old = palloc(VARHDRSZ + length);
	Buffer buffer;
	char *place = lock_byte(rel, PG_GETARG_INT64(1), length, &buffer);

	SET_VARSIZE(old, VARHDRSZ + length);
	memcpy(VARDATA(old), place, length);
	memcpy(place, VARDATA_ANY(bytes), length);
	UnlockReleaseBuffer(buffer);
	relation_close(rel, AccessShareLock);
	PG_RETURN_BYTEA_P(old);
}

/*
 * limit_memory(bytes int8): allow this process so many bytes of address space
 * more than it has now; below 0, any number.
 */
Datum
nwtest_limit_memory(PG_FUNCTION_ARGS)
{
	int64 more = PG_GETARG_INT64(0);
	struct rlimit limit;
	long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (file == NULL || fscanf(file, "%ld", &pages) != 1)
		elog(ERROR, "could not read /proc/self/statm");
	fclose(file);
	if (getrlimit(RLIMIT_AS, &limit) != 0)
		elog(ERROR, "getrlimit failed: %m");
	limit.rlim_cur = more < 0 ? limit.rlim_max : (rlim_t) pages * sysconf(_SC_PAGESIZE) + more;
	if (setrlimit(RLIMIT_AS, &limit) != 0)
		elog(ERROR, "setrlimit failed: %m");
	PG_RETURN_VOID();
}
