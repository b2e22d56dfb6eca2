/*
 * sql/shared_rows.c
 *		Find out whether queries are rows of the support, too.
 *
 * A query that is itself a support is its own best evidence, and what is measured
 * with such queries flatters.  Where the catalogs do not show that rows are shared, a
 * sample of the queries does: one pass over the support looks for their vectors, and
 * for their ids where the vectors are there.  Vectors are compared in half precision,
 * since a copy may have gone through a halfvec.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "math/half.h"
#include "math/random.h"
#include "sets/labels.h"
#include "sets/scan.h"
#include "sql/shared_rows.h"

/* Queries looked at. */
#define SAMPLE_ROWS 100

/* Under other ids, equal vectors are no accident where they are so many, and most. */
#define MANY_VECTORS 10

/* A distance that is 0 but for rounding. */
#define EQUAL_DISTANCE 1e-12

/* A query of the sample. */
typedef struct Drawn
{
	NwBytes vector; /* as bytes of half precision */
	NwBytes id;     /* no data where it is null */
} Drawn;

/* A sample of the queries, and what was found of it. */
typedef struct Sample
{
	MemoryContext mcxt;
	NwTextOut query_id_out;
	NwTextOut support_id_out;
	NwRandom random;
	int64 met;    /* queries */
	Drawn *query; /* [n] those drawn */
	int n;
	NwLabels *vectors; /* of the queries, numbered */
	NwLabels *rows;    /* ids and vectors of the queries, numbered */
	bool support_ids;  /* can be read */
	bool *met_vector;  /* [SAMPLE_ROWS] the support has it, too */
	bool *met_row;     /* [SAMPLE_ROWS] with the same id */
} Sample;

/* The bytes of a vector, in half precision. */
static NwBytes
vector_bytes(NwVectorData vector)
{
	float *x = palloc(vector.dim * sizeof(float));

	for (int i = 0; i < vector.dim; i++)
		x[i] = nw_half_round(vector.x[i]);
	return (NwBytes) {(const char *) x, (int) (vector.dim * sizeof(float))};
}

/* The bytes of a row: its id, and behind it its vector. */
static NwBytes
row_bytes(NwBytes id, NwBytes vector)
{
	char *row = palloc(id.len + 1 + vector.len);

	memcpy(row, id.data, id.len);
	row[id.len] = '\0';
	memcpy(row + id.len + 1, vector.data, vector.len);
	return (NwBytes) {row, id.len + 1 + vector.len};
}

/* Let a query take the place of one of the sample, so that each is as likely to be in it. */
static void
sample_query(const NwRow *row, void *arg)
{
	Sample *sample = arg;
	Drawn *query;
	MemoryContext caller;
	uint64 place = sample->n;

	if (sample->met++ >= SAMPLE_ROWS)
		place = nw_random_below(&sample->random, (uint64) sample->met);
	if (place >= SAMPLE_ROWS)
		return;
	query = &sample->query[place];
	caller = MemoryContextSwitchTo(sample->mcxt);
	if ((int) place < sample->n)
	{
		pfree(unconstify(char *, query->vector.data));
		if (query->id.data)
			pfree(unconstify(char *, query->id.data));
	}
	else
		sample->n++;
	query->vector = vector_bytes(row->vector);
	query->id = (NwBytes) {NULL, 0};
	if (!row->id_isnull)
	{
		NwBytes id = nw_text_out(&sample->query_id_out, row->id);

		query->id = (NwBytes) {nw_bytes_copy(sample->mcxt, id), id.len};
	}
	MemoryContextSwitchTo(caller);
}

/* Number the vectors and rows of the sample, to look them up. */
static void
number_sample(Sample *sample)
{
	for (int i = 0; i < sample->n; i++)
	{
		const Drawn *query = &sample->query[i];

		(void) nw_labels_add_text(sample->vectors, query->vector);
		if (query->id.data)
			(void) nw_labels_add_text(sample->rows, row_bytes(query->id, query->vector));
	}
}

/* Look for a support in the sample. */
static void
look_for_support(const NwRow *row, void *arg)
{
	Sample *sample = arg;
	NwBytes vector = vector_bytes(row->vector);
	int place = nw_labels_find_text(sample->vectors, vector);

	if (place < 0)
		return;
	sample->met_vector[place] = true;
	if (!sample->support_ids || row->id_isnull)
		return;
	place = nw_labels_find_text(sample->rows,
	                            row_bytes(nw_text_out(&sample->support_id_out, row->id), vector));
	if (place >= 0)
		sample->met_row[place] = true;
}

static int
count(const bool *met)
{
	int n = 0;

	for (int i = 0; i < SAMPLE_ROWS; i++)
		n += met[i];
	return n;
}

