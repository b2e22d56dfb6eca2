/*
 * simd_avx512_block.c
 *		Many queries against many rows in AVX-512.
 *
 * Four queries and two rows are added up side by side: of the registers, 16
 * hold the lanes of these eight pairs, and each number loaded serves two or
 * four of them.  Rows come from a tile where they are double already.
 */
#include "simd.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "simd_impl.h"

#define TARGET	__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
#define INLINE	inline __attribute__((always_inline)) TARGET

#define QUERIES	4				/* side by side */

_Static_assert(NW_TILE_QUERIES % QUERIES == 0 && NW_TILE_ROWS % 2 == 0 &&
			   NW_TILE_DIM % NW_LANES == 0, "tiles of whole steps");

/* Eight lanes of eight pairs: queries 0 .. 3 with rows 0 and 1. */
typedef struct Half
{
	__m512d		q0r0,
				q1r0,
				q2r0,
				q3r0;
	__m512d		q0r1,
				q1r1,
				q2r1,
				q3r1;
} Half;

/* All lanes of eight pairs. */
typedef struct Sums
{
	Half		a;
	Half		b;
} Sums;

/* Rows of a block, widened; dim is padded to whole steps. */
typedef struct Tile
{
	double		x[NW_TILE_ROWS][NW_TILE_DIM];
} Tile;

/* Accumulate eight dimensions of a pair. */
static INLINE __m512d
step(SumKind kind, __m512d acc, __m512d q, __m512d x, __m512d scale)
{
	__m512d		diff;

	if (kind == SUM_DOT)
		return _mm512_fmadd_pd(q, x, acc);
	if (kind == SUM_SQDIST_SCALED)
		diff = _mm512_fnmadd_pd(scale, x, q);
	else
		diff = _mm512_sub_pd(q, x);
	return _mm512_fmadd_pd(diff, diff, acc);
}

/* Accumulate eight dimensions of nq queries, stride apart, and two rows. */
static INLINE void
step_half(SumKind kind, int nq, Half *h, const double *q, int64_t stride,
		  const double *x, __m512d s0, __m512d s1, __mmask8 mask)
{
	__m512d		x0 = _mm512_load_pd(x);
	__m512d		x1 = _mm512_load_pd(x + NW_TILE_DIM);
	__m512d		v;

	v = _mm512_maskz_loadu_pd(mask, q);
	h->q0r0 = step(kind, h->q0r0, v, x0, s0);
	h->q0r1 = step(kind, h->q0r1, v, x1, s1);
	if (nq > 1)
	{
		v = _mm512_maskz_loadu_pd(mask, q + stride);
		h->q1r0 = step(kind, h->q1r0, v, x0, s0);
		h->q1r1 = step(kind, h->q1r1, v, x1, s1);
	}
	if (nq > 2)
	{
		v = _mm512_maskz_loadu_pd(mask, q + 2 * stride);
		h->q2r0 = step(kind, h->q2r0, v, x0, s0);
		h->q2r1 = step(kind, h->q2r1, v, x1, s1);
	}
	if (nq > 3)
	{
		v = _mm512_maskz_loadu_pd(mask, q + 3 * stride);
		h->q3r0 = step(kind, h->q3r0, v, x0, s0);
		h->q3r1 = step(kind, h->q3r1, v, x1, s1);
	}
}

/* Fold lane i with lane i + 8, then + 4 and + 2, of four queries. */
static INLINE __m512d
fold(__m512d a0, __m512d a1, __m512d a2, __m512d a3,
	 __m512d b0, __m512d b1, __m512d b2, __m512d b3)
{
	a0 = _mm512_add_pd(a0, b0);
	a1 = _mm512_add_pd(a1, b1);
	a2 = _mm512_add_pd(a2, b2);
	a3 = _mm512_add_pd(a3, b3);
	a0 = _mm512_add_pd(_mm512_shuffle_f64x2(a0, a1, 0x44),
					   _mm512_shuffle_f64x2(a0, a1, 0xee));
	a2 = _mm512_add_pd(_mm512_shuffle_f64x2(a2, a3, 0x44),
					   _mm512_shuffle_f64x2(a2, a3, 0xee));
	return _mm512_add_pd(_mm512_shuffle_f64x2(a0, a2, 0x88),
						 _mm512_shuffle_f64x2(a0, a2, 0xdd));
}

