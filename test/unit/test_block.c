/*
 * test_block.c
 *		Many queries at once: the bits of one query at a time.
 */
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "math/kernel.h"
#include "math/simd/scalar.h"
#include "math/simd/simd.h"
#include "simd_names.h"

/* Draw a float that is sometimes awkward. */
static float
random_float(void)
{
	switch (check_below(16))
	{
		case 0:
			return check_below(2) == 0 ? 0.0f : -0.0f;
		case 1:
			return (float) (check_uniform(-1, 1) * 1e-42); /* subnormal */
		case 2:
			return (float) (check_uniform(-1, 1) * 3e38);
		default:
			return (float) check_uniform(-2, 2);
	}
}

/* Compare the blocks of one implementation with the plain single queries. */
static void
compare(const NwSimd *simd, const double *q, int nq, const float *x, const double *scale, int dim,
        int n)
{
	const NwSimd *plain = &nw_simd_scalar;
	double *expected = check_alloc(sizeof(double) * nq * n);
	double *got = check_alloc(sizeof(double) * nq * n);
	size_t size = sizeof(double) * nq * n;

	for (int i = 0; i < nq; i++)
		plain->sqdist(q + (size_t) i * dim, x, dim, n, expected + i * n);
	simd->sqdist_block(q, nq, x, dim, n, got);
	CHECK(memcmp(got, expected, size) == 0, "%s sqdist %d: %d x %d", simd->name, dim, nq, n);

	for (int i = 0; i < nq; i++)
		plain->sqdist_scaled(q + (size_t) i * dim, x, scale, dim, n, expected + i * n);
	simd->sqdist_scaled_block(q, nq, x, scale, dim, n, got);
	CHECK(memcmp(got, expected, size) == 0, "%s sqdist_scaled %d: %d x %d", simd->name, dim, nq, n);

	for (int i = 0; i < nq; i++)
		plain->dot(q + (size_t) i * dim, x, dim, n, expected + i * n);
	simd->dot_block(q, nq, x, dim, n, got);
	CHECK(memcmp(got, expected, size) == 0, "%s dot %d: %d x %d", simd->name, dim, nq, n);

	free(got);
	free(expected);
}

/* Compare all implementations on random rows of one size. */
static void
compare_all(int dim, int nq, int n)
{
	/* one float in front: rows are aligned to 4 bytes and no more */
	float *space = check_alloc(sizeof(float) * ((size_t) n * dim + 1));
	double *q = check_alloc(sizeof(double) * nq * dim);
	double *scale = check_alloc(sizeof(double) * n);

	for (int i = 0; i < n * dim + 1; i++)
		space[i] = random_float();
	for (int j = 0; j < nq * dim; j++)
		q[j] = check_below(4) == 0 ? check_uniform(-1, 1) : random_float();
	for (int i = 0; i < n; i++)
		scale[i] = check_below(8) == 0 ? 0 : check_uniform(0, 3);

	for (int k = 0; k < SIMD_COUNT; k++)
	{
		const NwSimd *simd = nw_simd_find(simd_names[k]);

		if (simd != NULL)
			compare(simd, q, nq, space + 1, scale, dim, n);
	}

	free(scale);
	free(q);
	free(space);
}

/*
 * Read rows and queries that end where readable memory ends: a sanitizer does
 * not see what a masked load reads, the hardware does.
 */
