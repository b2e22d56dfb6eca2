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
 * Where rows are longer than NW_SPECTRAL_SIDE, they are taken in blocks, and the
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
	return dim <= NW_SPECTRAL_SIDE;
}

/* Rows of a block. */
static int
block_rows(int dim)
{
	int most = BLOCK_FLOATS / dim;

	if (by_columns(dim) || most > NW_SPECTRAL_SIDE)
		return NW_SPECTRAL_SIDE;
	return most > 1 ? most : 1;
}

/* The bytes that a matrix of so many columns works in: at most about 7 MB. */
size_t
nw_spectral_memory(int dim)
{
	size_t block = block_rows(dim);
	size_t side = by_columns(dim) ? (size_t) dim : block;
	size_t length = by_columns(dim) ? block : (size_t) dim;

	return sizeof(double) * (SLICE * length + 2 * side * side) +
	       sizeof(float) * (block * dim + side * side);
}

/* Forget all rows. */
static void
clear(NwSpectral *matrix)
{
	matrix->n = 0;
	matrix->slack = matrix->most = matrix->least = 0;
	memset(matrix->product, 0, sizeof(double) * matrix->side * matrix->side);
}

/* Begin; space has nw_spectral_memory() bytes, aligned for double. */
void
nw_spectral_init(NwSpectral *matrix, int dim, bool from_below, void *space)
{
	int length;

	matrix->dim = dim;
	matrix->from_below = from_below;
	matrix->block = block_rows(dim);
	matrix->side = by_columns(dim) ? dim : matrix->block;
	length = by_columns(dim) ? matrix->block : dim;
	matrix->wide = space;
	matrix->product = matrix->wide + (size_t) SLICE * length;
	matrix->power = matrix->product + (size_t) matrix->side * matrix->side;
	matrix->rows = (float *) (matrix->power + (size_t) matrix->side * matrix->side);
	matrix->narrow = matrix->rows + (size_t) matrix->block * dim;
	clear(matrix);
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
norm_from_below(NwSpectral *matrix, const double *direction)
{
	double v[NW_SPECTRAL_SIDE];
	double image[NW_SPECTRAL_SIDE];
	double norm = 0;

	memcpy(v, direction, sizeof(double) * matrix->side);
	for (int i = 0; i < TURNS; i++)
	{
		double length = frobenius(v, matrix->side);

		for (int j = 0; j < matrix->side; j++)
			v[j] /= length;
		times(matrix->product, matrix->side, v, image);
		norm = frobenius(image, matrix->side);
		if (norm == 0)
			break;
		memcpy(v, image, sizeof(double) * matrix->side);
	}
	return norm * (1 - WIDE);
}

/* Bound the norm of the product. */
static void
product_norm(NwSpectral *matrix, double *most, double *least)
{
	int side = matrix->side;
	int n = side * side;
	int exponent[STEPS];
	double *power = matrix->power;
	double bound;

	*most = *least = 0;
	if (frobenius(matrix->product, n) == 0)
		return;
	memcpy(power, matrix->product, sizeof(double) * n);
	for (int i = 0; i < STEPS; i++)
	{
		double scale;

		frexp(frobenius(power, n), &exponent[i]);
		scale = ldexp(1, -exponent[i]);
		for (int k = 0; k < n; k++)
		{
			power[k] *= scale;
			matrix->narrow[k] = (float) power[k];
		}

		/* rows by rows, some at a time, so that the result can replace them */
		for (int k = 0; k < side; k += SLICE)
		{
			int slice = side - k < SLICE ? side - k : SLICE;

			memcpy(matrix->wide, power + (size_t) k * side, sizeof(double) * slice * side);
			nw_simd->dot_block(matrix->wide, slice, matrix->narrow, side, side,
			                   power + (size_t) k * side);
		}
	}
	bound = frobenius(power, n);
	for (int i = STEPS - 1; i >= 0; i--)
		bound = ldexp(sqrt(bound * (1 + WIDE) + ROUNDING), exponent[i]);
	*most = bound * (1 + WIDE);
	if (matrix->from_below)
		*least = norm_from_below(matrix, longest_row(power, side));
}

/* Multiply the rows gathered. */
static void
multiply(NwSpectral *matrix)
{
	int side = matrix->side;
	int length = by_columns(matrix->dim) ? matrix->block : matrix->dim;
	int count = by_columns(matrix->dim) ? matrix->dim : matrix->n;

	if (matrix->n == 0)
		return;
	if (by_columns(matrix->dim))
	{
		/* what is not there counts nothing */
		for (int j = 0; j < matrix->dim; j++)
			memset(matrix->rows + (size_t) j * matrix->block + matrix->n, 0,
			       sizeof(float) * (matrix->block - matrix->n));
	}
	for (int i = 0; i < count; i += SLICE)
	{
		int slice = count - i < SLICE ? count - i : SLICE;
		const float *from = matrix->rows + (size_t) i * length;

		for (int k = 0; k < slice * length; k++)
			matrix->wide[k] = from[k];
		nw_simd->dot_block(matrix->wide, slice, matrix->rows, length, count, matrix->power);
		for (int k = 0; k < slice; k++)
		{
			double *to = matrix->product + (size_t) (i + k) * side;

			for (int j = 0; j < count; j++)
				to[j] += matrix->power[(size_t) k * count + j];
		}
	}
	matrix->n = 0;
	if (!by_columns(matrix->dim))
	{
		double most;
		double least;

		product_norm(matrix, &most, &least);
		matrix->most += most;
		matrix->least = fmax(matrix->least, least);
		memset(matrix->product, 0, sizeof(double) * side * side);
	}
}

/* Add a row [dim] of finite numbers, which is off by at most so much. */
void
nw_spectral_add(NwSpectral *matrix, const float *row, double off)
{
	if (by_columns(matrix->dim))
	{
		for (int j = 0; j < matrix->dim; j++)
			matrix->rows[(size_t) j * matrix->block + matrix->n] = row[j];
	}
	else
		memcpy(matrix->rows + (size_t) matrix->n * matrix->dim, row, sizeof(float) * matrix->dim);
	matrix->slack += off * off;
	if (++matrix->n == matrix->block)
		multiply(matrix);
}

/*
 * Bound the norm of the rows added, and begin anew.  most is at least the norm,
 * and least at most; it is 0 where nothing from below was asked for.
 */
void
nw_spectral_norm(NwSpectral *matrix, double *most, double *least)
{
	double slack = sqrt(matrix->slack) * (1 + WIDE);

	multiply(matrix);
	if (by_columns(matrix->dim))
		product_norm(matrix, &matrix->most, &matrix->least);
	*most = sqrt(matrix->most) * (1 + WIDE) + slack;
	*least = sqrt(matrix->least) * (1 - WIDE) - slack;
	*least = *least > 0 ? *least : 0;
	clear(matrix);
}
