/*
 * math/simd/blocks_avx2.c
 *		Many queries against many rows in AVX2 with FMA.
 *
 * Two queries and one row are added up side by side: of the registers, eight
 * hold the lanes of the two pairs.  Rows come from a tile where they are
 * double already.
 */
#include "math/simd/blocks_avx2.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#include "math/simd/avx2.h"
#include "math/simd/sums.h"

#define TARGET __attribute__((target("avx2,fma,f16c")))
#define INLINE inline __attribute__((always_inline)) TARGET

#define QUERIES 2 /* side by side */

_Static_assert(NW_TILE_QUERIES % QUERIES == 0 && NW_TILE_DIM % NW_LANES == 0,
               "tiles of whole steps");

/* The lanes of a pair, four by four. */
typedef struct Lanes
{
	__m256d a, b, c, d;
} Lanes;

/* The lanes of two queries with a row. */
typedef struct Sums
{
	Lanes q0;
	Lanes q1;
} Sums;

/* Rows of a block, widened; dim is padded to whole steps. */
typedef struct Tile
{
	double x[NW_TILE_ROWS][NW_TILE_DIM];
} Tile;

/* Accumulate four dimensions of a pair. */
static INLINE __m256d
step(SumKind kind, __m256d acc, const double *q, __m256d x, __m256d scale)
{
	__m256d v = _mm256_loadu_pd(q);
	__m256d diff;

	if (kind == SUM_DOT)
		return _mm256_fmadd_pd(v, x, acc);
	if (kind == SUM_SQDIST_SCALED)
		diff = _mm256_fnmadd_pd(scale, x, v);
	else
		diff = _mm256_sub_pd(v, x);
	return _mm256_fmadd_pd(diff, diff, acc);
}

/* Accumulate sixteen dimensions of two queries. */
static INLINE void
step_lanes(SumKind kind, Sums *sums, const double *q0, const double *q1, const double *x,
           __m256d scale)
{
	__m256d v;

	v = _mm256_load_pd(x);
	sums->q0.a = step(kind, sums->q0.a, q0, v, scale);
	sums->q1.a = step(kind, sums->q1.a, q1, v, scale);
	v = _mm256_load_pd(x + 4);
	sums->q0.b = step(kind, sums->q0.b, q0 + 4, v, scale);
	sums->q1.b = step(kind, sums->q1.b, q1 + 4, v, scale);
	v = _mm256_load_pd(x + 8);
	sums->q0.c = step(kind, sums->q0.c, q0 + 8, v, scale);
	sums->q1.c = step(kind, sums->q1.c, q1 + 8, v, scale);
	v = _mm256_load_pd(x + 12);
	sums->q0.d = step(kind, sums->q0.d, q0 + 12, v, scale);
	sums->q1.d = step(kind, sums->q1.d, q1 + 12, v, scale);
}

/* Fold a pair's lanes to two: i with i + 8, then + 4, then + 2. */
static INLINE __m128d
fold(const Lanes *lanes)
{
	__m256d a = _mm256_add_pd(_mm256_add_pd(lanes->a, lanes->c), _mm256_add_pd(lanes->b, lanes->d));

	return _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
}

/* Two queries, at the first of some dimensions. */
typedef struct Queries
{
	const double *q0;
	const double *q1;
	double tail[2][NW_LANES]; /* what does not fill a step, then 0 */
} Queries;

/* Add up a part of the dimensions of two queries and a row of the tile. */
static INLINE void
sum_part(SumKind kind, Sums *sums, const Queries *queries, const double *x, double scale, int width)
{
	__m256d s = _mm256_set1_pd(scale);
	int whole = width - width % NW_LANES;

	for (int j = 0; j < whole; j += NW_LANES)
		step_lanes(kind, sums, queries->q0 + j, queries->q1 + j, x + j, s);
	/* the tile's padding leaves the lanes beyond as they are */
	if (whole < width)
		step_lanes(kind, sums, queries->tail[0], queries->tail[1], x + whole, s);
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
		int j = 0;

		for (; j + NW_LANES <= width; j += NW_LANES)
		{
			/* the rows of the next tile; past the end this does no harm */
			_mm_prefetch(
				(const char *) ((uintptr_t) (row + j) + sizeof(float) * NW_TILE_ROWS * dim),
				_MM_HINT_T0);
			for (int k = j; k < j + NW_LANES; k += 4)
				_mm256_store_pd(&tile->x[i][k], _mm256_cvtps_pd(_mm_loadu_ps(row + k)));
		}
		for (; j % NW_LANES != 0 || j < width; j++)
			tile->x[i][j] = j < width ? (double) row[j] : -0.0;
	}
}

