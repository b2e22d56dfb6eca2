/*
 * math/simd/vec_avx512.h
 *		The vectors of AVX-512 (F, DQ, BW, VL); what the names mean is in
 *		vec_scalar.h.
 *
 * The sixteen lanes of a row are two registers, and four rows are added up
 * side by side.
 */
#ifndef NW_MATH_SIMD_VEC_AVX512_H
#define NW_MATH_SIMD_VEC_AVX512_H

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define VEC_NAME "avx512"

#define TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
#define INLINE inline __attribute__((always_inline)) TARGET
#define UNROLL _Pragma("GCC unroll 16")

#define VD 8
#define VF 16
#define VEC_MASKS 1
#define VEC_ROWS 4
#define VEC_BOTH_ROWS 4
#define VEC_CODE_ROWS 4
#define VEC_COPY_ROWS 4
#define VEC_EXP_BINS 1

typedef __m512d vd;
typedef __m512 vf;
typedef uint64_t vi __attribute__((vector_size(64)));
typedef __mmask8 vm;

/* Past the end of an array this does no harm. */
#define prefetch(address) _mm_prefetch((const char *) (address), _MM_HINT_T0)

#define vd_all(x) _mm512_set1_pd(x)
#define vf_all(x) _mm512_set1_ps(x)
#define vi_all(x) ((vi) _mm512_set1_epi64(x))
#define vd_keep(v) ((void) 0)
#define vf_keep(v) ((void) 0)
#define vd_load(p) _mm512_loadu_pd(p)
#define vi_load_upto(p, k) ((vi) _mm512_maskz_loadu_epi64(vm_first(k), p))
#define vf_store_upto(p, v, k) _mm512_mask_storeu_ps(p, first_floats(k), v)
#define vd_store_floats_upto(p, v, k) _mm256_mask_storeu_ps(p, vm_first(k), _mm512_cvtpd_ps(v))

#define vd_fma(a, b, c) _mm512_fmadd_pd(a, b, c)
#define vd_fms(a, b, c) _mm512_fmsub_pd(a, b, c)
#define vd_fnma(a, b, c) _mm512_fnmadd_pd(a, b, c)
#define vd_mul_add(a, b, c) _mm512_fmadd_pd(a, b, c)
#define vd_mul_sub(a, b, c) _mm512_fnmadd_pd(a, b, c)
#define vf_mul_add(a, b, c) _mm512_fmadd_ps(a, b, c)
#define vd_triple(a, b, c, d) _mm512_fmadd_pd(a, (b) * (c), d)
#define vd_divisor(x) (1.0 / (x))
#define vd_divide(a, x) ((a) * (x))

#define vd_min(a, b) _mm512_min_pd(a, b)
#define vd_max(a, b) _mm512_max_pd(a, b)
#define vd_abs(a) _mm512_abs_pd(a)
#define vd_round(a) _mm512_roundscale_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define vd_floor(a) _mm512_roundscale_pd(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)

#define vd_lt(a, b) _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ)
#define vd_gt(a, b) _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ)
#define vd_ge(a, b) _mm512_cmp_pd_mask(a, b, _CMP_GE_OQ)
#define vd_not_gt(a, b) _mm512_cmp_pd_mask(a, b, _CMP_NGT_UQ)
#define vm_none() ((vm) 0)
#define vm_and(a, b) ((vm) ((a) & (b)))
#define vm_or(a, b) ((vm) ((a) | (b)))
#define vm_any(m) ((m) != 0)
#define vd_if(m, a) _mm512_maskz_mov_pd(m, a)
#define vd_pick(m, a, b) _mm512_mask_mov_pd(b, m, a)
#define vi_if(m, a) ((vi) _mm512_maskz_mov_epi64(m, (__m512i) (a)))
#define vi_add_if(m, a, b) \
	((vi) _mm512_mask_add_epi64((__m512i) (a), m, (__m512i) (a), (__m512i) (b)))

#define vd_bits(a) ((vi) (a))
#define vi_double(a) ((vd) (a))
#define vd_integer(a) ((vi) _mm512_cvtpd_epi64(a))
#define vi_shl(a, n) ((vi) _mm512_sllv_epi64((__m512i) (a), (__m512i) (n)))
#define vi_shr(a, n) ((vi) _mm512_srlv_epi64((__m512i) (a), (__m512i) (n)))

/* For exp_bins. */
#define vi_ge(a, b) _mm512_cmp_epi64_mask((__m512i) (a), (__m512i) (b), _MM_CMPINT_NLT)
#define vm_and_not(a, b) ((vm) ((a) & ~(b)))
#define vm_every(m) ((m) == 0xff)

static INLINE vm
vm_first(int k)
{
	return k >= VD ? 0xff : (vm) ((1U << k) - 1);
}

static INLINE __mmask16
first_floats(int k)
{
	return k >= VF ? 0xffff : (__mmask16) ((1U << k) - 1);
}

/*
 * A masked load waits for a fresh store to reach the cache, and a plain load
 * for a masked store.  A caller with one number has just stored it and reads
 * the answer at once, so one number goes by plain loads and stores.
 */
