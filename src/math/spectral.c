/*
 * math/spectral.c
 *		Bound the norm of a matrix that comes row by row.
 *
 * With G = R^T R, or R R^T, the squared norm of R is the norm of G.  For any
 * matrix |G|^2 = |G G^T|, and the Frobenius norm F, the root of the sum of
 * squares, is no less than the norm.  It is larger by up to the root of the
 * side, but of G multiplied by itself three times in turn that leaves the 16th
 * root of it, and less than a tenth where eigenvalues differ.
 *
 * In each step the product is made of G in double and G rounded to float, after
 * a scaling by a power of two that leaves F(G) in 1/2 .. 1.  It is off, by F, by
 * at most ROUNDING: 2^-24 for the rounding, and far less for what underflows
 * and for the sums.  So |G|^2 <= |G'| + ROUNDING, and the recursion is
 * evaluated from its end.  WIDE covers the rounding of G itself, and of this.
 *
 * Where rows are longer than NW_GRAM_SIDE, they are taken in blocks, and the
 * squared norms of the blocks are added up: never less than the whole.
 *
 * From below: the longest row v of the last power is close to the direction in
 * which G is largest, G v is closer, and |G v| / |v| is never more than the norm.
 */
#include "math/spectral.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "math/simd/simd.h"

/* Rows gathered take at most so many floats. */
#define BLOCK_FLOATS (1 << 20)

/* Queries at a time of those that a block is multiplied with. */
#define SLICE 32

#define STEPS 3
#define TURNS 20
#define ROUNDING 1e-7
#define WIDE 1e-6

/* True where the columns are multiplied, not the rows. */
static int
by_columns(int dim)
{
	return dim <= NW_GRAM_SIDE;
}

/* Rows of a block. */
static int
block_rows(int dim)
{
	int most = BLOCK_FLOATS / dim;

	if (by_columns(dim) || most > NW_GRAM_SIDE)
		return NW_GRAM_SIDE;
	return most > 1 ? most : 1;
}

size_t
nw_gram_memory(int dim)
{
	size_t block = block_rows(dim);
	size_t side = by_columns(dim) ? (size_t) dim : block;
	size_t length = by_columns(dim) ? block : (size_t) dim;

	return sizeof(double) * (SLICE * length + 2 * side * side) +
	       sizeof(float) * (block * dim + side * side);
}

/* Forget all rows. */
static void
clear(NwGram *gram)
{
	gram->n = 0;
	gram->slack = gram->most = gram->least = 0;
	memset(gram->product, 0, sizeof(double) * gram->side * gram->side);
}

void
nw_gram_init(NwGram *gram, int dim, bool from_below, void *space)
{
	int length;

	gram->dim = dim;
	gram->from_below = from_below;
	gram->block = block_rows(dim);
	gram->side = by_columns(dim) ? dim : gram->block;
	length = by_columns(dim) ? gram->block : dim;
	gram->wide = space;
	gram->product = gram->wide + (size_t) SLICE * length;
	gram->power = gram->product + (size_t) gram->side * gram->side;
	gram->rows = (float *) (gram->power + (size_t) gram->side * gram->side);
	gram->narrow = gram->rows + (size_t) gram->block * dim;
	clear(gram);
}

/* The Frobenius norm. */
static double
frobenius(const double *matrix, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += matrix[i] * matrix[i];
	return sqrt(sum);
}

/* result [side] = matrix v */
static void
times(const double *matrix, int side, const double *v, double *result)
{
	for (int i = 0; i < side; i++)
	{
		result[i] = 0;
		for (int j = 0; j < side; j++)
			result[i] += matrix[(size_t) i * side + j] * v[j];
	}
}

/* The longest row of a matrix. */
static const double *
longest_row(const double *matrix, int side)
{
	const double *best = matrix;
	double most = -1;

	for (int i = 0; i < side; i++)
	{
		double length = frobenius(matrix + (size_t) i * side, side);

		if (length > most)
		{
			most = length;
			best = matrix + (size_t) i * side;
		}
	}
	return best;
}

