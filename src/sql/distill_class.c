/*
 * sql/distill_class.c
 *		Choose the prototypes of one class: rows drawn at random, centroids, or
 *		the rows closest to centroids.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "utils/memutils.h"

#include "math/elementary.h"
#include "math/kmeans.h"
#include "math/random.h"
#include "math/simd/simd.h"
#include "sql/distill_class.h"

/* Let a cancelled statement end. */
static void
check_interrupts(void *arg)
{
	(void) arg;
	CHECK_FOR_INTERRUPTS();
}

/* Complain that the memory at hand does not do. */
void
nw_distill_report_memory(const char *detail)
{
	ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
	                errmsg("distilling needs more memory than maintenance_work_mem"),
	                errdetail("%s", detail), errhint("Raise maintenance_work_mem.")));
}

/* Insist that what is about to be allocated stays within the bound. */
static void
check_memory(const NwDistillTask *task, Size more)
{
	Size need = add_size(nw_support_memory(task->support), more);
	Size bound = (Size) maintenance_work_mem * 1024;

	if (need > bound)
		nw_distill_report_memory(psprintf("It needs at least %zu kB, and may take %d kB.",
		                                  need / 1024, maintenance_work_mem));
}

/*
 * Point to the vectors of some rows; where the kernel compares directions, to
 * copies of length 1.
 */
static const float **
row_vectors(const NwDistillTask *task, const int64 *rows, int n)
{
	const NwSupport *support = task->support;
	const float **vector;
	float *copy;

	vector = palloc_extended(sizeof(float *) * n, MCXT_ALLOC_HUGE);
	if (!nw_kernel_needs_norms(support->kernel))
	{
		for (int i = 0; i < n; i++)
			vector[i] = nw_support_vector(support, rows[i]);
		return vector;
	}
	check_memory(task, mul_size(n, sizeof(float) * support->dim));
	copy = palloc_extended(sizeof(float) * support->dim * n, MCXT_ALLOC_HUGE);
	for (int i = 0; i < n; i++)
	{
		int place;
		const NwChunk *chunk = nw_support_locate(support, rows[i], &place);
		const float *x = chunk->x + (Size) place * support->dim;

		for (int j = 0; j < support->dim; j++)
			copy[j] = (float) (x[j] * chunk->norm[place]);
		vector[i] = copy;
		copy += support->dim;
	}
	return vector;
}

static double
row_weight(const NwSupport *support, int64 row)
{
	int place;
	const NwChunk *chunk = nw_support_locate(support, row, &place);

	return chunk->log_weight ? nw_exp(chunk->log_weight[place]) : 1;
}

/* Make room for the prototypes of a class. */
static NwClassPrototypes *
make_prototypes(const NwDistillTask *task, int k)
{
	NwClassPrototypes *result = palloc0(sizeof(NwClassPrototypes));

	result->x = palloc_extended(sizeof(float) * k * task->support->dim, MCXT_ALLOC_HUGE);
	result->members = palloc0(sizeof(int64) * k);
	result->weight = palloc0(sizeof(double) * k);
	result->row = palloc(sizeof(int64) * k);
	return result;
}

/* Count a row as a member of a prototype. */
static void
add_member(const NwDistillTask *task, NwClassPrototypes *prototypes, int which, int64 row)
{
	prototypes->members[which]++;
	if (task->by_members)
	{
		prototypes->weight[which] += row_weight(task->support, row);
		if (isinf(prototypes->weight[which]))
			ereport(
				ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			     errmsg(
					 "the weights of a prototype's members add up to more than double precision holds"),
			     errhint(
					 "Weights are relative: divide all of them by a large number, or pass weights => 'equal'.")));
	}
	else
		prototypes->weight[which] = 1;
}

/* Make a real row a prototype. */
static void
take_row(const NwDistillTask *task, NwClassPrototypes *prototypes, int which, int64 row)
{
	memcpy(prototypes->x + (Size) which * task->support->dim, nw_support_vector(task->support, row),
	       sizeof(float) * task->support->dim);
	prototypes->row[which] = row;
}

