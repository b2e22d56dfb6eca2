/*
 * test_kmeans.c
 *		k-means: a fixed point of Lloyd's iteration, good enough, and the same
 *		on every implementation.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "math/kmeans.h"
#include "math/random.h"
#include "math/simd/simd.h"
#include "simd_names.h"

/* A task with its rows and results, all of exact size. */
typedef struct Problem
{
	NwKmeans task;
	float *x; /* [n][dim] */
	const float **row;
	void *work;
	float *centroid;
	int *assignment;
	int *members;
	double inertia;
} Problem;

static int interrupts;

/* Count calls. */
static void
count_interrupt(void *arg)
{
	(void) arg;
	interrupts++;
}

/* Make room for a task. */
static Problem
make(int n, int dim, int k)
{
	Problem p = {.task = {.n = n,
	                      .dim = dim,
	                      .k = k,
	                      .restarts = NW_KMEANS_RESTARTS,
	                      .max_iterations = NW_KMEANS_ITERATIONS,
	                      .interrupt = count_interrupt}};

	p.x = check_alloc(sizeof(float) * n * dim);
	p.row = check_alloc(sizeof(float *) * n);
	/* rows need not be in a row */
	for (int i = 0; i < n; i++)
		p.row[i] = p.x + (size_t) (n - 1 - i) * dim;
	p.work = check_alloc(nw_kmeans_memory(&p.task));
	p.centroid = check_alloc(sizeof(float) * k * dim);
	p.assignment = check_alloc(sizeof(int) * n);
	p.members = check_alloc(sizeof(int) * k);
	return p;
}

/* Give the room back. */
static void
drop(Problem *p)
{
	free(p->members);
	free(p->assignment);
	free(p->centroid);
	free(p->work);
	free(p->row);
	free(p->x);
}

/* Run a task, on memory that holds rubbish. */
static void
run(Problem *p)
{
	memset(p->work, 0x5a, nw_kmeans_memory(&p->task));
	memset(p->assignment, 0x5a, sizeof(int) * p->task.n);
	p->inertia = nw_kmeans(&p->task, p->row, p->work, p->centroid, p->assignment, p->members);
}

/* The squared distance of a row to a centroid. */
static double
sqdist(const Problem *p, int i, int c)
{
	double sum = 0;

	for (int j = 0; j < p->task.dim; j++)
	{
		double diff = (double) p->row[i][j] - p->centroid[c * p->task.dim + j];

		sum += diff * diff;
	}
	return sum;
}

/* Check what holds of every result. */
static void
check_result(const Problem *p)
{
	int n = p->task.n;
	int dim = p->task.dim;
	int k = p->task.k;
	int *count = check_alloc(sizeof(int) * k);
	double *mean = check_alloc(sizeof(double) * dim);
	double inertia = 0;

	memset(count, 0, sizeof(int) * k);
	for (int i = 0; i < n; i++)
	{
		int own = p->assignment[i];

		CHECK(own >= 0 && own < k, "row %d in cluster %d", i, own);
		if (own < 0 || own >= k)
			continue;
		count[own]++;
		inertia += sqdist(p, i, own);
		/* no centroid is nearer than the row's own */
		for (int c = 0; c < k; c++)
			CHECK(sqdist(p, i, own) <= sqdist(p, i, c) * (1 + 1e-5) + 1e-9,
			      "row %d: %g to its own %d, %g to %d", i, sqdist(p, i, own), own, sqdist(p, i, c),
			      c);
	}
	CHECK(memcmp(count, p->members, sizeof(int) * k) == 0, "n %d k %d", n, k);
	CHECK(fabs(inertia - p->inertia) <= 1e-5 * inertia + 1e-9, "%g, not %g", p->inertia, inertia);

	for (int c = 0; c < k; c++)
	{
		double length = 0;

		if (count[c] == 0)
			continue;
		memset(mean, 0, sizeof(double) * dim);
		for (int i = 0; i < n; i++)
		{
			for (int j = 0; j < dim && p->assignment[i] == c; j++)
				mean[j] += (double) p->row[i][j] / count[c];
		}
		for (int j = 0; j < dim; j++)
			length += mean[j] * mean[j];
		for (int j = 0; j < dim; j++)
		{
			double expected = p->task.spherical && length > 0 ? mean[j] / sqrt(length) : mean[j];

			CHECK(fabs(p->centroid[c * dim + j] - expected) <= FLT_EPSILON * fabs(expected) + 1e-9,
			      "cluster %d, %g, not %g", c, p->centroid[c * dim + j], expected);
		}
	}
	free(mean);
	free(count);
}