static INLINE vd
vd_load_upto(const double *p, int k, double fill)
{
	if (k == 1 && fill == 0)
		return _mm512_zextpd128_pd512(_mm_load_sd(p));
	return _mm512_mask_loadu_pd(vd_all(fill), vm_first(k), p);
}

static INLINE void
vd_store_upto(double *p, vd v, int k)
{
	if (k == 1)
		*p = _mm512_cvtsd_f64(v);
	else
		_mm512_mask_storeu_pd(p, vm_first(k), v);
}

static INLINE void
vi_store_upto(uint64_t *p, vi v, int k)
{
	vd_store_upto((double *) p, vi_double(v), k);
}

static INLINE vf
vf_load_upto(const float *p, int k)
{
	return k >= VF ? _mm512_loadu_ps(p) : _mm512_maskz_loadu_ps(first_floats(k), p);
}

static INLINE vd
vd_load_floats_upto(const float *p, int k)
{
	return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(vm_first(k), p));
}

static INLINE vf
vf_load_bytes_upto(const int8_t *p, int k)
{
	return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(first_floats(k), p)));
}

static INLINE vf
vf_load_shorts_upto(const int16_t *p, int k)
{
	return _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm256_maskz_loadu_epi16(first_floats(k), p)));
}

static INLINE vf
vf_load_halves_upto(const uint16_t *p, int k)
{
	return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_floats(k), p));
}

static INLINE void
vd_store_shorts_upto(int16_t *p, vd v, int k)
{
	_mm_mask_storeu_epi16(p, vm_first(k), _mm256_cvtepi32_epi16(_mm512_cvtpd_epi32(v)));
}

/*
 * The hardware's root takes three times as long as this: an estimate of
 * 1 / sqrt(v) good to 14 bits, two steps of Newton's for root and half the
 * inverse together, and a last one from the exact remainder v - root^2, which
 * rounds correctly.  That holds while nothing is subnormal on the way; other
 * numbers, 0 among them, take the hardware's.
 */
static INLINE vd
vd_sqrt(vd v)
{
	const vd half = vd_all(0.5);
	vd y = _mm512_rsqrt14_pd(v);
	vd root = v * y;
	vd h = y * half;
	vd r = vd_fnma(root, h, half);

	root = vd_fma(root, r, root);
	h = vd_fma(h, r, h);
	r = vd_fnma(root, h, half);
	root = vd_fma(root, r, root);
	h = vd_fma(h, r, h);
	r = vd_fnma(root, root, v);
	root = vd_fma(r, h, root);
	if (vd_not_gt(v, vd_all(1e-200)) | _mm512_cmp_pd_mask(v, vd_all(1e200), _CMP_NLT_UQ))
		root = _mm512_sqrt_pd(v);
	return root;
}

static INLINE double
vd_fold(vd v)
{
	__m256d a = _mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd(v, 1));
	__m128d b = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));

	return _mm_cvtsd_f64(_mm_add_sd(b, _mm_unpackhi_pd(b, b)));
}

static INLINE void
vd_fold_rows(const vd *v, double *out)
{
	/* + 4: rows 0 and 1 in one register, rows 2 and 3 in another */
	vd a = _mm512_shuffle_f64x2(v[0], v[1], 0x44) + _mm512_shuffle_f64x2(v[0], v[1], 0xee);
	vd b = _mm512_shuffle_f64x2(v[2], v[3], 0x44) + _mm512_shuffle_f64x2(v[2], v[3], 0xee);

	/* + 2: all four rows, two lanes each */
	a = _mm512_shuffle_f64x2(a, b, 0x88) + _mm512_shuffle_f64x2(a, b, 0xdd);
	/* + 1 */
	a = a + _mm512_permute_pd(a, 0x55);
	a = _mm512_permutexvar_pd(_mm512_setr_epi64(0, 2, 4, 6, 0, 2, 4, 6), a);
	_mm256_storeu_pd(out, _mm512_castpd512_pd256(a));
}

#define vd_add_lanes(sum, v) ((sum) + vd_fold(v))
#define vd_least(v) _mm512_reduce_min_pd(v)
#define vd_most(v) _mm512_reduce_max_pd(v)
#define vi_total(v) ((uint64_t) _mm512_reduce_add_epi64((__m512i) (v)))

static INLINE void
vf_fold_codes(const vf *v, float *out)
{
	/* + 8 and + 4: a row is a quarter of a register */
	vf a = _mm512_shuffle_f32x4(v[0], v[1], 0x44) + _mm512_shuffle_f32x4(v[0], v[1], 0xee);
	vf b = _mm512_shuffle_f32x4(v[2], v[3], 0x44) + _mm512_shuffle_f32x4(v[2], v[3], 0xee);

	a = _mm512_shuffle_f32x4(a, b, 0x88) + _mm512_shuffle_f32x4(a, b, 0xdd);
	/* + 2 and + 1 */
	a = a + _mm512_permute_ps(a, 0x4e);
	a = a + _mm512_permute_ps(a, 0xb1);
	a = _mm512_permutexvar_ps(_mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	                          a);
	_mm_storeu_ps(out, _mm512_castps512_ps128(a));
}

#define vf_fold_copies vf_fold_codes

#endif /* NW_MATH_SIMD_VEC_AVX512_H */
