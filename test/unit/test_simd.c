/*
 * test_simd.c
 *		The inner loops: every implementation against the plain one, bit for
 *		bit, and the plain one against long double.
 */
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "math/simd/scalar.h"
#include "math/simd/simd.h"
#include "simd_names.h"

#define MAX_ROWS 11

/* Draw a float that is sometimes awkward. */
static float
random_float(void)
{
	switch (check_below(16))
	{
		case 0:
			return 0;
		case 1:
			return (float) (check_uniform(-1, 1) * 1e-42); /* subnormal */
		case 2:
			return (float) (check_uniform(-1, 1) * 3e38);
		case 3:
			return (float) check_uniform(-1e-3, 1e-3);
		default:
			return (float) check_uniform(-2, 2);
	}
}

/* Compare results bit for bit. */
static void
same_bits(const char *what, const NwSimd *fast, int dim, int n, const double *expected,
          const double *got)
{
	for (int i = 0; i < n; i++)
		CHECK(memcmp(&expected[i], &got[i], sizeof(double)) == 0,
		      "%s %s dim %d row %d of %d: %a, not %a", fast->name, what, dim, i, n, got[i],
		      expected[i]);
}

/* Compare the four sums of one implementation with the plain ones. */
static void
compare_sums(const NwSimd *fast, const double *q, const float *x, const double *scale, int dim,
             int n)
{
	const NwSimd *plain = &nw_simd_scalar;
	double expected[MAX_ROWS];
	double *got = check_alloc(sizeof(double) * n);
	double *dot = check_alloc(sizeof(double) * n);

	plain->sqdist(q, x, dim, n, expected);
	fast->sqdist(q, x, dim, n, got);
	same_bits("sqdist", fast, dim, n, expected, got);

	plain->sqdist_scaled(q, x, scale, dim, n, expected);
	fast->sqdist_scaled(q, x, scale, dim, n, got);
	same_bits("sqdist_scaled", fast, dim, n, expected, got);

	plain->dot(q, x, dim, n, expected);
	fast->dot(q, x, dim, n, got);
	same_bits("dot", fast, dim, n, expected, got);

	plain->sqnorm(x, dim, n, expected);
	fast->sqnorm(x, dim, n, got);
	same_bits("sqnorm", fast, dim, n, expected, got);

	fast->dot_sqnorm(q, x, dim, n, dot, got);
	same_bits("dot_sqnorm's norm", fast, dim, n, expected, got);
	plain->dot(q, x, dim, n, expected);
	same_bits("dot_sqnorm's dot", fast, dim, n, expected, dot);

	free(dot);
	free(got);
}

/* Compare all implementations on random rows of one size. */
static void
compare_all(int dim, int n)
{
	/* one float in front: rows are aligned to 4 bytes and no more */
	float *space = check_alloc(sizeof(float) * ((size_t) n * dim + 1));
	double *q = check_alloc(sizeof(double) * dim);
	double *scale = check_alloc(sizeof(double) * n);

	for (int i = 0; i < n * dim + 1; i++)
		space[i] = random_float();
	for (int j = 0; j < dim; j++)
		q[j] = check_below(4) == 0 ? check_uniform(-1, 1) : random_float();
	for (int i = 0; i < n; i++)
		scale[i] = check_below(8) == 0 ? 0 : check_uniform(0, 3);

	for (int k = 1; k < SIMD_COUNT; k++)
	{
		const NwSimd *fast = nw_simd_find(simd_names[k]);

		if (fast != NULL)
			compare_sums(fast, q, space + 1, scale, dim, n);
	}

	free(scale);
	free(q);
	free(space);
}

/* Compare what turns sums into distances and scores. */
static void
compare_scores(const NwSimd *fast, int n, double magnitude)
{
	double *x2 = check_alloc(sizeof(double) * n);
	double *expected = check_alloc(sizeof(double) * n);
	double *got = check_alloc(sizeof(double) * n);
	double q2 = check_uniform(0, 2) * magnitude;
	bool low;

	for (int i = 0; i < n; i++)
	{
		x2[i] = check_uniform(0, 2) * magnitude;
		expected[i] = got[i] = check_uniform(0, 0.4) * (q2 + x2[i]);
		if (check_below(50) == 0)
			expected[i] = got[i] = 0.5 * (q2 + x2[i]);
	}
	low = nw_simd_scalar.close_sqdist(q2, x2, 1.0 / 1024, n, expected);
	CHECK(fast->close_sqdist(q2, x2, 1.0 / 1024, n, got) == low, "%s n %d", fast->name, n);
	same_bits("close_sqdist", fast, 0, n, expected, got);

	nw_simd_scalar.root_scores(expected, n, 1.7, expected);
	fast->root_scores(got, n, 1.7, got);
	same_bits("root_scores", fast, 0, n, expected, got);
	free(x2);
	free(expected);
	free(got);
}

