/*
 * math/simd/vec_avx2.h
 *		The vectors of AVX2 with FMA and F16C; what the names mean is in
 *		vec_scalar.h.
 *
 * The sixteen lanes of a row are four registers; with two rows side by side
 * the registers hold no more.
 */
#ifndef NW_MATH_SIMD_VEC_AVX2_H
#define NW_MATH_SIMD_VEC_AVX2_H

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define VEC_NAME "avx2"

#define TARGET __attribute__((target("avx2,fma,f16c")))
#define INLINE inline __attribute__((always_inline)) TARGET
#define UNROLL _Pragma("GCC unroll 16")

#define VD 4
#define VF 8
#define VEC_MASKS 0
#define VEC_ROWS 2
#define VEC_BOTH_ROWS 1
#define VEC_CODE_ROWS 4
#define VEC_COPY_ROWS 1
#define VEC_EXP_BINS 0

typedef __m256d vd;
typedef __m256 vf;
typedef uint64_t vi __attribute__((vector_size(32)));
typedef __m256d vm; /* all bits of a lane, or none */

/* Past the end of an array this does no harm. */
#define prefetch(address) _mm_prefetch((const char *) (address), _MM_HINT_T0)

#define vd_all(x) _mm256_set1_pd(x)
#define vf_all(x) _mm256_set1_ps(x)
#define vi_all(x) ((vi) _mm256_set1_epi64x(x))
#define vd_keep(v) __asm__("" : "+x"(v))
#define vf_keep(v) ((void) 0)
#define vd_load(p) _mm256_loadu_pd(p)
#define vi_load_upto(p, k) ((vi) _mm256_loadu_si256((const __m256i *) (p)))
#define vf_load_upto(p, k) _mm256_loadu_ps(p)
#define vf_store_upto(p, v, k) _mm256_storeu_ps(p, v)
#define vd_store_floats_upto(p, v, k) _mm_storeu_ps(p, _mm256_cvtpd_ps(v))

#define vd_fma(a, b, c) _mm256_fmadd_pd(a, b, c)
#define vd_fms(a, b, c) _mm256_fmsub_pd(a, b, c)
#define vd_fnma(a, b, c) _mm256_fnmadd_pd(a, b, c)
#define vd_mul_add(a, b, c) _mm256_fmadd_pd(a, b, c)
#define vd_mul_sub(a, b, c) _mm256_fnmadd_pd(a, b, c)
#define vf_mul_add(a, b, c) _mm256_fmadd_ps(a, b, c)
#define vd_triple(a, b, c, d) _mm256_fmadd_pd(a, (b) * (c), d)
#define vd_divisor(x) (1.0 / (x))
#define vd_divide(a, x) ((a) * (x))

#define vd_min(a, b) _mm256_min_pd(a, b)
#define vd_max(a, b) _mm256_max_pd(a, b)
#define vd_abs(a) _mm256_andnot_pd(vd_all(-0.0), a)
#define vd_sqrt(a) _mm256_sqrt_pd(a)
#define vd_round(a) _mm256_round_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define vd_floor(a) _mm256_floor_pd(a)

#define vd_lt(a, b) _mm256_cmp_pd(a, b, _CMP_LT_OQ)
#define vd_gt(a, b) _mm256_cmp_pd(a, b, _CMP_GT_OQ)
#define vd_ge(a, b) _mm256_cmp_pd(a, b, _CMP_GE_OQ)
#define vd_not_gt(a, b) _mm256_cmp_pd(a, b, _CMP_NGT_UQ)
#define vm_none() _mm256_setzero_pd()
#define vm_first(k) _mm256_castsi256_pd(first_lanes(k))
#define vm_and(a, b) _mm256_and_pd(a, b)
#define vm_or(a, b) _mm256_or_pd(a, b)
#define vm_any(m) (_mm256_movemask_pd(m) != 0)
#define vd_if(m, a) _mm256_and_pd(m, a)
#define vd_pick(m, a, b) _mm256_blendv_pd(b, a, m)
#define vi_if(m, a) ((vi) (m) & (a))
#define vi_add_if(m, a, b) ((a) + vi_if(m, b))

#define vd_bits(a) ((vi) (a))
#define vi_double(a) ((vd) (a))
/* the low bits of a double of 2^52 or more are its integer */
#define vd_integer(a) (vd_bits((a) + 0x1p52) ^ vd_bits(vd_all(0x1p52)))
#define vi_shl(a, n) ((vi) _mm256_sllv_epi64((__m256i) (a), (__m256i) (n)))
#define vi_shr(a, n) ((vi) _mm256_srlv_epi64((__m256i) (a), (__m256i) (n)))