/* Bound the norm of the product from below, beginning with a direction. */
static double
norm_from_below(NwGram *gram, const double *direction)
{
	double v[NW_GRAM_SIDE];
	double image[NW_GRAM_SIDE];
	double norm = 0;

	memcpy(v, direction, sizeof(double) * gram->side);
	for (int i = 0; i < TURNS; i++)
	{
		double length = frobenius(v, gram->side);

		for (int j = 0; j < gram->side; j++)
			v[j] /= length;
		times(gram->product, gram->side, v, image);
		norm = frobenius(image, gram->side);
		if (norm == 0)
			break;
		memcpy(v, image, sizeof(double) * gram->side);
	}
	return norm * (1 - WIDE);
}

/* Bound the norm of the product. */
static void
product_norm(NwGram *gram, double *most, double *least)
{
	int side = gram->side;
	int n = side * side;
	int exponent[STEPS];
	double *power = gram->power;
	double bound;

	*most = *least = 0;
	if (frobenius(gram->product, n) == 0)
		return;
	memcpy(power, gram->product, sizeof(double) * n);
	for (int i = 0; i < STEPS; i++)
	{
		double scale;

		frexp(frobenius(power, n), &exponent[i]);
		scale = ldexp(1, -exponent[i]);
		for (int k = 0; k < n; k++)
		{
			power[k] *= scale;
			gram->narrow[k] = (float) power[k];
		}

		/* rows by rows, some at a time, so that the result can replace them */
		for (int k = 0; k < side; k += SLICE)
		{
			int slice = side - k < SLICE ? side - k : SLICE;

			memcpy(gram->wide, power + (size_t) k * side, sizeof(double) * slice * side);
			nw_simd->dot_block(gram->wide, slice, gram->narrow, side, side,
			                   power + (size_t) k * side);
		}
	}
	bound = frobenius(power, n);
	for (int i = STEPS - 1; i >= 0; i--)
		bound = ldexp(sqrt(bound * (1 + WIDE) + ROUNDING), exponent[i]);
	*most = bound * (1 + WIDE);
	if (gram->from_below)
		*least = norm_from_below(gram, longest_row(power, side));
}

/* Multiply the rows gathered. */
static void
multiply(NwGram *gram)
{
	int side = gram->side;
	int length = by_columns(gram->dim) ? gram->block : gram->dim;
	int count = by_columns(gram->dim) ? gram->dim : gram->n;

	if (gram->n == 0)
		return;
	if (by_columns(gram->dim))
	{
		/* what is not there counts nothing */
		for (int j = 0; j < gram->dim; j++)
			memset(gram->rows + (size_t) j * gram->block + gram->n, 0,
			       sizeof(float) * (gram->block - gram->n));
	}
	for (int i = 0; i < count; i += SLICE)
	{
		int slice = count - i < SLICE ? count - i : SLICE;
		const float *from = gram->rows + (size_t) i * length;

		for (int k = 0; k < slice * length; k++)
			gram->wide[k] = from[k];
		nw_simd->dot_block(gram->wide, slice, gram->rows, length, count, gram->power);
		for (int k = 0; k < slice; k++)
		{
			double *to = gram->product + (size_t) (i + k) * side;

			for (int j = 0; j < count; j++)
				to[j] += gram->power[(size_t) k * count + j];
		}
	}
	gram->n = 0;
	if (!by_columns(gram->dim))
	{
		double most;
		double least;

		product_norm(gram, &most, &least);
		gram->most += most;
		gram->least = fmax(gram->least, least);
		memset(gram->product, 0, sizeof(double) * side * side);
	}
}

void
nw_gram_add(NwGram *gram, const float *row, double off)
{
	if (by_columns(gram->dim))
	{
		for (int j = 0; j < gram->dim; j++)
			gram->rows[(size_t) j * gram->block + gram->n] = row[j];
	}
	else
		memcpy(gram->rows + (size_t) gram->n * gram->dim, row, sizeof(float) * gram->dim);
	gram->slack += off * off;
	if (++gram->n == gram->block)
		multiply(gram);
}

void
nw_gram_norm(NwGram *gram, double *most, double *least)
{
	double slack = sqrt(gram->slack) * (1 + WIDE);

	multiply(gram);
	if (by_columns(gram->dim))
		product_norm(gram, &gram->most, &gram->least);
	*most = sqrt(gram->most) * (1 + WIDE) + slack;
	*least = sqrt(gram->least) * (1 - WIDE) - slack;
	*least = *least > 0 ? *least : 0;
	clear(gram);
}
