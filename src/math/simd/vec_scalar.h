/*
 * math/simd/vec_scalar.h
 *		Plain C as an instruction set: vectors of one lane.
 *
 * The loops (*_body.h) are written once, in terms of vectors, and compiled for
 * each instruction set: scalar.c, avx2.c, avx512.c and neon.c include the set's
 * own header and then table_body.h.  A new set is a header with the names below,
 * a .c and a .h file like those of NEON, and a line in nw_simd_find() and
 * nw_simd_init().
 *
 * The set.  VEC_NAME: what it is called.  TARGET
 * and INLINE go before functions, UNROLL before loops over registers.
 * VEC_MASKS: 1 where the first k lanes cost no more than all of them.  Where it
 * is 0, what is left over at the end of many loops is done in plain C, and
 * operations with a star below are asked for whole vectors only.  VEC_ROWS,
 * VEC_BOTH_ROWS, VEC_CODE_ROWS, VEC_COPY_ROWS: so many rows are added up side
 * by side.  VEC_EXP_BINS: exp_bins pays; it needs vi_ge, vm_and_not and
 * vm_every besides.  BLOCKS(name), in the .c file: hand-written tiles for
 * blocks of queries; without it they go by single queries.
 *
 * Types.  vd: VD doubles.  vf: VF floats.  vi: VD unsigned integers of 64 bits.
 * vm: yes or no for each lane of a vd.  VD divides 8, and VF 16.  Operators
 * + - * / of vd and vf and + - & | << >> of vi work as for numbers, also with
 * one number in place of a vector.
 *
 * Numbers in all lanes: vd_all, vf_all, vi_all.
 *
 * From and to memory.  vd_load; vd_keep and vf_keep: hold a vector in a register
 * that a compiler would load again for each use, or would load so early that it
 * runs out of registers; prefetch(address).  The first k
 * numbers, or as many as there are lanes: vd_load_upto(p, k, what the other
 * lanes are), vd_store_upto(p, v, k), vi_store_upto, vi_load_upto*,
 * vf_load_upto*, vf_store_upto*.  Widened: vd_load_floats_upto,
 * vf_load_bytes_upto*, vf_load_shorts_upto*, vf_load_halves_upto*, and
 * widen_half for one where VEC_MASKS is 0.  Narrowed: vd_store_floats_upto*,
 * vd_store_shorts_upto* (of integers).
 *
 * Rounded once: vd_fma(a, b, c) is a * b + c, vd_fms a * b - c, vd_fnma
 * c - a * b.  Fused or not, whatever is faster, where it does not show or need
 * not be the same everywhere: vd_mul_add, vd_mul_sub (c - a * b), vf_mul_add,
 * vd_triple (a * b * c + d), vd_divide(a, vd_divisor(x)).
 *
 * vd_min(a, b), vd_max(a, b): b where a is not smaller, or not larger, NaN
 * included.  vd_abs; vd_sqrt, correctly rounded; vd_round (to even), vd_floor.
 *
 * Lanes: vd_lt, vd_gt, vd_ge, vd_not_gt; vm_none(), vm_first(k), vm_and, vm_or,
 * vm_any.  vd_if(m, a), vi_if: a where m is, else 0.  vd_pick(m, a, b): a where
 * m is, else b.  vi_add_if(m, a, b): a + b where m is, else a.
 *
 * Bits: vd_bits, vi_double; vd_integer, of a small one that is not negative;
 * vi_shl(a, n), vi_shr(a, n) lane by lane, where a shift by 64 gives 0.
 *
 * All lanes.  vd_fold: lane i and lane i + VD / 2 added, and so on down to one,
 * in this very order; vd_fold_rows(v, out) of VEC_ROWS vectors.  In any order:
 * vd_add_lanes(start, v), vd_least, vd_most, vi_total; vf_fold_codes(v, out)
 * and vf_fold_copies(v, out) of VEC_CODE_ROWS and VEC_COPY_ROWS vectors.
 */
#ifndef NW_MATH_SIMD_VEC_SCALAR_H
#define NW_MATH_SIMD_VEC_SCALAR_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define VEC_NAME "scalar"

#define TARGET
#define INLINE inline __attribute__((always_inline))
#define UNROLL

