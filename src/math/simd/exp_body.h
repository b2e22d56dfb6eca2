/*
 * math/simd/exp_body.h
 *		Exponentials, their sums, and their sums by bin.
 *
 * exp(score) = 2^(n + f), n = rint(score * log2(e)).  The product is taken
 * with log2(e) in two parts, so f carries no error of n's size.
 *
 * 2^f is 1 + f * P(f), with P of degree 10, the minimax polynomial of the
 * relative error over [-1/2, 1/2].  The coefficients as rounded here are
 * within 4.3e-17 of 2^f, and 2^0 is exactly 1.
 */

#define LOG2E_HI 0x1.71547652b82fep+0
#define LOG2E_LO 0x1.777d0ffda0d24p-56

/*
 * Adding this to a number of magnitude below 2^51 rounds it to an integer,
 * which the low bits of the sum hold.
 */
#define ROUND 0x1.8p52

#define MANTISSA_MASK UINT64_C(0x000fffffffffffff)
#define MANTISSA_ONE UINT64_C(0x0010000000000000)

#define P0 0x1.62e42fefa39f3p-1
#define P1 0x1.ebfbdff82c598p-3
#define P2 0x1.c6b08d7048f31p-5
#define P3 0x1.3b2ab6fba1e1cp-7
#define P4 0x1.5d87fe7bbbe18p-10
#define P5 0x1.43091309611e8p-13
#define P6 0x1.ffcbee3b0663ep-17
#define P7 0x1.62bfd49eb6f70p-20
#define P8 0x1.b54167a8e6d9ap-24
#define P9 0x1.e605f9ab2eb67p-28
#define P10 0x1.c0637aa9b448fp-32

/* Two terms of the polynomial. */
static INLINE vd
pair(vd f, double c0, double c1)
{
	return vd_fma(f, vd_all(c1), vd_all(c0));
}

/* 2^f: pairs, then pairs of pairs, which is half the latency of Horner's rule. */
static INLINE vd
power_of_two(vd f)
{
	vd f2 = f * f;
	vd f4 = f2 * f2;
	vd p = vd_fma(f2, vd_all(P10), pair(f, P8, P9));

	p = vd_fma(f4, p, vd_fma(f2, pair(f, P6, P7), pair(f, P4, P5)));
	p = vd_fma(f4, p, vd_fma(f2, pair(f, P2, P3), pair(f, P0, P1)));
	return vd_fma(f, p, vd_all(1.0));
}

/* Scores beyond this are taken as this, so that n stays finite. */
#define SCORE_MAX 1.2e308

/*
 * At |score * log2(e)| >= 2^52 the product is an integer as it stands, and f,
 * what its rounding lost, may have any size.  There f is brought to
 * [0, F_MAX]: the power of two is then n's alone, which keeps scores in order,
 * and two scores that share n still differ by the sign f had.
 */
#define INTEGRAL 0x1p52
#define F_MAX 0.75

static TARGET void
exp_split(const double *score, int n, double *bin, uint64_t *hi, uint64_t *lo)
{
	const vd log2e = vd_all(LOG2E_HI);

	for (int i = 0; i < n; i += VD)
	{
		vd s = vd_load_upto(score + i, n - i, 0);
		vd product;
		vd power;
		vd f;
		vd p;
		vd b;
		vi mantissa;
		vi shift;

		s = vd_min(vd_max(s, vd_all(-SCORE_MAX)), vd_all(SCORE_MAX));
		product = s * log2e;
		power = vd_round(product);
		f = vd_fms(s, log2e, power);
		f = vd_fma(s, vd_all(LOG2E_LO), f);
		f = vd_max(f, vd_if(vd_lt(vd_abs(product), vd_all(INTEGRAL)), vd_all(-F_MAX)));
		f = vd_min(f, vd_all(F_MAX));
		p = power_of_two(f);

		/* p is in (1/2, 2), so its own exponent is -1 or 0 */
		mantissa = (vd_bits(p) & MANTISSA_MASK) | MANTISSA_ONE;
		/* the addition of 0 where p >= 1 turns a power of -0 into 0 */
		power = power + vd_if(vd_lt(p, vd_all(1.0)), vd_all(-1.0));
		b = vd_floor(power * (1.0 / NW_BIN_BITS));
		shift = vd_integer(vd_mul_sub(b, vd_all(NW_BIN_BITS), power));

		vd_store_upto(bin + i, b, n - i);
		vi_store_upto(lo + i, vi_shl(mantissa, shift), n - i);
		vi_store_upto(hi + i, vi_shr(mantissa, 64 - shift), n - i);
	}
}