/* Say whether there is a column that the caller may read. */
static bool
may_read(const NwSource *source, const char *column)
{
	return column && (pg_class_aclcheck(source->relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK ||
	                  pg_attribute_aclcheck(source->relid, get_attnum(source->relid, column),
	                                        GetUserId(), ACL_SELECT) == ACLCHECK_OK);
}

/*
 * Look for a sample of the queries in a support, as far as the caller may read it.  The
 * places of rows (ctid) name none of another table.
 */
NwShared
nw_shared_rows(const NwSource *support, const NwSource *queries)
{
	MemoryContext mcxt =
		AllocSetContextCreate(CurrentMemoryContext, "nwhead sample", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(mcxt);
	Sample sample = {.mcxt = mcxt,
	                 .query = palloc(SAMPLE_ROWS * sizeof(Drawn)),
	                 .vectors = nw_labels_create(mcxt, TEXTOID),
	                 .rows = nw_labels_create(mcxt, TEXTOID),
	                 .support_ids = may_read(support, support->id),
	                 .met_vector = palloc0(SAMPLE_ROWS * sizeof(bool)),
	                 .met_row = palloc0(SAMPLE_ROWS * sizeof(bool))};
	NwShared shared;

	nw_text_out_init(&sample.query_id_out, queries->id_type, mcxt);
	nw_text_out_init(&sample.support_id_out, support->id_type, mcxt);
	nw_random_seed(&sample.random, 0);
	nw_scan_run(nw_scan_plan(queries, NW_SCAN_ID, 0), sample_query, &sample);
	number_sample(&sample);
	if (sample.n > 0 && may_read(support, support->embedding) && may_read(support, support->label))
		nw_scan_run(nw_scan_plan(support, NW_SCAN_LABEL | (sample.support_ids ? NW_SCAN_ID : 0), 0),
		            look_for_support, &sample);
	shared = (NwShared) {sample.n, count(sample.met_row), count(sample.met_vector)};
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(mcxt);
	return shared;
}

/* Say whether queries are so often at the place of a support that they are copies of some. */
bool
nw_shared_are_copies(const NwShared *shared)
{
	return shared->vectors >= MANY_VECTORS && shared->vectors > shared->sampled / 2;
}

/* Warn where a sample of the queries shows that they are rows of the support, too. */
void
nw_warn_of_shared_rows(const NwSource *support, const NwSource *queries, const NwShared *shared)
{
	if (shared->rows > 0)
		ereport(WARNING,
		        (errmsg("queries of set \"%s\" are probably rows of set \"%s\", too",
		                queries->set->name, support->set->name),
		         errdetail_plural("%d of %d queries looked at has id and embedding of a support.",
		                          "%d of %d queries looked at have id and embedding of a support.",
		                          shared->rows, shared->rows, shared->sampled),
		         errhint("Pass leave_one_out => true to answer each without itself, or "
		                 "leave_one_out => false if this is meant.")));
	else if (nw_shared_are_copies(shared))
		ereport(WARNING, (errmsg("queries of set \"%s\" are probably copies of rows of set \"%s\"",
		                         queries->set->name, support->set->name),
		                  errdetail("%d of %d queries looked at have the embedding of a support.",
		                            shared->vectors, shared->sampled),
		                  errhint("Evaluate on rows that the support does not have, or pass "
		                          "leave_one_out => false if this is meant.")));
}

/* The place of a support at no distance, among the heaviest; or -1. */
static int
find_equal(const NwTally *tally, const NwHeaviest *list)
{
	for (int i = 0; i < list->n; i++)
	{
		const NwHeavy *item = &list->item[i];

		/* a product is no distance */
		if (nw_tally_of_item(tally, item)->query.kernel != NW_DOT &&
		    nw_tally_distance(tally, item) < EQUAL_DISTANCE)
			return i;
	}
	return -1;
}

/*
 * Warn where the query is one of the supports that it is explained with: once for each
 * place in a statement, and not where the caller said which rows to leave out.
 */
void
nw_warn_of_own_row(FunctionCallInfo fcinfo, const NwCall *call, const NwTally *tally)
{
	const NwHeaviest *list = &tally->heaviest;
	const char *member;
	int place;

	if (fcinfo->flinfo->fn_extra || call->exclusive)
		return;
	place = find_equal(tally, list);
	if (place < 0)
	{
		list = &tally->heaviest_others;
		place = find_equal(tally, list);
	}
	if (place < 0 || list->item[place].id == NULL)
		return;
	fcinfo->flinfo->fn_extra = fcinfo->flinfo;
	member = nw_tally_member(tally, &list->item[place]);
	ereport(
		WARNING,
		(errmsg("query is probably a row of set \"%s\"", member ? member : call->support),
	     errdetail("The support with id \"%s\" is at distance 0.", list->item[place].id),
	     errhint(
			 "Pass exclude => ARRAY[id] to answer it without itself, or exclude => '{}' if this is meant.")));
}