#define VD 1
#define VF 1
#define VEC_MASKS 1
#define VEC_ROWS 1
#define VEC_BOTH_ROWS 1
#define VEC_CODE_ROWS 1
#define VEC_COPY_ROWS 1
#define VEC_EXP_BINS 0

typedef double vd;
typedef float vf;
typedef uint64_t vi;
typedef bool vm;

#define prefetch(address) ((void) (address))

#define vd_all(x) ((double) (x))
#define vf_all(x) ((float) (x))
#define vi_all(x) ((uint64_t) (x))
#define vd_keep(v) ((void) 0)
#define vf_keep(v) ((void) 0)
#define vd_load(p) (*(p))
#define vd_load_upto(p, k, fill) ((void) (k), *(p))
#define vd_store_upto(p, v, k) (*(p) = (v))
#define vi_load_upto(p, k) (*(p))
#define vi_store_upto(p, v, k) (*(p) = (v))
#define vf_load_upto(p, k) (*(p))
#define vf_store_upto(p, v, k) (*(p) = (v))
#define vd_load_floats_upto(p, k) ((void) (k), (double) *(p))
#define vf_load_bytes_upto(p, k) ((float) *(p))
#define vf_load_shorts_upto(p, k) ((float) *(p))
#define vf_load_halves_upto(p, k) ((void) (k), widen_half(*(p)))
#define vd_store_floats_upto(p, v, k) (*(p) = (float) (v))
#define vd_store_shorts_upto(p, v, k) (*(p) = (int16_t) (v))

#define vd_fma(a, b, c) fma(a, b, c)
#define vd_fms(a, b, c) fma(a, b, -(c))
#define vd_fnma(a, b, c) fma(-(a), b, c)
#define vd_mul_add(a, b, c) ((a) * (b) + (c))
#define vd_mul_sub(a, b, c) ((c) - (a) * (b))
#define vf_mul_add(a, b, c) ((a) * (b) + (c))
#define vd_triple(a, b, c, d) ((a) * (b) * (c) + (d))
#define vd_divisor(x) (x)
#define vd_divide(a, x) ((a) / (x))

#define vd_abs(a) fabs(a)
#define vd_sqrt(a) sqrt(a)
#define vd_round(a) rint(a)
#define vd_floor(a) floor(a)

#define vd_lt(a, b) ((a) < (b))
#define vd_gt(a, b) ((a) > (b))
#define vd_ge(a, b) ((a) >= (b))
#define vd_not_gt(a, b) (!((a) > (b)))
#define vm_none() false
#define vm_first(k) true
#define vm_and(a, b) ((a) && (b))
#define vm_or(a, b) ((a) || (b))
#define vm_any(m) (m)
#define vd_if(m, a) ((m) ? (a) : 0)
#define vd_pick(m, a, b) ((m) ? (a) : (b))
#define vi_if(m, a) ((a) & -(uint64_t) (m))
#define vi_add_if(m, a, b) ((a) + vi_if(m, b))

#define vd_integer(a) ((uint64_t) (int64_t) (a))
#define vi_shl(a, n) ((a) << (n))
#define vi_shr(a, n) ((n) < 64 ? (a) >> (n) : 0)

#define vd_fold(v) (v)
#define vd_fold_rows(v, out) (*(out) = *(v))
#define vd_add_lanes(sum, v) ((sum) + (v))
#define vd_least(v) (v)
#define vd_most(v) (v)
#define vi_total(v) (v)
#define vf_fold_codes(v, out) (*(out) = *(v))
#define vf_fold_copies(v, out) (*(out) = *(v))

static INLINE double
vd_min(double a, double b)
{
	return a < b ? a : b;
}

static INLINE double
vd_max(double a, double b)
{
	return a > b ? a : b;
}

static INLINE uint64_t
vd_bits(double a)
{
	uint64_t bits;

	memcpy(&bits, &a, sizeof(bits));
	return bits;
}

static INLINE double
vi_double(uint64_t bits)
{
	double a;

	memcpy(&a, &bits, sizeof(a));
	return a;
}

static INLINE float
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

#endif /* NW_MATH_SIMD_VEC_SCALAR_H */
