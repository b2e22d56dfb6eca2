/*
 * math/simd/blocks_avx512.c
 *		Many queries against many rows in AVX-512.
 *
 * Eight queries and sixteen rows are added up side by side, a row in each lane
 * of the registers.  What simd.h calls the lanes of a sum are taken one after
 * the other: all dimensions j, j + 16, j + 32 and so on, for all 128 pairs.
 * Taken in the order 0, 8, 4, 12, 2 and so on, they can be folded as they come,
 * the way a binary counter carries; no register is ever added up across.
 *
 * Rows come from a tile where they are double already, and turned so that the
 * sixteen numbers of a dimension are neighbours.
 */
#include "math/simd/blocks_avx512.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "math/simd/avx512.h"
#include "math/simd/sums.h"

#define TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
#define INLINE inline __attribute__((always_inline)) TARGET

#define QUERIES 8 /* side by side */
#define FEW 3     /* better one by one */
#define ROWS 16

#define CACHE_LINE 64

_Static_assert(NW_TILE_QUERIES % QUERIES == 0 && NW_TILE_DIM % NW_LANES == 0 && NW_LANES == 16,
               "tiles of whole steps");

/* Some dimensions of sixteen rows. */
typedef struct Tile
{
	double x[NW_TILE_DIM][ROWS];
} Tile;

/* One sum for each of 128 pairs: [query][half of the rows]. */
typedef struct Sums
{
	__m512d s[QUERIES][2];
} Sums;

/* Accumulate one dimension of eight rows. */
static INLINE __m512d
step(SumKind kind, __m512d acc, __m512d q, __m512d x, __m512d scale)
{
	__m512d diff;

	if (kind == SUM_DOT)
		return _mm512_fmadd_pd(q, x, acc);
	if (kind == SUM_SQDIST_SCALED)
		diff = _mm512_fnmadd_pd(scale, x, q);
	else
		diff = _mm512_sub_pd(q, x);
	return _mm512_fmadd_pd(diff, diff, acc);
}

/*
 * Add up one lane: dimensions lane, lane + 16, ... below width, on top of
 * before (NULL for nothing).  Then carry: the t-th lane taken joins the lane
 * before it, the pair the pair before, and so on for every 1 at the end of t;
 * what comes out goes to level[number of these].  Without carrying, t is 0.
 *
 * The sixteen sums are written out: compilers keep no array in registers.
 */
static INLINE void
sum_lane(SumKind kind, const Sums *before, const double *const *q, const Tile *tile,
         const __m512d *scale, int lane, int width, int t, Sums *level)
{
	__m512d zero = _mm512_setzero_pd();
	__m512d s0 = scale[0];
	__m512d s1 = scale[1];

#define EACH_QUERY(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define START(k)                                    \
	const double *q##k = q[k];                      \
	__m512d a##k = before ? before->s[k][0] : zero; \
	__m512d b##k = before ? before->s[k][1] : zero;
#define STEP(k)                         \
	v = _mm512_set1_pd(q##k[j]);        \
	a##k = step(kind, a##k, v, x0, s0); \
	b##k = step(kind, b##k, v, x1, s1);
#define CARRY(k)                                \
	a##k = _mm512_add_pd(a##k, level->s[k][0]); \
	b##k = _mm512_add_pd(b##k, level->s[k][1]);
#define SAVE(k)            \
	level->s[k][0] = a##k; \
	level->s[k][1] = b##k;

	EACH_QUERY(START)
	for (int j = lane; j < width; j += NW_LANES)
	{
		__m512d x0 = _mm512_load_pd(&tile->x[j][0]);
		__m512d x1 = _mm512_load_pd(&tile->x[j][8]);
		__m512d v;

		EACH_QUERY(STEP)
	}
	for (; t % 2 != 0; t /= 2, level++)
	{
		EACH_QUERY(CARRY)
	}
	EACH_QUERY(SAVE)
}

/* The lanes in the order in which they fold. */
static const int8_t lane_order[NW_LANES] = {0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15};

/* Swap rows and columns of sixteen registers. */
static INLINE void
transpose(__m512 *r)
{
	__m512 a[16];
	__m512 b[16];

	/* pairs of rows, then fours: 4 x 4 squares stand in quarters */
#pragma GCC unroll 8
	for (int i = 0; i < 8; i++)
	{
		a[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]);
		a[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
	}
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++)
	{
		__m512d low0 = _mm512_castps_pd(a[4 * i]);
		__m512d high0 = _mm512_castps_pd(a[4 * i + 1]);
		__m512d low1 = _mm512_castps_pd(a[4 * i + 2]);
		__m512d high1 = _mm512_castps_pd(a[4 * i + 3]);

		b[4 * i] = _mm512_castpd_ps(_mm512_unpacklo_pd(low0, low1));
		b[4 * i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low0, low1));
		b[4 * i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(high0, high1));
		b[4 * i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(high0, high1));
	}

	/* and the quarters: column c of each four, then of all sixteen */
