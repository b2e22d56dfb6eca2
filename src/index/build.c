/*
 * index/build.c
 *		Build an nw index.
 *
 * The table is read twice.  The first time classes are counted and rows are
 * sampled; the sample of each class is clustered, which gives the centres of
 * its lists.  The second time each row goes to the list of the nearest centre
 * of its class, through a sort by list; build_pages.c has the rest.
 */
#include "postgres.h"

#include <math.h>

#include "access/tableam.h"
#include "catalog/index.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"

#include "compat.h"
#include "grow.h"
#include "index/build.h"
#include "index/build_pages.h"
#include "index/definition.h"
#include "index/label_lookup.h"
#include "math/kmeans.h"
#include "math/simd/simd.h"

/* Rows of a sample that are enough for a list. */
#define SAMPLE_PER_LIST 64

#define CLUSTER_ITERATIONS 12

/* The class of a label. */
static int
class_of(NwBuild *build, Datum label)
{
	NwBytes image = nw_label_image(build->index, &build->label_out, &label);
	int class = nw_build_labels_add(build->labels, image);

	if (class >= build->class_allocated)
	{
		int old = build->class_allocated;

		build->class = nw_grow_little(build->mcxt, build->class, &build->class_allocated,
		                              (int64) class + 1, sizeof(NwBuildClass));
		memset(build->class + old, 0, (build->class_allocated - old) * sizeof(NwBuildClass));
		if (nw_build_labels_memory(build->labels) + build->class_allocated * sizeof(NwBuildClass) >
		    (Size) maintenance_work_mem * 1024)
			ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			                errmsg("labels of index \"%s\" do not fit in maintenance_work_mem",
			                       RelationGetRelationName(build->index)),
			                errhint("Raise maintenance_work_mem.")));
	}
	return class;
}

/* ---- first pass: count and sample ---- */

/* Count a row, and keep it in the sample or not. */
static void
sample_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *state)
{
	NwBuild *build = state;
	NwVectorData vector;
	MemoryContext old;
	int64 place = build->sampled;
	int class;

	(void) index;
	(void) tid;
	(void) alive;
	if (isnull[NW_INDEX_EMBEDDING] || isnull[NW_INDEX_LABEL])
		return;

	old = MemoryContextSwitchTo(build->row_mcxt);
	class = class_of(build, values[NW_INDEX_LABEL]);
	if (build->class[class].rows < PG_UINT32_MAX)
		build->class[class].rows++;
	build->seen++;
	if (place == build->sample_size)
		place = nw_random_below(&build->random, build->seen);
	else
		build->sampled++;
	if (place < build->sample_size)
	{
		(void) nw_index_vector(build->index, &build->layout, values[NW_INDEX_EMBEDDING], &vector);
		memcpy(build->sample + place * build->layout.dim, vector.x,
		       build->layout.dim * sizeof(float));
		build->sample_class[place] = class;
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(build->row_mcxt);
}

/* Read the table once to learn what classes it has. */
static void
sample_table(NwBuild *build)
{
	Size each = build->layout.dim * sizeof(float) + sizeof(int32);
	Size room = (Size) maintenance_work_mem * 1024 / 4;

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, NW_PHASE_SAMPLE);
	build->sample_size = (int) Max(Min(room / each, 1000000), 64);
	build->sample = palloc_extended((Size) build->sample_size * build->layout.dim * sizeof(float),
	                                MCXT_ALLOC_HUGE);
	build->sample_class =
		palloc_extended((Size) build->sample_size * sizeof(int32), MCXT_ALLOC_HUGE);
	nw_random_seed(&build->random, 0);
	(void) table_index_build_scan(build->heap, build->index, build->info, true, true, sample_row,
	                              build, NULL);
	for (int i = 0; i < build->sampled; i++)
		build->class[build->sample_class[i]].sampled++;
}

/* ---- lists ---- */

/* The most lists of a class that can be made in the memory there is. */
static uint32
most_lists(const NwBuild *build)
{
	uint32 least = 1;
	uint32 most = NW_LISTS_MAX;

	while (least < most)
	{
		uint32 middle = (least + most + 1) / 2;
		NwKmeans task = {.n = 2 * middle, .dim = build->layout.dim, .k = middle};

		if (nw_kmeans_memory(&task) <= (Size) maintenance_work_mem * 1024 / 4)
			least = middle;
		else
			most = middle - 1;
	}
	return least;
}

/* How many lists a class gets, the memory for all of them aside. */
static uint32
class_lists(const NwBuild *build, const NwBuildClass *class)
{
	int option = nw_index_lists_option(build->index);
	double wanted = option != NW_LISTS_AUTO ? option : rint(sqrt((double) class->rows) / 4);

	if (class->rows < NW_SMALL_CLASS || class->sampled == 0)
		return 0;
	wanted = Min(wanted, build->most_lists);
	return (uint32) Max(1, Min(wanted, class->sampled / 4));
}