static void
compare_at_end_of_memory(void)
{
	size_t page = (size_t) sysconf(_SC_PAGESIZE);
	size_t size = 8 * page;
	char *x_space =
		mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *q_space =
		mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(x_space != MAP_FAILED && q_space != MAP_FAILED, "mmap");
	if (x_space == MAP_FAILED || q_space == MAP_FAILED)
		return;
	CHECK(mprotect(x_space + size, page, PROT_NONE) == 0, "mprotect");
	CHECK(mprotect(q_space + size, page, PROT_NONE) == 0, "mprotect");

	for (int dim = 1; dim <= 270; dim += dim < 40 ? 1 : 23)
	{
		for (int m = 1; m <= 5; m++)
		{
			float *x = (float *) (x_space + size) - dim * m;
			double *q = (double *) (q_space + size) - dim * m;
			double scale[5] = {1, 0.5, 2, 0.25, 3};

			for (int i = 0; i < dim * m; i++)
			{
				x[i] = random_float();
				q[i] = random_float();
			}
			for (int k = 0; k < SIMD_COUNT; k++)
			{
				const NwSimd *simd = nw_simd_find(simd_names[k]);

				if (simd != NULL)
					compare(simd, q, m, x, scale, dim, m);
			}
		}
	}

	munmap(x_space, size + page);
	munmap(q_space, size + page);
}

/* Padding must not turn lanes of -0 into 0. */
static void
compare_negative_zero(void)
{
	double q[3 * 40];
	float x[3 * 40];
	double scale[3] = {1, 1, 1};

	for (int j = 0; j < 3 * 40; j++)
	{
		q[j] = -1e-300;
		x[j] = 1e-45f;
	}
	for (int dim = 1; dim <= 40; dim++)
	{
		for (int k = 0; k < SIMD_COUNT; k++)
		{
			const NwSimd *simd = nw_simd_find(simd_names[k]);

			if (simd != NULL)
				compare(simd, q, 3, x, scale, dim, 3);
		}
	}
}

/* Measure many queries as one by one, for every kernel. */
static void
compare_measures(void)
{
	enum
	{
		dim = 37,
		nq = 9,
		n = 21
	};
	static const NwKernel kernels[] = {NW_EUCLIDEAN, NW_GAUSSIAN, NW_HYPERSPHERE, NW_COSINE,
	                                   NW_DOT};
	float x[n * dim];
	float queries[nq * dim];
	double q[nq * dim];
	double sqnorm[nq];
	double norm[n];
	double expected[nq * n];
	double got[nq * n];

	for (int i = 0; i < n * dim; i++)
		x[i] = i / dim == 3 ? 0 : (float) check_uniform(-1, 1);
	for (int i = 0; i < nq * dim; i++)
		queries[i] = i / dim == 2 ? 0 : (float) check_uniform(-1, 1);
	/* a query that is a row: its cosine may be rounded above 1 */
	memcpy(queries, x, sizeof(float) * dim);

	for (int k = 0; k < 5; k++)
	{
		nw_row_norms(kernels[k], x, dim, n, norm);
		for (int i = 0; i < nq; i++)
		{
			NwQuery query;

			nw_query_init(&query, kernels[k], 0.5, queries + i * dim, dim, q + i * dim);
			sqnorm[i] = query.sqnorm;
			nw_query_measure(&query, x, norm, n, expected + i * n);
		}
		nw_query_measure_block(kernels[k], q, sqnorm, nq, dim, x, norm, n, got);
		CHECK(memcmp(got, expected, sizeof(got)) == 0, "%s, %s", nw_simd->name,
		      nw_kernel_name(kernels[k]));
	}
}

int
main(void)
{
	static const int large[] = {255, 256, 257, 511, 512, 513, 768, 1023, 2048, 16000};

	check_start("block");
	for (int dim = 1; dim <= 300; dim++)
		compare_all(dim, 1 + check_below(11), 1 + check_below(19));
	for (int nq = 0; nq <= 10; nq++)
	{
		for (int n = 0; n <= 10; n++)
			compare_all(20, nq, n);
	}
	for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++)
		compare_all(large[i], 35, 11);
	compare_all(128, 70, 67);
	compare_all(300, 70, 9);
	compare_at_end_of_memory();
	compare_negative_zero();
	for (int k = 0; k < SIMD_COUNT; k++)
	{
		if (nw_simd_find(simd_names[k]) != NULL)
		{
			nw_simd = nw_simd_find(simd_names[k]);
			compare_measures();
		}
	}
	return check_finish();
}