#pragma GCC unroll 4
	for (int c = 0; c < 4; c++)
	{
		__m512 even0 = _mm512_shuffle_f32x4(b[c], b[4 + c], 0x88);
		__m512 odd0 = _mm512_shuffle_f32x4(b[c], b[4 + c], 0xdd);
		__m512 even1 = _mm512_shuffle_f32x4(b[8 + c], b[12 + c], 0x88);
		__m512 odd1 = _mm512_shuffle_f32x4(b[8 + c], b[12 + c], 0xdd);

		r[c] = _mm512_shuffle_f32x4(even0, even1, 0x88);
		r[4 + c] = _mm512_shuffle_f32x4(odd0, odd1, 0x88);
		r[8 + c] = _mm512_shuffle_f32x4(even0, even1, 0xdd);
		r[12 + c] = _mm512_shuffle_f32x4(odd0, odd1, 0xdd);
	}
}

/* Fill the tile with width dimensions of some rows; what is missing is 0. */
static INLINE void
fill(Tile *tile, const float *x, int dim, int rows, int width)
{
	for (int j = 0; j < width; j += NW_LANES)
	{
		__mmask16 mask = width - j >= NW_LANES ? 0xffff : (__mmask16) ((1U << (width - j)) - 1);
		__m512 r[ROWS];

#pragma GCC unroll 16
		for (int i = 0; i < ROWS; i++)
		{
			const float *row = x + (int64_t) i * dim + j;

			r[i] = _mm512_maskz_loadu_ps(i < rows ? mask : 0, row);
		}
		transpose(r);
#pragma GCC unroll 16
		for (int i = 0; i < NW_LANES; i++)
		{
			_mm512_store_pd(&tile->x[j + i][0], _mm512_cvtps_pd(_mm512_castps512_ps256(r[i])));
			_mm512_store_pd(&tile->x[j + i][8], _mm512_cvtps_pd(_mm512_extractf32x8_ps(r[i], 1)));
		}
	}
}

/*
 * Fetch one of several parts of the rows of the next tile: memory delivers
 * while the processor adds up, where a burst would keep it waiting.  Past the
 * end this does no harm.
 */
static INLINE void
prefetch(const float *next, int dim, int part, int parts)
{
	int64_t size = (int64_t) sizeof(float) * ROWS * dim;
	uintptr_t from = (uintptr_t) next + size * part / parts;
	uintptr_t to = (uintptr_t) next + size * (part + 1) / parts;

	for (; from < to; from += CACHE_LINE)
		_mm_prefetch((const char *) from, _MM_HINT_T1);
}

/* Store the sums of nq queries with some rows, n apart. */
static INLINE void
store(const Sums *sums, int nq, int rows, double *out, int64_t n)
{
	__mmask16 mask = (__mmask16) ((1U << rows) - 1);

	for (int k = 0; k < nq; k++)
	{
		_mm512_mask_storeu_pd(out + k * n, (__mmask8) mask, sums->s[k][0]);
		_mm512_mask_storeu_pd(out + k * n + 8, (__mmask8) (mask >> 8), sums->s[k][1]);
	}
}

/*
 * Add up a part of the dimensions of eight queries and the rows in the tile.
 * Between parts the lanes are kept in saved; at the end level[4] has the sums.
 */
static INLINE void
sum_part(SumKind kind, const double *const *q, const Tile *tile, const __m512d *scale, int width,
         bool first, bool last, Sums *saved, Sums *level)
{
	if (first && last)
	{
		/* the next queries follow these: fetch a sixteenth with each lane */
		uintptr_t next = (uintptr_t) (q[QUERIES - 1] + width);
		int size = (int) sizeof(double) * QUERIES * width / NW_LANES;

		/* written out, since carries that come and go are guessed wrong */
#pragma GCC unroll 16
		for (int t = 0; t < NW_LANES; t++)
		{
			for (int i = 0; i < size; i += CACHE_LINE)
				_mm_prefetch((const char *) (next + t * size + i), _MM_HINT_T0);
			sum_lane(kind, NULL, q, tile, scale, lane_order[t], width, t, level);
		}
		return;
	}
	for (int t = 0; t < NW_LANES; t++)
	{
		int lane = lane_order[t];

		if (first)
			sum_lane(kind, NULL, q, tile, scale, lane, width, 0, &saved[lane]);
		else
			sum_lane(kind, &saved[lane], q, tile, scale, lane, width, last ? t : 0,
			         last ? level : &saved[lane]);
	}
}