/* Fill rows around a number of centres. */
static void
fill(Problem *p, int centres, double noise)
{
	double *centre = check_alloc(sizeof(double) * centres * p->task.dim);

	for (int j = 0; j < centres * p->task.dim; j++)
		centre[j] = check_uniform(-1, 1);
	for (int i = 0; i < p->task.n; i++)
	{
		int c = check_below(centres);
		double length = 0;
		float *x = p->x + (size_t) i * p->task.dim;

		for (int j = 0; j < p->task.dim; j++)
		{
			x[j] = (float) (centre[c * p->task.dim + j] + check_uniform(-noise, noise));
			length += (double) x[j] * x[j];
		}
		for (int j = 0; j < p->task.dim && p->task.spherical; j++)
			x[j] = (float) (x[j] / sqrt(length));
	}
	free(centre);
}

/* Cluster rows of one size: checked, and the same for every implementation. */
static void
check_size(int n, int dim, int k, bool spherical, int centres, double noise)
{
	Problem p = make(n, dim, k);
	Problem other = make(n, dim, k);

	p.task.spherical = other.task.spherical = spherical;
	p.task.seed = other.task.seed = check_random();
	fill(&p, centres, noise);
	memcpy(other.x, p.x, sizeof(float) * n * dim);

	nw_simd_init();
	run(&p);
	check_result(&p);
	for (int i = 0; i < SIMD_COUNT; i++)
	{
		if (nw_simd_find(simd_names[i]) == NULL)
			continue;
		nw_simd = nw_simd_find(simd_names[i]);
		run(&other);
		CHECK(memcmp(&p.inertia, &other.inertia, sizeof(double)) == 0 &&
		          memcmp(p.centroid, other.centroid, sizeof(float) * k * dim) == 0 &&
		          memcmp(p.assignment, other.assignment, sizeof(int) * n) == 0,
		      "%s, n %d dim %d k %d", simd_names[i], n, dim, k);
	}
	nw_simd_init();
	drop(&other);
	drop(&p);
}

/* Find clusters that are far apart. */
static void
check_separate(void)
{
	Problem p = make(500, 5, 8);

	for (int round = 0; round < 20; round++)
	{
		bool used[8] = {false};
		int of_row[500];

		for (int i = 0; i < 500; i++)
		{
			of_row[i] = i % 8;
			for (int j = 0; j < 5; j++)
				p.x[i * 5 + j] =
					(j < 3 && (i % 8 >> j & 1) != 0 ? 100.0f : 0) + (float) check_uniform(-1, 1);
		}
		p.task.seed = (uint64_t) round;
		p.task.restarts = 1;
		run(&p);
		check_result(&p);
		for (int i = 0; i < 500; i++)
		{
			/* rows were given in reverse */
			int first = 499 - of_row[499 - i];

			CHECK(p.assignment[i] == p.assignment[first], "row %d", i);
			used[p.assignment[i]] = true;
		}
		for (int c = 0; c < 8; c++)
			CHECK(used[c] && p.members[c] >= 62, "cluster %d: %d", c, p.members[c]);
	}
	drop(&p);
}

/* Compare the only centroid with the mean in long double. */
static void
check_mean(void)
{
	for (int n = 1; n <= 3000; n = 3 * n + 1)
	{
		Problem p = make(n, 7, 1);

		for (int i = 0; i < n * 7; i++)
			p.x[i] = (float) check_uniform(-1, 1) * (i % 7 == 3 && n > 1 ? 1e6f : 1.0f);
		run(&p);
		for (int j = 0; j < 7; j++)
		{
			long double sum = 0;

			for (int i = 0; i < n; i++)
				sum += p.x[i * 7 + j];
			CHECK(p.centroid[j] == (float) (sum / n), "n %d: %a, not %La", n, p.centroid[j],
			      sum / n);
		}
		CHECK(p.members[0] == n, "n %d", n);
		drop(&p);
	}
}

/* Cluster fewer rows, or fewer distinct rows, than clusters. */
static void
check_few(void)
{
	Problem p = make(3, 2, 5);
	int used = 0;

	for (int i = 0; i < 6; i++)
		p.x[i] = (float) i;
	run(&p);
	CHECK(p.inertia == 0, "%g", p.inertia);
	for (int c = 0; c < 5; c++)
	{
		CHECK(p.members[c] == (c < 3), "cluster %d", c);
		CHECK(memcmp(p.centroid + c * 2, p.row[c < 3 ? c : 2], sizeof(float) * 2) == 0,
		      "cluster %d", c);
	}
	for (int i = 0; i < 3; i++)
		CHECK(p.assignment[i] == i, "row %d", i);
	drop(&p);

	/* three distinct rows, a hundred times each, for seven clusters */
	p = make(300, 2, 7);
	for (int i = 0; i < 300; i++)
	{
		p.x[2 * i] = (float) (i % 3);
		p.x[2 * i + 1] = 1;
	}
	run(&p);
	check_result(&p);
	CHECK(p.inertia == 0, "%g", p.inertia);
	for (int c = 0; c < 7; c++)
	{
		float x = p.centroid[c * 2];

		used += p.members[c] > 0;
		CHECK(p.members[c] == 0 || p.members[c] == 100, "%d", p.members[c]);
		CHECK((x == 0 || x == 1 || x == 2) && p.centroid[c * 2 + 1] == 1, "%g", x);
	}
	CHECK(used == 3, "%d", used);

	/* as many distinct rows as clusters: each has one */
	for (int i = 0; i < 300; i++)
		p.x[2 * i] = (float) (i % 7);
	for (uint64_t seed = 0; seed < 50; seed++)
	{
		p.task.seed = seed;
		run(&p);
		for (int c = 0; c < 7; c++)
			CHECK(p.members[c] == 42 || p.members[c] == 43, "%d", p.members[c]);
	}

	/* opposite unit rows have no mean direction */
	p.task.spherical = true;
	for (int i = 0; i < 300; i++)
	{
		p.x[2 * i] = i % 2 == 0 ? 1.0f : -1.0f;
		p.x[2 * i + 1] = 0;
	}
	p.task.k = 1;
	run(&p);
	CHECK(p.centroid[0] == 0 && p.centroid[1] == 0, "%g", p.centroid[0]);
	CHECK(p.inertia == 300, "%g", p.inertia);
	drop(&p);
}