/* Arguments below this count as 0, so that 2^n is never subnormal. */
#define SUM_MIN (-700.0)

/* exp(s), or 0 where s is below SUM_MIN or no number. */
static INLINE vd
exp_term(vd s)
{
	const vd log2e = vd_all(LOG2E_HI);
	vd rounded = vd_fma(s, log2e, vd_all(ROUND));
	vd f = vd_fms(s, log2e, rounded - ROUND);
	vi power = vd_bits(rounded) << 52;

	f = vd_fma(s, vd_all(LOG2E_LO), f);
	return vi_double(vi_if(vd_ge(s, vd_all(SUM_MIN)), vd_bits(power_of_two(f)) + power));
}

#define SUMS (8 / VD)

static TARGET double
exp_sum(const double *score, int n, double factor, double shift)
{
	vd sum[SUMS];
	int i = 0;

	UNROLL
	for (int g = 0; g < SUMS; g++)
		sum[g] = vd_all(0);
	for (; i + 8 <= n; i += 8)
	{
		UNROLL
		for (int g = 0; g < SUMS; g++)
		{
			vd s = vd_load(score + i + g * VD);

			sum[g] = sum[g] + exp_term(vd_fms(vd_all(factor), s, vd_all(shift)));
		}
	}
	UNROLL
	for (int g = 0; g < SUMS; g++)
	{
		int k = n - i - g * VD;

		if (k > 0)
		{
			vd s = vd_load_upto(score + i + g * VD, k, 0);

			s = exp_term(vd_fms(vd_all(factor), s, vd_all(shift)));
			sum[g] = sum[g] + vd_if(vm_first(k), s);
		}
	}
	fold_onto(sum, SUMS, 1);
	return vd_fold(sum[0]);
}

static TARGET void
exp_moments(const double *score, int n, double shift, bool over_scores, NwMoments *out)
{
	const vd one = vd_all(1);
	vd sum = vd_all(0);
	vd squares = sum;
	vd peak = sum;
	NwMoments rest = {0, 0, 0};
	int i = 0;

	for (; MORE(i, n, VD); i += VD)
	{
		int k = LEFT(i, n, VD);
		vd s = vd_load_upto(score + i, k, 1);
		vd w = exp_term(s - shift);
		vd by = one;
		vd v;

		if (over_scores)
			by = one / vd_abs(s);
		if (VEC_MASKS)
			w = vd_if(vm_first(k), w);
		v = w * by;
		sum = sum + w;
		squares = vd_mul_add(v, v, squares);
		peak = vd_max(peak, v * by);
	}
	if (!VEC_MASKS)
		nw_simd_scalar.exp_moments(score + i, n - i, shift, over_scores, &rest);
	out->sum = vd_add_lanes(rest.sum, sum);
	out->squares = vd_add_lanes(rest.squares, squares);
	out->peak = fmax(rest.peak, vd_most(peak));
}

static TARGET double
max(const double *value, int n)
{
	vd a = vd_all(-HUGE_VAL);
	vd b = a;
	int i = 0;

	for (; i + 2 * VD <= n; i += 2 * VD)
	{
		a = vd_max(a, vd_load(value + i));
		b = vd_max(b, vd_load(value + i + VD));
	}
	for (; i < n; i += VD)
		a = vd_max(a, vd_load_upto(value + i, n - i, -HUGE_VAL));

	/* which of -0 and 0 came first does not matter */
	return vd_most(vd_max(a, b)) + 0.0;
}

#define BINS 3