/* Add up nq queries with n rows. */
static INLINE void
sum_block(SumKind kind, const double *q, int nq, const float *x, const double *scale, int dim,
          int n, double *out)
{
	int parts = (dim + NW_TILE_DIM - 1) / NW_TILE_DIM;
	int steps = parts * ((nq + QUERIES - 1) / QUERIES);
	Tile tile __attribute__((aligned(64)));
	Sums saved[NW_TILE_QUERIES / QUERIES][NW_LANES];

	for (int i0 = 0; i0 < n && nq > 0; i0 += ROWS)
	{
		int rows = n - i0 < ROWS ? n - i0 : ROWS;
		__mmask16 mask = (__mmask16) ((1U << rows) - 1);
		__m512d row_scale[2];
		int steps_done = 0;

		row_scale[0] = row_scale[1] = _mm512_setzero_pd();
		if (kind == SUM_SQDIST_SCALED)
		{
			row_scale[0] = _mm512_maskz_loadu_pd((__mmask8) mask, scale + i0);
			row_scale[1] = _mm512_maskz_loadu_pd((__mmask8) (mask >> 8), scale + i0 + 8);
		}
		for (int q0 = 0; q0 < nq; q0 += NW_TILE_QUERIES)
		{
			int q_end = nq - q0 < NW_TILE_QUERIES ? nq : q0 + NW_TILE_QUERIES;

			for (int j0 = 0; j0 < dim; j0 += NW_TILE_DIM)
			{
				int width = dim - j0 < NW_TILE_DIM ? dim - j0 : NW_TILE_DIM;

				/* where there is one part, it stays for all queries */
				if (parts > 1 || q0 == 0)
					fill(&tile, x + (int64_t) i0 * dim + j0, dim, rows, width);

				for (int k = q0; k < q_end; k += QUERIES)
				{
					const double *each[QUERIES];
					int m = q_end - k < QUERIES ? q_end - k : QUERIES;
					Sums level[5];

					prefetch(x + (int64_t) (i0 + ROWS) * dim, dim, steps_done++, steps);

					/* the last query stands in for those that are missing */
					for (int i = 0; i < QUERIES; i++)
						each[i] = q + (int64_t) (k + (i < m ? i : m - 1)) * dim + j0;
					sum_part(kind, each, &tile, row_scale, width, j0 == 0, j0 + width == dim,
					         saved[(k - q0) / QUERIES], level);
					if (j0 + width == dim)
						store(&level[4], m, rows, out + (int64_t) k * n + i0, n);
				}
			}
		}
	}
}

/*
 * How many queries are left to the loops for single ones: a few that would
 * leave most of a step unused.
 */
static inline int
left_over(int nq)
{
	int rest = nq % QUERIES;

	return rest <= FEW ? rest : 0;
}

/* Squared distances. */
TARGET void
nw_avx512_sqdist_block(const double *q, int nq, const float *x, int dim, int n, double *out)
{
	int most = nq - left_over(nq);

	sum_block(SUM_SQDIST, q, most, x, NULL, dim, n, out);
	for (int k = most; k < nq; k++)
		nw_simd_avx512.sqdist(q + (int64_t) k * dim, x, dim, n, out + (int64_t) k * n);
}

/* Squared distances to scaled rows. */
TARGET void
nw_avx512_sqdist_scaled_block(const double *q, int nq, const float *x, const double *scale, int dim,
                              int n, double *out)
{
	int most = nq - left_over(nq);

	sum_block(SUM_SQDIST_SCALED, q, most, x, scale, dim, n, out);
	for (int k = most; k < nq; k++)
		nw_simd_avx512.sqdist_scaled(q + (int64_t) k * dim, x, scale, dim, n,
		                             out + (int64_t) k * n);
}

/* Inner products. */
TARGET void
nw_avx512_dot_block(const double *q, int nq, const float *x, int dim, int n, double *out)
{
	int most = nq - left_over(nq);

	sum_block(SUM_DOT, q, most, x, NULL, dim, n, out);
	for (int k = most; k < nq; k++)
		nw_simd_avx512.dot(q + (int64_t) k * dim, x, dim, n, out + (int64_t) k * n);
}

#endif /* __x86_64__ */