/* Store what a query has with one row or two. */
static INLINE void
store(double *out, __m128d pair, int rows)
{
	if (rows > 1)
		_mm_storeu_pd(out, pair);
	else
		_mm_store_sd(out, pair);
}

/* Fold the sums of nq queries and store them, n apart. */
static INLINE void
finish(int nq, const Sums *sums, int rows, double *out, int64_t n)
{
	const Half *a = &sums->a;
	const Half *b = &sums->b;
	__m512d		r0 = fold(a->q0r0, a->q1r0, a->q2r0, a->q3r0,
						  b->q0r0, b->q1r0, b->q2r0, b->q3r0);
	__m512d		r1 = fold(a->q0r1, a->q1r1, a->q2r1, a->q3r1,
						  b->q0r1, b->q1r1, b->q2r1, b->q3r1);

	/* + 1: query by query, row 0 and row 1 */
	r0 = _mm512_add_pd(_mm512_unpacklo_pd(r0, r1),
					   _mm512_unpackhi_pd(r0, r1));
	store(out, _mm512_castpd512_pd128(r0), rows);
	if (nq > 1)
		store(out + n, _mm512_extractf64x2_pd(r0, 1), rows);
	if (nq > 2)
		store(out + 2 * n, _mm512_extractf64x2_pd(r0, 2), rows);
	if (nq > 3)
		store(out + 3 * n, _mm512_extractf64x2_pd(r0, 3), rows);
}

/* Where a part of the dimensions of some queries and two rows stands. */
typedef struct Part
{
	const double *q;			/* the first query, at the first dimension */
	int64_t		stride;			/* from query to query */
	const double *x;			/* the first row, in the tile */
	double		scale0,
				scale1;
	int			width;			/* dimensions in the tile */
	bool		first,			/* dimensions from 0 */
				last;			/* up to the end */
	int			rows;			/* 1 or 2 */
	Sums	   *saved;			/* between parts */
	double	   *out;
	int64_t		n;				/* from query to query in out */
} Part;

/* Add up a part of nq queries and two rows. */
static INLINE void
sum_part(SumKind kind, int nq, const Part *part)
{
	const double *q = part->q;
	const double *x = part->x;
	int64_t		stride = part->stride;
	__m512d		s0 = _mm512_setzero_pd();
	__m512d		s1 = s0;
	int			whole = part->width - part->width % NW_LANES;
	Sums		sums;

	if (kind == SUM_SQDIST_SCALED)
	{
		s0 = _mm512_set1_pd(part->scale0);
		s1 = _mm512_set1_pd(part->scale1);
	}

	if (part->first)
	{
		__m512d		zero = _mm512_setzero_pd();
		Half		none = {zero, zero, zero, zero, zero, zero, zero, zero};

		sums.a = none;
		sums.b = none;
	}
	else
		sums = *part->saved;

	for (int j = 0; j < whole; j += NW_LANES)
	{
		step_half(kind, nq, &sums.a, q + j, stride, x + j, s0, s1, 0xff);
		step_half(kind, nq, &sums.b, q + j + 8, stride, x + j + 8, s0, s1,
				  0xff);
	}

	if (whole < part->width)
	{
		unsigned int mask = (1U << (part->width - whole)) - 1;

		/* the tile's padding leaves the lanes beyond as they are */
		step_half(kind, nq, &sums.a, q + whole, stride, x + whole, s0, s1,
				  (__mmask8) (mask & 0xff));
		step_half(kind, nq, &sums.b, q + whole + 8, stride, x + whole + 8,
				  s0, s1, (__mmask8) (mask >> 8));
	}

	if (part->last)
		finish(nq, &sums, part->rows, part->out, part->n);
	else
		*part->saved = sums;
}

/* Add up a part of nq queries, at most QUERIES of them, and two rows. */
static INLINE void
sum_part_of(SumKind kind, int nq, const Part *part)
{
	switch (nq)
	{
		case 1:
			sum_part(kind, 1, part);
			break;
		case 2:
			sum_part(kind, 2, part);
			break;
		case 3:
			sum_part(kind, 3, part);
			break;
		default:
			sum_part(kind, QUERIES, part);
			break;
	}
}

/*
 * Widen a part of some rows.
 *
 * Dimensions up to a whole step are -0: with a query's 0 they make a product
 * of -0, which leaves any lane as it is, and a difference of 0, which leaves
 * a sum of squares as it is.
 */
