/*
 * math/simd/vec_neon.h
 *		The vectors of NEON on 64-bit ARM; what the names mean is in
 *		vec_scalar.h.
 *
 * The sixteen lanes of a row are eight registers; two rows side by side take
 * half of the registers there are, and are chains enough to keep the units
 * busy.
 */
#ifndef NW_MATH_SIMD_VEC_NEON_H
#define NW_MATH_SIMD_VEC_NEON_H

#include <arm_neon.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define VEC_NAME "neon"

#define TARGET
#define INLINE inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

#define VD 2
#define VF 4
#define VEC_MASKS 0
#define VEC_ROWS 2
#define VEC_BOTH_ROWS 1
#define VEC_CODE_ROWS 4
#define VEC_COPY_ROWS 4
#define VEC_EXP_BINS 0

typedef float64x2_t vd;
typedef float32x4_t vf;
typedef uint64x2_t vi;
typedef uint64x2_t vm; /* all bits of a lane, or none */

/* Past the end of an array this does no harm. */
#define prefetch(address) __builtin_prefetch((const void *) (address))

#define vd_all(x) vdupq_n_f64(x)
#define vf_all(x) vdupq_n_f32(x)
#define vi_all(x) vdupq_n_u64(x)
/* What is loaded behind it in the source is loaded behind it. */
#define vd_keep(v) __asm__ volatile("" : "+w"(v) : : "memory")
#define vf_keep(v) vd_keep(v)
#define vd_load(p) vld1q_f64(p)
#define vi_load_upto(p, k) vld1q_u64(p)
#define vf_load_upto(p, k) vld1q_f32(p)
#define vf_store_upto(p, v, k) vst1q_f32(p, v)
#define vd_store_floats_upto(p, v, k) vst1_f32(p, vcvt_f32_f64(v))

#define vd_fma(a, b, c) vfmaq_f64(c, a, b)
#define vd_fms(a, b, c) vfmaq_f64(-(c), a, b)
#define vd_fnma(a, b, c) vfmsq_f64(c, a, b)
#define vd_mul_add(a, b, c) vd_fma(a, b, c)
#define vd_mul_sub(a, b, c) vd_fnma(a, b, c)
#define vf_mul_add(a, b, c) vfmaq_f32(c, a, b)
#define vd_triple(a, b, c, d) vd_fma(a, (b) * (c), d)
#define vd_divisor(x) (1.0 / (x))
#define vd_divide(a, x) ((a) * (x))

#define vd_abs(a) vabsq_f64(a)
#define vd_sqrt(a) vsqrtq_f64(a)
#define vd_round(a) vrndnq_f64(a)
#define vd_floor(a) vrndmq_f64(a)

#define vd_lt(a, b) vcltq_f64(a, b)
#define vd_gt(a, b) vcgtq_f64(a, b)
#define vd_ge(a, b) vcgeq_f64(a, b)
#define vd_not_gt(a, b) (~vd_gt(a, b))
#define vm_none() vi_all(0)
#define vm_first(k) ((vm) {UINT64_MAX, (k) > 1 ? UINT64_MAX : 0})
#define vm_and(a, b) ((a) & (b))
#define vm_or(a, b) ((a) | (b))
#define vm_any(m) ((m)[0] != 0 || (m)[1] != 0)
#define vd_if(m, a) vi_double(vi_if(m, vd_bits(a)))
#define vd_pick(m, a, b) vbslq_f64(m, a, b)
#define vi_if(m, a) ((m) & (a))
#define vi_add_if(m, a, b) ((a) + vi_if(m, b))

#define vd_bits(a) ((vi) (a))
#define vi_double(a) ((vd) (a))
#define vd_integer(a) vcvtq_u64_f64(a)
#define vi_shl(a, n) vshlq_u64(a, (int64x2_t) (n))
#define vi_shr(a, n) vshlq_u64(a, -(int64x2_t) (n))

/* NEON's own minimum and maximum of a number and NaN are NaN. */
static INLINE vd
vd_min(vd a, vd b)
{
	return vd_pick(vd_lt(a, b), a, b);
}

static INLINE vd
vd_max(vd a, vd b)
{
	return vd_pick(vd_gt(a, b), a, b);
}

static INLINE vd
vd_load_upto(const double *p, int k, double fill)
{
	return k >= VD ? vd_load(p) : (vd) {*p, fill};
}

static INLINE void
vd_store_upto(double *p, vd v, int k)
{
	if (k >= VD)
		vst1q_f64(p, v);
	else
		*p = v[0];
}

static INLINE void
vi_store_upto(uint64_t *p, vi v, int k)
{
	if (k >= VD)
		vst1q_u64(p, v);
	else
		*p = v[0];
}

static INLINE vd
vd_load_floats_upto(const float *p, int k)
{
	return k >= VD ? vcvt_f64_f32(vld1_f32(p)) : (vd) {*p, 0};
}

static INLINE vf
vf_load_bytes_upto(const int8_t *p, int k)
{
	uint32_t four;

	(void) k;
	memcpy(&four, p, sizeof(four));
	return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(four))))));
}

static INLINE vf
vf_load_shorts_upto(const int16_t *p, int k)
{
	(void) k;
	return vcvtq_f32_s32(vmovl_s16(vld1_s16(p)));
}

static INLINE vf
vf_load_halves_upto(const uint16_t *p, int k)
{
	(void) k;
	return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}

static INLINE float
widen_half(uint16_t half)
{
	return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(half))), 0);
}

static INLINE void
vd_store_shorts_upto(int16_t *p, vd v, int k)
{
	(void) k;
	p[0] = (int16_t) v[0];
	p[1] = (int16_t) v[1];
}

#define vd_fold(v) vpaddd_f64(v)

static INLINE void
vd_fold_rows(const vd *v, double *out)
{
	vst1q_f64(out, vpaddq_f64(v[0], v[1]));
}

#define vd_add_lanes(sum, v) ((sum) + vd_fold(v))
#define vd_least(v) vminvq_f64(v)
#define vd_most(v) vmaxvq_f64(v)
#define vi_total(v) vaddvq_u64(v)

/* Neighbours, rows side by side, twice. */
static INLINE void
vf_fold_codes(const vf *v, float *out)
{
	vst1q_f32(out, vpaddq_f32(vpaddq_f32(v[0], v[1]), vpaddq_f32(v[2], v[3])));
}

#define vf_fold_copies vf_fold_codes

#endif /* NW_MATH_SIMD_VEC_NEON_H */
