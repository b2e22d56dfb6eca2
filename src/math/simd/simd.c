/*
 * math/simd/simd.c
 *		Choice of the inner loops, and the loops in plain C.
 *
 * The plain loops are the reference: the others give the same bits.
 */
#include "math/simd/simd.h"

#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "math/simd/simd_impl.h"

const NwSimd *nw_simd = &nw_simd_scalar;
int nw_simd_ahead = NW_PREFETCH_BYTES;

/* Add up one row. */
static inline __attribute__((always_inline)) double
sum_row(SumKind kind, const double *q, const float *x, double scale, int dim)
{
	double lane[NW_LANES] = {0};

	for (int j = 0; j < dim; j++)
	{
		double *acc = &lane[j % NW_LANES];
		double v = x[j];
		double diff;

		switch (kind)
		{
			case SUM_SQDIST:
				diff = q[j] - v;
				*acc = fma(diff, diff, *acc);
				break;
			case SUM_SQDIST_SCALED:
				diff = fma(-scale, v, q[j]);
				*acc = fma(diff, diff, *acc);
				break;
			case SUM_DOT:
				*acc = fma(q[j], v, *acc);
				break;
			case SUM_SQNORM:
				*acc = fma(v, v, *acc);
				break;
		}
	}

	for (int half = NW_LANES / 2; half > 0; half /= 2)
	{
		for (int i = 0; i < half; i++)
			lane[i] += lane[i + half];
	}
	return lane[0];
}

/* Squared distances. */
static void
scalar_sqdist(const double *q, const float *x, int dim, int n, double *out)
{
	for (int i = 0; i < n; i++)
		out[i] = sum_row(SUM_SQDIST, q, x + (int64_t) i * dim, 0, dim);
}

/* Squared distances to scaled rows. */
static void
scalar_sqdist_scaled(const double *q, const float *x, const double *scale, int dim, int n,
                     double *out)
{
	for (int i = 0; i < n; i++)
		out[i] = sum_row(SUM_SQDIST_SCALED, q, x + (int64_t) i * dim, scale[i], dim);
}

/* Inner products. */
static void
scalar_dot(const double *q, const float *x, int dim, int n, double *out)
{
	for (int i = 0; i < n; i++)
		out[i] = sum_row(SUM_DOT, q, x + (int64_t) i * dim, 0, dim);
}

/* Squared norms. */
static void
scalar_sqnorm(const float *x, int dim, int n, double *out)
{
	for (int i = 0; i < n; i++)
		out[i] = sum_row(SUM_SQNORM, NULL, x + (int64_t) i * dim, 0, dim);
}

/* Inner products and squared norms. */
static void
scalar_dot_sqnorm(const double *q, const float *x, int dim, int n, double *dot, double *sqnorm)
{
	scalar_dot(q, x, dim, n, dot);
	scalar_sqnorm(x, dim, n, sqnorm);
}

/* Turn inner products into squared distances. */
static bool
scalar_close_sqdist(double q2, const double *x2, double share, int n, double *value)
{
	bool cancelled = false;

	for (int i = 0; i < n; i++)
	{
		double both = q2 + x2[i];

		value[i] = both - 2 * value[i];
		cancelled |= !(value[i] > both * share);
	}
	return cancelled;
}

/* Turn squared distances into scores. */
static void
scalar_root_scores(const double *value, int n, double factor, double *out)
{
	for (int i = 0; i < n; i++)
		out[i] = sqrt(value[i]) * -factor;
}

/* Split exponentials into bin and integer. */
static void
scalar_exp_split(const double *score, int n, double *bin, uint64_t *hi, uint64_t *lo)
{
	for (int i = 0; i < n; i++)
	{
		double s = score[i];
		double product;
		double power;
		double f;
		double f_min;
		double f2;
		double f4;
		double p;
		double exponent;
		uint64_t mantissa;
		int shift;

		/* written so that NaN ends at the lower limit, as in SIMD code */
		s = s > -NW_EXP_SCORE_MAX ? s : -NW_EXP_SCORE_MAX;
		s = s < NW_EXP_SCORE_MAX ? s : NW_EXP_SCORE_MAX;

		product = s * NW_LOG2E_HI;
		power = rint(product);
		f = fma(s, NW_LOG2E_HI, -power);
		f = fma(s, NW_LOG2E_LO, f);
		f_min = fabs(product) < NW_EXP_INTEGRAL ? -NW_EXP_F_MAX : 0.0;
		f = f > f_min ? f : f_min;
		f = f < NW_EXP_F_MAX ? f : NW_EXP_F_MAX;

		/* pairs, then pairs of pairs: half the latency of Horner's rule */
		f2 = f * f;
		f4 = f2 * f2;
		p = fma(f2, NW_EXP_P10, fma(f, NW_EXP_P9, NW_EXP_P8));
		p = fma(f4, p, fma(f2, fma(f, NW_EXP_P7, NW_EXP_P6), fma(f, NW_EXP_P5, NW_EXP_P4)));
		p = fma(f4, p, fma(f2, fma(f, NW_EXP_P3, NW_EXP_P2), fma(f, NW_EXP_P1, NW_EXP_P0)));
		p = fma(f, p, 1.0);

		/* p is in (1/2, 2), so its own exponent is -1 or 0 */
		memcpy(&mantissa, &p, sizeof(mantissa));
		mantissa = (mantissa & NW_MANTISSA_MASK) | NW_MANTISSA_ONE;
		exponent = power + (p < 1.0 ? -1.0 : 0.0);

		bin[i] = floor(exponent / NW_BIN_BITS);
		shift = (int) (exponent - NW_BIN_BITS * bin[i]);
		lo[i] = mantissa << shift;
		hi[i] = shift > 0 ? mantissa >> (64 - shift) : 0;
	}
}