/* Number the lists, within the memory there is for their centres. */
static void
plan_lists(NwBuild *build)
{
	Size each = build->layout.dim * sizeof(float) + sizeof(NwBuildList);
	Size room = (Size) maintenance_work_mem * 1024 / 4 / each;
	uint64 wanted = 0;
	double share;

	build->most_lists = most_lists(build);
	for (int i = 0; i < build->labels->n; i++)
		wanted += class_lists(build, &build->class[i]);
	share = Min(1.0, (double) room / Max(wanted, 1));

	build->nlists = 1;
	for (int i = 0; i < build->labels->n; i++)
	{
		NwBuildClass *class = &build->class[i];
		uint32 n = class_lists(build, class);

		class->nlists = n > 0 ? (uint32) Max(1, n * share) : 0;
		class->first_list = build->nlists;
		build->nlists += class->nlists;
	}
	build->list =
		palloc_extended(build->nlists * sizeof(NwBuildList), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	build->centre = palloc_extended((Size) build->nlists * build->layout.dim * sizeof(float),
	                                MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (uint32 i = 0; i < build->nlists; i++)
		build->list[i].data.norm_min = INFINITY;
}

/* Let a long clustering be interrupted. */
static void
check_interrupts(void *arg)
{
	(void) arg;
	CHECK_FOR_INTERRUPTS();
}

/* Cluster sampled rows of one class, which gives the centres of its lists. */
static void
cluster_class(NwBuild *build, int number, const float **row, int n)
{
	NwBuildClass *class = &build->class[number];
	NwKmeans task = {.n = n,
	                 .dim = build->layout.dim,
	                 .k = class->nlists,
	                 .restarts = 1,
	                 .max_iterations = CLUSTER_ITERATIONS,
	                 .seed = nw_random_derive(0, number),
	                 .interrupt = check_interrupts};
	Size room = (Size) maintenance_work_mem * 1024 / 4;
	float *centre = build->centre + (Size) class->first_list * build->layout.dim;
	void *work;
	int *assignment;
	int *members;

	/* a random part of the sample serves as well */
	task.n = Min(task.n, SAMPLE_PER_LIST * task.k);
	while (task.n > task.k && nw_kmeans_memory(&task) > room)
		task.n -= task.n / 8 + 1;
	task.n = Max(task.n, 1);
	work = palloc_extended(nw_kmeans_memory(&task), MCXT_ALLOC_HUGE);
	assignment = palloc_extended(task.n * sizeof(int), MCXT_ALLOC_HUGE);
	members = palloc(task.k * sizeof(int));
	(void) nw_kmeans(&task, row, work, centre, assignment, members);
	pfree(work);
	pfree(assignment);
	pfree(members);
}

/* Take the mean of the sample as the centre of the common list. */
static void
centre_common(NwBuild *build)
{
	int dim = build->layout.dim;

	memset(build->wide, 0, dim * sizeof(double));
	for (int i = 0; i < build->sampled; i++)
	{
		for (int j = 0; j < dim; j++)
			build->wide[j] += build->sample[(Size) i * dim + j];
	}
	for (int j = 0; j < dim && build->sampled > 0; j++)
		build->centre[j] = (float) (build->wide[j] / build->sampled);
}

/* Make the lists and their centres out of the sample. */
static void
cluster_sample(NwBuild *build)
{
	int dim = build->layout.dim;
	int nclasses = build->labels->n;
	int *start;
	const float **row;
	uint32 most = 1;

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, NW_PHASE_CLUSTER);
	plan_lists(build);
	build->wide = palloc(dim * sizeof(double));
	centre_common(build);

	/* gather the sampled rows of each class */
	start = palloc_extended(((Size) nclasses + 1) * sizeof(int), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	row = palloc_extended(Max(build->sampled, 1) * sizeof(float *), MCXT_ALLOC_HUGE);
	for (int i = 0; i < nclasses; i++)
		start[i + 1] = start[i] + build->class[i].sampled;
	for (int i = 0; i < build->sampled; i++)
		row[start[build->sample_class[i]]++] = build->sample + (Size) i * dim;
	for (int i = 0; i < nclasses; i++)
	{
		NwBuildClass *class = &build->class[i];

		for (uint32 k = 0; k < class->nlists; k++)
			build->list[class->first_list + k].data.class = i;
		if (class->nlists > 0)
			cluster_class(build, i, row + start[i] - class->sampled, class->sampled);
		most = Max(most, class->nlists);
	}
	build->distance = palloc(most * sizeof(double));
	pfree(row);
	pfree(start);
	pfree(build->sample);
	pfree(build->sample_class);
}

/* ---- second pass: assign and sort ---- */

/* Find the list of a row. */
static uint32
choose_list(NwBuild *build, int number, const float *x)
{
	const NwBuildClass *class = &build->class[number];
	uint32 best = 0;

	if (class->nlists == 0)
		return NW_COMMON_LIST;
	for (int j = 0; j < build->layout.dim; j++)
		build->wide[j] = x[j];
	nw_simd->sqdist(build->wide, build->centre + (Size) class->first_list * build->layout.dim,
	                build->layout.dim, class->nlists, build->distance);
	for (uint32 i = 1; i < class->nlists; i++)
	{
		if (build->distance[i] < build->distance[best])
			best = i;
	}
	return class->first_list + best;
}

/* Hand a row to the sort. */
static void
assign_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *state)
{
	NwBuild *build = state;
	TupleTableSlot *slot = build->slot;
	NwVectorData vector;
	MemoryContext old;
	const char *bytes;
	bytea *stored;
	uint32 list;
	int class;

	(void) index;
	(void) alive;
	if (isnull[NW_INDEX_EMBEDDING] || isnull[NW_INDEX_LABEL])
		return;

	old = MemoryContextSwitchTo(build->row_mcxt);
	class = class_of(build, values[NW_INDEX_LABEL]);
	bytes = nw_index_vector(build->index, &build->layout, values[NW_INDEX_EMBEDDING], &vector);
	list = choose_list(build, class, vector.x);
	build->list[list].rows++;
	build->rows++;
	stored = palloc(VARHDRSZ + build->layout.vector_size);
	SET_VARSIZE(stored, VARHDRSZ + build->layout.vector_size);
	memcpy(VARDATA(stored), bytes, build->layout.vector_size);

	ExecClearTuple(slot);
	slot->tts_values[0] = UInt32GetDatum(list);
	slot->tts_values[1] = PointerGetDatum(tid);
	slot->tts_values[2] = Int32GetDatum(class);
	slot->tts_values[3] = PointerGetDatum(stored);
	memset(slot->tts_isnull, 0, 4 * sizeof(bool));
	ExecStoreVirtualTuple(slot);
	tuplesort_puttupleslot(build->sort, slot);
	MemoryContextSwitchTo(old);
	MemoryContextReset(build->row_mcxt);
}

/* Begin the sort of rows by list. */
static void
begin_sort(NwBuild *build)
{
	/* by class, too: a search then goes through the common list in order */
	AttrNumber attributes[] = {1, 3};
	Oid less[] = {Int4LessOperator, Int4LessOperator};
	Oid collations[] = {InvalidOid, InvalidOid};
	bool nulls_first[] = {false, false};

	build->desc = CreateTemplateTupleDesc(4);
	TupleDescInitEntry(build->desc, 1, "list", INT4OID, -1, 0);
	TupleDescInitEntry(build->desc, 2, "tid", TIDOID, -1, 0);
	TupleDescInitEntry(build->desc, 3, "class", INT4OID, -1, 0);
	TupleDescInitEntry(build->desc, 4, "vector", BYTEAOID, -1, 0);
	TupleDescFinalize(build->desc);
	build->slot = MakeSingleTupleTableSlot(build->desc, &TTSOpsVirtual);
	build->sort = tuplesort_begin_heap(build->desc, 2, attributes, less, collations, nulls_first,
	                                   maintenance_work_mem / 2, NULL, TUPLESORT_NONE);
}

/* CREATE INDEX, REINDEX: fill an index that is empty. */
IndexBuildResult *
nw_index_build(Relation heap, Relation index, IndexInfo *info)
{
	IndexBuildResult *result = palloc0(sizeof(IndexBuildResult));
	NwBuild build = {.heap = heap, .index = index, .info = info};
	MemoryContext mcxt =
		AllocSetContextCreate(CurrentMemoryContext, "nwhead index build", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(mcxt);

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data", RelationGetRelationName(index));
	build.mcxt = mcxt;
	nw_index_describe(index, &build.layout);
	nw_text_out_init(&build.label_out, nw_index_label_type(index), mcxt);
	build.labels = nw_build_labels_create(mcxt);
	build.row_mcxt = AllocSetContextCreate(mcxt, "nwhead row", ALLOCSET_DEFAULT_SIZES);

	sample_table(&build);
	cluster_sample(&build);

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, NW_PHASE_ASSIGN);
	begin_sort(&build);
	result->heap_tuples =
		table_index_build_scan(heap, index, info, true, true, assign_row, &build, NULL);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, NW_PHASE_SORT);
	tuplesort_performsort(build.sort);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, NW_PHASE_WRITE);
	nw_index_write(&build);
	tuplesort_end(build.sort);
	ExecDropSingleTupleTableSlot(build.slot);
	result->index_tuples = build.rows;

	MemoryContextSwitchTo(old);
	MemoryContextDelete(mcxt);
	return result;
}