/* The mask of the first k of four lanes, or of all. */
static INLINE __m256i
first_lanes(int k)
{
	static const int64_t masks[8] = {-1, -1, -1, -1, 0, 0, 0, 0};

	return _mm256_loadu_si256((const __m256i *) (masks + 4 - (k < 4 ? k : 4)));
}

/*
 * A masked load waits for a fresh store to reach the cache, and a plain load
 * for a masked store.  A caller with one number has just stored it and reads
 * the answer at once, so one number goes by plain loads and stores.
 */
static INLINE vd
vd_load_upto(const double *p, int k, double fill)
{
	if (k >= VD)
		return _mm256_loadu_pd(p);
	if (k == 1 && fill == 0)
		return _mm256_zextpd128_pd256(_mm_load_sd(p));
	return vd_pick(vm_first(k), _mm256_maskload_pd(p, first_lanes(k)), vd_all(fill));
}

static INLINE void
vd_store_upto(double *p, vd v, int k)
{
	if (k >= VD)
		_mm256_storeu_pd(p, v);
	else if (k == 1)
		*p = _mm256_cvtsd_f64(v);
	else
		_mm256_maskstore_pd(p, first_lanes(k), v);
}

static INLINE void
vi_store_upto(uint64_t *p, vi v, int k)
{
	vd_store_upto((double *) p, vi_double(v), k);
}

static INLINE vd
vd_load_floats_upto(const float *p, int k)
{
	static const int32_t masks[8] = {-1, -1, -1, -1, 0, 0, 0, 0};

	if (k >= VD)
		return _mm256_cvtps_pd(_mm_loadu_ps(p));
	return _mm256_cvtps_pd(_mm_maskload_ps(p, _mm_loadu_si128((const __m128i *) (masks + 4 - k))));
}

static INLINE vf
vf_load_bytes_upto(const int8_t *p, int k)
{
	(void) k;
	return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *) p)));
}

static INLINE vf
vf_load_shorts_upto(const int16_t *p, int k)
{
	(void) k;
	return _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *) p)));
}

static INLINE vf
vf_load_halves_upto(const uint16_t *p, int k)
{
	(void) k;
	return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *) p));
}

static INLINE float
widen_half(uint16_t half)
{
	return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(half)));
}

static INLINE void
vd_store_shorts_upto(int16_t *p, vd v, int k)
{
	__m128i integer = _mm256_cvtpd_epi32(v);

	(void) k;
	_mm_storel_epi64((__m128i *) p, _mm_packs_epi32(integer, integer));
}

/* Fold four lanes to two. */
static INLINE __m128d
fold_half(vd v)
{
	return _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
}

static INLINE double
vd_fold(vd v)
{
	__m128d a = fold_half(v);

	return _mm_cvtsd_f64(_mm_add_sd(a, _mm_unpackhi_pd(a, a)));
}

static INLINE void
vd_fold_rows(const vd *v, double *out)
{
	__m128d a = fold_half(v[0]);
	__m128d b = fold_half(v[1]);

	_mm_storeu_pd(out, _mm_add_pd(_mm_unpacklo_pd(a, b), _mm_unpackhi_pd(a, b)));
}

static INLINE double
vd_add_lanes(double sum, vd v)
{
	return sum + v[0] + v[1] + v[2] + v[3];
}

static INLINE double
vd_least(vd v)
{
	__m128d a = _mm_min_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));

	return _mm_cvtsd_f64(_mm_min_sd(a, _mm_unpackhi_pd(a, a)));
}

static INLINE double
vd_most(vd v)
{
	__m128d a = _mm_max_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));

	return _mm_cvtsd_f64(_mm_max_sd(a, _mm_unpackhi_pd(a, a)));
}

static INLINE uint64_t
vi_total(vi v)
{
	return v[0] + v[1] + v[2] + v[3];
}

/* Neighbours, rows side by side; then the halves. */
static INLINE void
vf_fold_codes(const vf *v, float *out)
{
	vf a = _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));

	_mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1)));
}

static INLINE void
vf_fold_copies(const vf *v, float *out)
{
	__m128 sum = _mm_add_ps(_mm256_castps256_ps128(*v), _mm256_extractf128_ps(*v, 1));

	sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
	sum = _mm_add_ss(sum, _mm_shuffle_ps(sum, sum, 1));
	*out = _mm_cvtss_f32(sum);
}

#endif /* NW_MATH_SIMD_VEC_AVX2_H */