/* Squared distances of many queries. */
static void
scalar_sqdist_block(const double *q, int nq, const float *x, int dim, int n, double *out)
{
	for (int i = 0; i < nq; i++)
		scalar_sqdist(q + (int64_t) i * dim, x, dim, n, out + (int64_t) i * n);
}

/* Squared distances of many queries to scaled rows. */
static void
scalar_sqdist_scaled_block(const double *q, int nq, const float *x, const double *scale, int dim,
                           int n, double *out)
{
	for (int i = 0; i < nq; i++)
		scalar_sqdist_scaled(q + (int64_t) i * dim, x, scale, dim, n, out + (int64_t) i * n);
}

/* Inner products of many queries. */
static void
scalar_dot_block(const double *q, int nq, const float *x, int dim, int n, double *out)
{
	for (int i = 0; i < nq; i++)
		scalar_dot(q + (int64_t) i * dim, x, dim, n, out + (int64_t) i * n);
}

/* exp of an argument; 0 below NW_EXP_SUM_MIN. */
static double
exp_term(double s)
{
	double rounded;
	double power;
	double f;
	double f2;
	double f4;
	double p;
	uint64_t rounded_bits;
	uint64_t bits;

	/* written so that NaN counts as 0, as in SIMD code */
	if (!(s >= NW_EXP_SUM_MIN))
		return 0;

	rounded = fma(s, NW_LOG2E_HI, NW_EXP_ROUND);
	power = rounded - NW_EXP_ROUND;
	f = fma(s, NW_LOG2E_HI, -power);
	f = fma(s, NW_LOG2E_LO, f);

	f2 = f * f;
	f4 = f2 * f2;
	p = fma(f2, NW_EXP_P10, fma(f, NW_EXP_P9, NW_EXP_P8));
	p = fma(f4, p, fma(f2, fma(f, NW_EXP_P7, NW_EXP_P6), fma(f, NW_EXP_P5, NW_EXP_P4)));
	p = fma(f4, p, fma(f2, fma(f, NW_EXP_P3, NW_EXP_P2), fma(f, NW_EXP_P1, NW_EXP_P0)));
	p = fma(f, p, 1.0);

	/* times 2^power */
	memcpy(&rounded_bits, &rounded, sizeof(rounded_bits));
	memcpy(&bits, &p, sizeof(bits));
	bits += rounded_bits << 52;
	memcpy(&p, &bits, sizeof(p));
	return p;
}

/* Add up exponentials, see simd_impl.h. */
static double
scalar_exp_sum(const double *score, int n, double factor, double shift)
{
	double sum[8] = {0};

	for (int i = 0; i < n; i++)
		sum[i % 8] += exp_term(fma(factor, score[i], -shift));

	for (int half = 4; half > 0; half /= 2)
	{
		for (int i = 0; i < half; i++)
			sum[i] += sum[i + half];
	}
	return sum[0];
}

/* Take the moments of exponentials. */
static void
scalar_exp_moments(const double *score, int n, double shift, bool over_scores, NwMoments *out)
{
	NwMoments moments = {0, 0, 0};

	for (int i = 0; i < n; i++)
	{
		double w = exp_term(score[i] - shift);
		double by = over_scores ? 1 / fabs(score[i]) : 1;
		double v = w * by;

		moments.sum += w;
		moments.squares += v * v;
		moments.peak = fmax(moments.peak, v * by);
	}
	*out = moments;
}

/* Find the largest number. */
static double
scalar_max(const double *value, int n)
{
	double result = -HUGE_VAL;

	for (int i = 0; i < n; i++)
		result = value[i] > result ? value[i] : result;

	/* which of -0 and 0 came first does not matter */
	return result + 0.0;
}

/* Add up terms by bin. */
static void
scalar_bin_sum(double top, int n, const double *bin, const uint64_t *hi, const uint64_t *lo,
               uint64_t *low, uint64_t *high)
{
	for (int k = 0; k < 3; k++)
		low[k] = high[k] = 0;

	for (int i = 0; i < n; i++)
	{
		double gap = top - bin[i];
		uint64_t keep = -(uint64_t) (gap < 3);
		int k = (gap >= 1) + (gap >= 2);

		/* which bin is as good as random, see nw_mass_scatter() */
		low[k] += lo[i] & keep & UINT32_MAX;
		high[k] += ((hi[i] << 32) | (lo[i] >> 32)) & keep;
	}
}