/*
 * Compare roots where they are hardest to round: squares of numbers halfway
 * between two doubles, and what is next to them.
 */
static void
compare_roots(const NwSimd *fast)
{
	double value[64];
	double expected[64];
	double got[64];

	for (int round = 0; round < 20000; round++)
	{
		for (int i = 0; i < 64; i += 4)
		{
			int exponent = check_below(1200) - 600;
			long double root = 1 + (long double) (check_random() >> 12) * 0x1p-52L + 0x1p-53L;

			value[i] = ldexp((double) (root * root), exponent);
			value[i + 1] = nextafter(value[i], 0);
			value[i + 2] = nextafter(value[i], HUGE_VAL);
			value[i + 3] = ldexp(check_uniform(1, 4), exponent);
		}
		nw_simd_scalar.root_scores(value, 64, 1, expected);
		fast->root_scores(value, 64, 1, got);
		same_bits("roots", fast, 0, 64, expected, got);
	}
}

/* Compare with long double sums. */
static void
compare_reference(int dim)
{
	enum
	{
		rows = 3
	};
	float *x = check_alloc(sizeof(float) * dim * rows);
	double *q = check_alloc(sizeof(double) * dim);
	double scale[rows];
	double sqdist[rows];
	double scaled[rows];
	double dot[rows];
	double sqnorm[rows];

	for (int i = 0; i < dim * rows; i++)
		x[i] = (float) check_uniform(-3, 3);
	for (int j = 0; j < dim; j++)
		q[j] = (float) check_uniform(-3, 3);
	for (int i = 0; i < rows; i++)
		scale[i] = check_uniform(0.1, 2);

	nw_simd_scalar.sqdist(q, x, dim, rows, sqdist);
	nw_simd_scalar.sqdist_scaled(q, x, scale, dim, rows, scaled);
	nw_simd_scalar.dot(q, x, dim, rows, dot);
	nw_simd_scalar.sqnorm(x, dim, rows, sqnorm);

	for (int i = 0; i < rows; i++)
	{
		long double d = 0;
		long double s = 0;
		long double p = 0;
		long double xx = 0;
		long double qq = 0;

		for (int j = 0; j < dim; j++)
		{
			long double v = x[i * dim + j];
			long double u = q[j];

			d += (u - v) * (u - v);
			s += (u - scale[i] * v) * (u - scale[i] * v);
			p += u * v;
			xx += v * v;
			qq += u * u;
		}
		CHECK(fabsl(sqdist[i] - d) <= 1e-12L * d, "dim %d: %.17g, not %.17Lg", dim, sqdist[i], d);
		CHECK(fabsl(scaled[i] - s) <= 1e-12L * s, "dim %d: %.17g, not %.17Lg", dim, scaled[i], s);
		CHECK(fabsl(dot[i] - p) <= 1e-12L * sqrtl(qq * xx), "dim %d: %.17g, not %.17Lg", dim,
		      dot[i], p);
		CHECK(fabsl(sqnorm[i] - xx) <= 1e-12L * xx, "dim %d: %.17g, not %.17Lg", dim, sqnorm[i],
		      xx);
	}

	free(q);
	free(x);
}

/*
 * Read rows that end where readable memory ends: a sanitizer does not see
 * what a masked load reads, the hardware does.
 */
static void
compare_at_end_of_memory(void)
{
	size_t page = (size_t) sysconf(_SC_PAGESIZE);
	size_t size = 2 * page;
	char *x_space =
		mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *q_space =
		mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(x_space != MAP_FAILED && q_space != MAP_FAILED, "mmap");
	if (x_space == MAP_FAILED || q_space == MAP_FAILED)
		return;
	CHECK(mprotect(x_space + size, page, PROT_NONE) == 0, "mprotect");
	CHECK(mprotect(q_space + size, page, PROT_NONE) == 0, "mprotect");

	for (int dim = 1; dim <= 40; dim++)
	{
		for (int n = 1; n <= 5; n++)
		{
			float *x = (float *) (x_space + size) - dim * n;
			double *q = (double *) (q_space + size) - dim;
			double scale[5] = {1, 0.5, 2, 0.25, 3};

			for (int i = 0; i < dim * n; i++)
				x[i] = random_float();
			for (int j = 0; j < dim; j++)
				q[j] = random_float();
			for (int k = 1; k < SIMD_COUNT; k++)
			{
				const NwSimd *fast = nw_simd_find(simd_names[k]);

				if (fast != NULL)
					compare_sums(fast, q, x, scale, dim, n);
			}
		}
	}

	munmap(x_space, size + page);
	munmap(q_space, size + page);
}

/*
 * A lane may hold -0, from products that underflow.  Padding must not add 0
 * to it: sixteen lanes of -0 fold to -0.
 */