/* Find the row of the least distance to a point among those not yet taken. */
static int
closest_row(const float *const *vector, int n, int dim, const float *point, const bool *taken)
{
	double *q = palloc(sizeof(double) * dim);
	double least = DBL_MAX;
	int closest = -1;

	for (int j = 0; j < dim; j++)
		q[j] = point[j];
	for (int i = 0; i < n; i++)
	{
		double square;

		if (taken && taken[i])
			continue;
		nw_simd->sqdist(q, vector[i], dim, 1, &square);
		if (square < least)
		{
			least = square;
			closest = i;
		}
		if (i % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	pfree(q);
	return closest;
}

/*
 * Find the drawn row that is closest to a row; of equals the one with the
 * fewest members so far, so that rows drawn twice over share theirs.
 */
static int
closest_drawn(const NwClassPrototypes *drawn, const double *square)
{
	int best = 0;

	for (int c = 1; c < drawn->n; c++)
	{
		if (square[c] < square[best] ||
		    (square[c] == square[best] && drawn->members[c] < drawn->members[best]))
			best = c;
	}
	return best;
}

/* Draw k rows, and give every row to the drawn one it is closest to. */
static NwClassPrototypes *
distill_random(const NwDistillTask *task, const int64 *rows, int n, const float *const *vector,
               uint64 seed)
{
	int k = Min(task->k, n);
	int dim = task->support->dim;
	NwClassPrototypes *result = make_prototypes(task, k);
	double *q = palloc_extended(sizeof(double) * k * dim, MCXT_ALLOC_HUGE);
	double *square = palloc(sizeof(double) * k);
	bool *drawn = palloc0(n);
	NwRandom random;

	nw_random_seed(&random, seed);
	for (int i = 0; i < n && result->n < k; i++)
	{
		if ((int64) nw_random_below(&random, n - i) < k - result->n)
		{
			for (int j = 0; j < dim; j++)
				q[(Size) result->n * dim + j] = vector[i][j];
			drawn[i] = true;
			add_member(task, result, result->n, rows[i]);
			take_row(task, result, result->n++, rows[i]);
		}
	}
	for (int i = 0; i < n; i++)
	{
		if (!drawn[i])
		{
			nw_simd->sqdist_block(q, k, vector[i], dim, 1, square);
			add_member(task, result, closest_drawn(result, square), rows[i]);
		}
		if (i % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	return result;
}

/* Cluster the rows; replace centroids by real rows where asked to. */
static NwClassPrototypes *
distill_cluster(const NwDistillTask *task, const int64 *rows, int n, const float *const *vector,
                uint64 seed)
{
	int dim = task->support->dim;
	int k = Min(task->k, n);
	NwKmeans kmeans = {.n = n,
	                   .dim = dim,
	                   .k = k,
	                   .restarts = task->restarts,
	                   .max_iterations = NW_KMEANS_ITERATIONS,
	                   .seed = seed,
	                   .spherical = nw_kernel_needs_norms(task->support->kernel),
	                   .interrupt = check_interrupts};
	Size work_size = nw_kmeans_memory(&kmeans);
	NwClassPrototypes *result = make_prototypes(task, k);
	int *assignment = palloc_extended(sizeof(int) * n, MCXT_ALLOC_HUGE);
	int *members = palloc(sizeof(int) * k);
	int *kept = palloc(sizeof(int) * k);
	bool *taken = palloc0(n);
	void *work;

	check_memory(task, work_size);
	work = palloc_extended(work_size, MCXT_ALLOC_HUGE);
	(void) nw_kmeans(&kmeans, vector, work, result->x, assignment, members);
	pfree(work);

	/* fewer distinct rows than clusters leave clusters without members */
	for (int c = 0; c < k; c++)
	{
		kept[c] = members[c] > 0 ? result->n++ : -1;
		if (kept[c] >= 0 && kept[c] != c)
			memcpy(result->x + (Size) kept[c] * dim, result->x + (Size) c * dim,
			       sizeof(float) * dim);
	}
	for (int i = 0; i < n; i++)
		add_member(task, result, kept[assignment[i]], rows[i]);
	for (int c = 0; c < result->n; c++)
	{
		result->row[c] = -1;
		if (task->mode == NW_DISTILL_CLOSEST)
		{
			int i = closest_row(vector, n, dim, result->x + (Size) c * dim, taken);

			taken[i] = true;
			take_row(task, result, c, rows[i]);
		}
	}
	return result;
}

/* Distill some rows of one class. */
NwClassPrototypes *
nw_distill_class(const NwDistillTask *task, int class, const int64 *rows, int n)
{
	NwBytes label = task->support->labels->text[class];
	uint64 key = hash_bytes_extended((const unsigned char *) label.data, label.len, 0);
	uint64 seed = nw_random_derive((uint64) task->seed, key);
	const float **vector = row_vectors(task, rows, n);

	return task->mode == NW_DISTILL_RANDOM ? distill_random(task, rows, n, vector, seed)
	                                       : distill_cluster(task, rows, n, vector, seed);
}