static INLINE void
widen(Tile *tile, const float *x, int dim, int rows, int width)
{
	for (int i = 0; i < rows; i++)
	{
		const float *row = x + (int64_t) i * dim;
		int			j = 0;

		for (; j + NW_LANES <= width; j += NW_LANES)
		{
			/* the rows of the next tile; past the end this does no harm */
			_mm_prefetch((const char *) ((uintptr_t) (row + j) +
										 sizeof(float) * NW_TILE_ROWS * dim),
						 _MM_HINT_T0);
			_mm512_store_pd(&tile->x[i][j],
							_mm512_cvtps_pd(_mm256_loadu_ps(row + j)));
			_mm512_store_pd(&tile->x[i][j + 8],
							_mm512_cvtps_pd(_mm256_loadu_ps(row + j + 8)));
		}
		for (; j % NW_LANES != 0 || j < width; j++)
			tile->x[i][j] = j < width ? (double) row[j] : -0.0;
	}
	/* an odd row has a partner that no one asked for */
	if (rows % 2 != 0)
	{
		for (int j = 0; j < width || j % NW_LANES != 0; j += 8)
			_mm512_store_pd(&tile->x[rows][j], _mm512_setzero_pd());
	}
}

/* Add up nq queries with n rows. */
static INLINE void
sum_block(SumKind kind, const double *q, int nq, const float *x,
		  const double *scale, int dim, int n, double *out)
{
	int			parts = (dim + NW_TILE_DIM - 1) / NW_TILE_DIM;
	Tile		tile __attribute__((aligned(64)));
	Sums		saved[NW_TILE_QUERIES / QUERIES][NW_TILE_ROWS / 2];
	Part		part;

	part.stride = dim;
	part.n = n;
	for (int i0 = 0; i0 < n; i0 += NW_TILE_ROWS)
	{
		int			rows = n - i0 < NW_TILE_ROWS ? n - i0 : NW_TILE_ROWS;

		for (int q0 = 0; q0 < nq; q0 += NW_TILE_QUERIES)
		{
			int			q_end = nq - q0 < NW_TILE_QUERIES ? nq :
				q0 + NW_TILE_QUERIES;

			for (int j0 = 0; j0 < dim; j0 += NW_TILE_DIM)
			{
				part.width = dim - j0 < NW_TILE_DIM ? dim - j0 : NW_TILE_DIM;
				part.first = j0 == 0;
				part.last = j0 + part.width == dim;

				/* rows of one part stay for all queries */
				if (parts > 1 || q0 == 0)
					widen(&tile, x + (int64_t) i0 * dim + j0, dim, rows,
						  part.width);

				for (int k = q0; k < q_end; k += QUERIES)
				{
					part.q = q + (int64_t) k * dim + j0;
					for (int i = 0; i < rows; i += 2)
					{
						part.rows = i + 1 < rows ? 2 : 1;
						part.x = tile.x[i];
						if (kind == SUM_SQDIST_SCALED)
						{
							part.scale0 = scale[i0 + i];
							part.scale1 = scale[i0 + i + part.rows - 1];
						}
						part.saved = &saved[(k - q0) / QUERIES][i / 2];
						part.out = out + (int64_t) k * n + i0 + i;
						sum_part_of(kind, q_end - k, &part);
					}
				}
			}
		}
	}
}

/* Squared distances. */
TARGET void
nw_avx512_sqdist_block(const double *q, int nq, const float *x, int dim, int n,
					   double *out)
{
	if (nq == 1)
		nw_simd_avx512.sqdist(q, x, dim, n, out);
	else
		sum_block(SUM_SQDIST, q, nq, x, NULL, dim, n, out);
}

/* Squared distances to scaled rows. */
TARGET void
nw_avx512_sqdist_scaled_block(const double *q, int nq, const float *x,
							  const double *scale, int dim, int n, double *out)
{
	if (nq == 1)
		nw_simd_avx512.sqdist_scaled(q, x, scale, dim, n, out);
	else
		sum_block(SUM_SQDIST_SCALED, q, nq, x, scale, dim, n, out);
}

/* Inner products. */
TARGET void
nw_avx512_dot_block(const double *q, int nq, const float *x, int dim, int n,
					double *out)
{
	if (nq == 1)
		nw_simd_avx512.dot(q, x, dim, n, out);
	else
		sum_block(SUM_DOT, q, nq, x, NULL, dim, n, out);
}

#endif							/* __x86_64__ */