static void
compare_negative_zero(void)
{
	double q[40];
	float x[40];
	double scale = 1;
	double plain;

	for (int j = 0; j < 40; j++)
	{
		q[j] = -1e-300;
		x[j] = 1e-45f;
	}
	nw_simd_scalar.dot(q, x, 17, 1, &plain);
	CHECK(plain == 0 && signbit(plain), "%a", plain);

	for (int dim = 1; dim <= 40; dim++)
	{
		for (int k = 1; k < SIMD_COUNT; k++)
		{
			const NwSimd *fast = nw_simd_find(simd_names[k]);

			if (fast != NULL)
				compare_sums(fast, q, x, &scale, dim, 1);
		}
	}
}

/* Widen a half by its definition. */
static float
define_half(int half)
{
	int exponent = (half >> 10) & 31;
	int mantissa = half & 1023;
	double value;

	if (exponent == 31)
		value = mantissa == 0 ? HUGE_VAL : NAN;
	else if (exponent == 0)
		value = ldexp(mantissa, -24);
	else
		value = ldexp(1024 + mantissa, exponent - 25);
	return (float) copysign(value, half & 0x8000 ? -1.0 : 1.0);
}

/* Widen every half there is. */
static void
compare_halves(void)
{
	enum
	{
		count = 65536
	};
	uint16_t *half = check_alloc(sizeof(uint16_t) * count);
	float *plain = check_alloc(sizeof(float) * count);

	for (int i = 0; i < count; i++)
		half[i] = (uint16_t) i;
	nw_simd_scalar.half_to_float(half, count, plain);
	for (int i = 0; i < count; i++)
	{
		float defined = define_half(i);

		if (isnan(defined))
			CHECK(isnan(plain[i]) && !signbit(plain[i]) == !(i & 0x8000), "half %#x: %a", i,
			      plain[i]);
		else
			CHECK(memcmp(&plain[i], &defined, sizeof(float)) == 0, "half %#x: %a, not %a", i,
			      plain[i], defined);
	}

	for (int k = 1; k < SIMD_COUNT; k++)
	{
		const NwSimd *fast = nw_simd_find(simd_names[k]);
		int from = 0;

		/* pieces of every length up to 70, each of exact size */
		for (int n = 0; fast != NULL && from < count; n = (n + 1) % 71)
		{
			int m = n < count - from ? n : count - from;
			uint16_t *in = check_alloc(sizeof(uint16_t) * m);
			float *out = check_alloc(sizeof(float) * m);

			memcpy(in, half + from, sizeof(uint16_t) * m);
			fast->half_to_float(in, m, out);
			CHECK(memcmp(out, plain + from, sizeof(float) * m) == 0,
			      "%s: halves %#x and the %d after", fast->name, from, m);
			free(out);
			free(in);
			from += m;
		}
	}

	free(plain);
	free(half);
}

/* Look implementations up by name. */
static void
check_dispatch(void)
{
	CHECK(nw_simd == &nw_simd_scalar, "before nw_simd_init()");
	CHECK(nw_simd_find("scalar") == &nw_simd_scalar, "scalar");
	CHECK(nw_simd_find("none") == NULL, "an unknown name");
	nw_simd_init();
	CHECK(nw_simd == nw_simd_find(nw_simd->name), "%s", nw_simd->name);
#if defined(__AARCH64EL__)
	CHECK(strcmp(nw_simd->name, "neon") == 0, "%s", nw_simd->name);
#endif
	for (int k = 1; k < SIMD_COUNT; k++)
	{
		const NwSimd *fast = nw_simd_find(simd_names[k]);

		if (fast == NULL)
			printf("# this machine has no %s\n", simd_names[k]);
		else
			CHECK(strcmp(fast->name, simd_names[k]) == 0, "%s", fast->name);
	}
}

int
main(void)
{
	static const int large[] = {511, 512, 513, 768, 1023, 1536, 2047, 4096, 15999, 16000};

	check_start("simd");
	check_dispatch();
	for (int dim = 1; dim <= 300; dim++)
	{
		compare_all(dim, 1 + dim % MAX_ROWS);
		compare_all(dim, 4);
		compare_reference(dim);
	}
	for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++)
	{
		compare_all(large[i], 7);
		compare_reference(large[i]);
	}
	for (int n = 0; n <= MAX_ROWS; n++)
		compare_all(37, n);
	compare_at_end_of_memory();
	compare_negative_zero();
	compare_halves();
	for (int k = 1; k < SIMD_COUNT; k++)
	{
		const NwSimd *fast = nw_simd_find(simd_names[k]);

		if (fast == NULL)
			continue;
		compare_roots(fast);
		for (int n = 0; n < 100; n++)
			compare_scores(fast, n, pow(10, check_uniform(-70, 70)));
	}
	return check_finish();
}