static TARGET void
bin_sum(double top, int n, const double *bin, const uint64_t *hi, const uint64_t *lo, uint64_t *low,
        uint64_t *high)
{
	/* sums of the highest bin, of two, of three */
	vi low_sum[BINS];
	vi high_sum[BINS];
	int i = 0;

#pragma GCC unroll 3
	for (int b = 0; b < BINS; b++)
		low_sum[b] = high_sum[b] = vi_all(0);
	for (; VD > 1 && MORE(i, n, VD); i += VD)
	{
		int k = LEFT(i, n, VD);
		/* beyond 2^53 top - 1 may be top; the gap is exact where it counts */
		vd gap = top - vd_load_upto(bin + i, k, -HUGE_VAL);
		vi l = vi_load_upto(lo + i, k);
		vi h = vi_load_upto(hi + i, k);

		h = (h << 32) | (l >> 32);
		l = l & UINT32_MAX;
#pragma GCC unroll 3
		for (int b = 0; b < BINS; b++)
		{
			vm in = vd_lt(gap, vd_all(b + 1));

			low_sum[b] = vi_add_if(in, low_sum[b], l);
			high_sum[b] = vi_add_if(in, high_sum[b], h);
		}
	}
#pragma GCC unroll 3
	for (int b = 0; b < BINS; b++)
	{
		low[b] = vi_total(b > 0 ? low_sum[b] - low_sum[b - 1] : low_sum[b]);
		high[b] = vi_total(b > 0 ? high_sum[b] - high_sum[b - 1] : high_sum[b]);
	}

	/* one by one: which bin is as good as random, see nw_mass_scatter() */
	for (; i < n; i++)
	{
		double gap = top - bin[i];
		uint64_t keep = -(uint64_t) (gap < BINS);
		int b = (gap >= 1) + (gap >= 2);

		low[b] += lo[i] & keep & UINT32_MAX;
		high[b] += ((hi[i] << 32) | (lo[i] >> 32)) & keep;
	}
}

#if VEC_EXP_BINS

/*
 * The operations are those of exp_split and bin_sum, to the last bit, with
 * integers where these have doubles: rounded, the power of two plus ROUND,
 * holds the power in its low bits, and bins are compared there.  Nearly all
 * terms of a class fall into its two highest bins, so the third is looked at
 * only where one of the lanes does not.
 */
static TARGET void
exp_bins(double top, int n, const double *score, uint64_t *low, uint64_t *high)
{
	const vd log2e = vd_all(LOG2E_HI);
	double lowest = NW_BIN_BITS * (top - (BINS - 1));

	/* two powers below the lowest bin: scores below count as this */
	double least = (lowest - 2) / LOG2E_HI;

	/* where bins top - 2, top - 1 and top begin */
	const vi from2 = vd_bits(vd_all(lowest + ROUND));
	const vi from1 = from2 + NW_BIN_BITS;
	const vi from0 = from1 + NW_BIN_BITS;

	/* sums of bin top, of it and the next, and of what is below these */
	vi low0 = vi_all(0), low1 = low0, low2 = low0;
	vi high0 = low0, high1 = low0, high2 = low0;

	for (int i = 0; i < n; i += VD)
	{
		vd s = n - i >= VD ? vd_load(score + i) : vd_load_upto(score + i, n - i, least);
		vd rounded;
		vd f;
		vd p;
		vi power;
		vi mantissa;
		vi shift;
		vi l;
		vi h;
		vm in0;
		vm in1;

		s = vd_max(s, vd_all(least));
		rounded = s * log2e + ROUND;
		f = vd_fms(s, log2e, rounded - ROUND);
		f = vd_fma(s, vd_all(LOG2E_LO), f);
		p = power_of_two(f);

		power = vi_add_if(vd_lt(p, vd_all(1.0)), vd_bits(rounded), vi_all(-1));
		mantissa = (vd_bits(p) & MANTISSA_MASK) | MANTISSA_ONE;
		shift = power & (NW_BIN_BITS - 1);
		l = vi_shl(mantissa, shift) & UINT32_MAX;
		h = vi_shr(mantissa, NW_BIN_BITS - shift);

		in0 = vi_ge(power, from0);
		in1 = vi_ge(power, from1);
		low0 = vi_add_if(in0, low0, l);
		high0 = vi_add_if(in0, high0, h);
		if (!vm_every(in1))
		{
			vm in2 = vm_and_not(vi_ge(power, from2), in1);

			low2 = vi_add_if(in2, low2, l);
			high2 = vi_add_if(in2, high2, h);
			l = vi_if(in1, l);
			h = vi_if(in1, h);
		}
		low1 = low1 + l;
		high1 = high1 + h;
	}

	low[0] = vi_total(low0);
	low[1] = vi_total(low1 - low0);
	low[2] = vi_total(low2);
	high[0] = vi_total(high0);
	high[1] = vi_total(high1 - high0);
	high[2] = vi_total(high2);
}

#endif