/* More restarts never harm, the seed decides, interrupts are offered. */
static void
check_restarts(void)
{
	Problem p = make(2000, 16, 9);
	double first;
	double previous = HUGE_VAL;

	fill(&p, 30, 0.3);
	interrupts = 0;
	for (int restarts = 1; restarts <= 8; restarts++)
	{
		p.task.restarts = restarts;
		run(&p);
		CHECK(p.inertia <= previous, "%g after %g", p.inertia, previous);
		previous = p.inertia;
	}
	CHECK(interrupts > 10, "%d", interrupts);

	p.task.restarts = 1;
	p.task.interrupt = NULL;
	run(&p);
	first = p.inertia;
	run(&p);
	CHECK(p.inertia == first, "the same seed");
	p.task.seed++;
	run(&p);
	CHECK(p.inertia != first, "another seed");
	check_result(&p);

	/* iterations end where asked, with means all the same */
	p.task.max_iterations = 1;
	run(&p);
	CHECK(p.inertia > 0 && isfinite(p.inertia), "%g", p.inertia);
	drop(&p);
}

/* Check the random numbers. */
static void
check_numbers(void)
{
	NwRandom a;
	NwRandom b;
	int count[10] = {0};
	double sum = 0;

	nw_random_seed(&a, 42);
	nw_random_seed(&b, 42);
	for (int i = 0; i < 1000; i++)
		CHECK(nw_random_next(&a) == nw_random_next(&b), "number %d", i);
	nw_random_seed(&b, 43);
	CHECK(nw_random_next(&a) != nw_random_next(&b), "another seed");

	/* the published generator's first words for this state */
	a.state[0] = 1;
	a.state[1] = 2;
	a.state[2] = 3;
	a.state[3] = 4;
	CHECK(nw_random_next(&a) == UINT64_C(41943041), "first");
	CHECK(nw_random_next(&a) == UINT64_C(58720359), "second");
	CHECK(nw_random_next(&a) == UINT64_C(3588806011781223), "third");

	for (int i = 0; i < 100000; i++)
	{
		double u = nw_random_double(&b);

		CHECK(u >= 0 && u < 1, "%g", u);
		sum += u;
		count[nw_random_below(&b, 10)]++;
	}
	CHECK(fabs(sum / 100000 - 0.5) < 0.005, "%g", sum);
	for (int i = 0; i < 10; i++)
		CHECK(abs(count[i] - 10000) < 500, "%d: %d", i, count[i]);
	CHECK(nw_random_below(&b, 1) == 0, "of one");
	for (int i = 0; i < 100; i++)
		CHECK(nw_random_below(&b, (UINT64_C(1) << 63) + 1) <= UINT64_C(1) << 63, "of many");
	CHECK(nw_random_derive(0, 1) != nw_random_derive(1, 0) &&
	          nw_random_derive(0, 0) != nw_random_derive(0, 1),
	      "parts");
}

int
main(void)
{
	check_start("kmeans");
	nw_simd_init();
	check_numbers();
	check_size(2, 3, 1, false, 1, 1);
	check_size(3, 1, 2, false, 3, 1);
	check_size(50, 1, 7, false, 3, 1);
	check_size(300, 17, 10, false, 10, 0.2);
	check_size(300, 17, 10, true, 10, 0.2);
	check_size(1000, 3, 40, false, 5, 1);
	check_size(700, 128, 5, false, 20, 1);
	check_size(700, 128, 5, true, 1, 1);
	check_size(129, 300, 64, false, 3, 0.1);
	check_size(65, 5, 64, false, 3, 0.1);
	check_separate();
	check_mean();
	check_few();
	check_restarts();
	return check_finish();
}