/* Widen one half-precision number. */
static inline float
widen_half(uint16_t half)
{
	uint32_t sign = (uint32_t) (half & 0x8000) << 16;
	uint32_t exponent = (half >> 10) & 0x1f;
	uint32_t mantissa = half & 0x3ff;
	uint32_t bits;
	float result;

	if (exponent == 0x1f)
	{
		/* infinity, or a NaN made quiet as the hardware makes it */
		bits = 0x7f800000 | (mantissa << 13);
		if (mantissa != 0)
			bits |= 0x00400000;
	}
	else if (exponent != 0)
		bits = ((exponent + 112) << 23) | (mantissa << 13);
	else
	{
		/* zero or subnormal: an integer multiple of 2^-24, exact in float */
		result = (float) mantissa * 0x1p-24f;
		memcpy(&bits, &result, sizeof(bits));
	}

	bits |= sign;
	memcpy(&result, &bits, sizeof(result));
	return result;
}

/* Widen half-precision numbers. */
static void
scalar_half_to_float(const uint16_t *half, int n, float *out)
{
	for (int i = 0; i < n; i++)
		out[i] = widen_half(half[i]);
}

const NwSimd nw_simd_scalar = {.name = "scalar",
                               .sqdist = scalar_sqdist,
                               .sqdist_scaled = scalar_sqdist_scaled,
                               .dot = scalar_dot,
                               .sqnorm = scalar_sqnorm,
                               .dot_sqnorm = scalar_dot_sqnorm,
                               .close_sqdist = scalar_close_sqdist,
                               .root_scores = scalar_root_scores,
                               .exp_split = scalar_exp_split,
                               .sqdist_block = scalar_sqdist_block,
                               .sqdist_scaled_block = scalar_sqdist_scaled_block,
                               .dot_block = scalar_dot_block,
                               .exp_sum = scalar_exp_sum,
                               .exp_moments = scalar_exp_moments,
                               .max = scalar_max,
                               .bin_sum = scalar_bin_sum,
                               .coarse_copy = nw_scalar_coarse_copy,
                               .coarse_sqdist = nw_scalar_coarse_sqdist,
                               .code_query = nw_scalar_code_query,
                               .code_dot = nw_scalar_code_dot,
                               .code_middles = nw_scalar_code_middles,
                               .code_ranges = nw_scalar_code_ranges,
                               .code_scores = nw_scalar_code_scores,
                               .code_cosines = nw_scalar_code_cosines,
                               .half_to_float = scalar_half_to_float};

#if defined(__x86_64__)

/* What the CPU can do, and the system lets it do. */
typedef struct Features
{
	bool avx2;   /* with FMA and F16C */
	bool avx512; /* F, DQ, BW and VL besides */
} Features;

/* Registers that the system saves: YMM, and ZMM with the masks. */
#define SAVES_AVX 0x06
#define SAVES_AVX512 0xe6

/*
 * Ask the CPU.  __builtin_cpu_supports() would do, but it asks for everything,
 * whenever the module is loaded, and in a virtual machine each question is one
 * to the hypervisor.
 */
static Features
cpu_features(void)
{
	const unsigned int first = bit_FMA | bit_F16C | bit_OSXSAVE;
	const unsigned int wide = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
	Features features = {false, false};
	unsigned int eax, ebx, ecx, edx, saved, high;

	__cpuid(0, eax, ebx, ecx, edx);
	if (eax < 7)
		return features;
	__cpuid(1, eax, ebx, ecx, edx);
	if ((ecx & first) != first)
		return features;
	__asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
	__cpuid_count(7, 0, eax, ebx, ecx, edx);
	features.avx2 = (ebx & bit_AVX2) != 0 && (saved & SAVES_AVX) == SAVES_AVX;
	features.avx512 =
		features.avx2 && (ebx & wide) == wide && (saved & SAVES_AVX512) == SAVES_AVX512;
	return features;
}

#endif /* __x86_64__ */

/* Find an implementation that this machine can run. */
const NwSimd *
nw_simd_find(const char *name)
{
#if defined(__x86_64__)
	if (strcmp(name, nw_simd_avx512.name) == 0)
		return cpu_features().avx512 ? &nw_simd_avx512 : NULL;
	if (strcmp(name, nw_simd_avx2.name) == 0)
		return cpu_features().avx2 ? &nw_simd_avx2 : NULL;
#endif
	if (strcmp(name, nw_simd_scalar.name) == 0)
		return &nw_simd_scalar;
	return NULL;
}

/* Choose the fastest implementation for this machine. */
void
nw_simd_init(void)
{
	nw_simd = nw_simd_find("avx512");
	if (nw_simd == NULL)
		nw_simd = nw_simd_find("avx2");
	if (nw_simd == NULL)
		nw_simd = &nw_simd_scalar;
}