/* Add up nq queries with n rows. */
static INLINE void
sum_block(SumKind kind, const double *q, int nq, const float *x, const double *scale, int dim,
          int n, double *out)
{
	const __m256d zero = _mm256_setzero_pd();
	const Lanes none = {zero, zero, zero, zero};
	int parts = (dim + NW_TILE_DIM - 1) / NW_TILE_DIM;
	Tile tile __attribute__((aligned(32)));
	Sums saved[NW_TILE_QUERIES / QUERIES][NW_TILE_ROWS];

	for (int i0 = 0; i0 < n; i0 += NW_TILE_ROWS)
	{
		int rows = n - i0 < NW_TILE_ROWS ? n - i0 : NW_TILE_ROWS;

		for (int q0 = 0; q0 < nq; q0 += NW_TILE_QUERIES)
		{
			int q_end = nq - q0 < NW_TILE_QUERIES ? nq : q0 + NW_TILE_QUERIES;

			for (int part = 0; part < parts; part++)
			{
				int j0 = part * NW_TILE_DIM;
				int width = dim - j0 < NW_TILE_DIM ? dim - j0 : NW_TILE_DIM;
				int rest = width % NW_LANES;

				/* rows of one part stay for all queries */
				if (parts > 1 || q0 == 0)
					widen(&tile, x + (int64_t) i0 * dim + j0, dim, rows, width);

				for (int k = q0; k < q_end; k += QUERIES)
				{
					bool two = k + 1 < q_end;
					Queries queries = {.tail = {{0}}};

					/* an odd query is its own partner */
					queries.q0 = q + (int64_t) k * dim + j0;
					queries.q1 = queries.q0 + (two ? dim : 0);
					if (rest > 0)
					{
						memcpy(queries.tail[0], queries.q0 + width - rest, sizeof(double) * rest);
						memcpy(queries.tail[1], queries.q1 + width - rest, sizeof(double) * rest);
					}

					for (int i = 0; i < rows; i++)
					{
						Sums *kept = &saved[(k - q0) / QUERIES][i];
						double *result = out + (int64_t) k * n + i0 + i;
						Sums sums = {none, none};
						__m128d r0;
						__m128d r1;

						/* registers, save between parts */
						if (part > 0)
							sums = *kept;
						sum_part(kind, &sums, &queries, tile.x[i],
						         kind == SUM_SQDIST_SCALED ? scale[i0 + i] : 0, width);
						if (part < parts - 1)
						{
							*kept = sums;
							continue;
						}
						r0 = fold(&sums.q0);
						r1 = fold(&sums.q1);
						r0 = _mm_add_pd(_mm_unpacklo_pd(r0, r1), _mm_unpackhi_pd(r0, r1));
						_mm_storel_pd(result, r0);
						if (two)
							_mm_storeh_pd(result + n, r0);
					}
				}
			}
		}
	}
}

/* Squared distances. */
TARGET void
nw_avx2_sqdist_block(const double *q, int nq, const float *x, int dim, int n, double *out)
{
	if (nq == 1)
		nw_simd_avx2.sqdist(q, x, dim, n, out);
	else
		sum_block(SUM_SQDIST, q, nq, x, NULL, dim, n, out);
}

/* Squared distances to scaled rows. */
TARGET void
nw_avx2_sqdist_scaled_block(const double *q, int nq, const float *x, const double *scale, int dim,
                            int n, double *out)
{
	if (nq == 1)
		nw_simd_avx2.sqdist_scaled(q, x, scale, dim, n, out);
	else
		sum_block(SUM_SQDIST_SCALED, q, nq, x, scale, dim, n, out);
}

/* Inner products. */
TARGET void
nw_avx2_dot_block(const double *q, int nq, const float *x, int dim, int n, double *out)
{
	if (nq == 1)
		nw_simd_avx2.dot(q, x, dim, n, out);
	else
		sum_block(SUM_DOT, q, nq, x, NULL, dim, n, out);
}

#endif /* __x86_64__ */
