/*
 * math/drops.c
 *		One query's scores in short: how far below the best of their class.
 *
 * A search for a temperature asks for the masses of a query's classes many times,
 * and need not know them to the last digit.  So the rows of a large class are put
 * in cells by the leading bits of their drop, which is geometric: BINS cells for
 * each factor of two, OCTAVES factors of two below the largest drop, and one cell
 * for what is nearer than that.  A cell stands at the mean drop of its rows, so a
 * mass errs by the second order of the cell's width: with v the variance of a
 * cell's drops in units of tau, by less than v / 2 of the cell's part of the mass.
 * A small class has a cell for each row, and its mass is exact.
 */
#include "math/drops.h"

#include <math.h>
#include <string.h>

#include "math/class_mass.h"
#include "math/elementary.h"
#include "math/simd/simd.h"

#define BIN_BITS 5
#define BINS (1 << BIN_BITS)
#define OCTAVES 14

/* Cells of a class at most: the last is for all that is nearer than the others. */
#define CELLS (BINS * OCTAVES + 1)

/* A class of no more rows has a cell for each. */
#define SMALL_CLASS 64

/* Cells that the classes of a support can need. */
int64_t
nw_drops_room(const int64_t *class_start, int nclasses)
{
	int64_t room = 0;

	for (int c = 0; c < nclasses; c++)
	{
		int64_t n = class_start[c + 1] - class_start[c];

		room += n <= SMALL_CLASS || n < CELLS ? n : CELLS;
	}
	return room;
}

/* Number a positive drop by its leading bits. */
static inline int64_t
leading_bits(double drop)
{
	uint64_t bits;

	memcpy(&bits, &drop, sizeof(bits));
	return (int64_t) (bits >> (52 - BIN_BITS));
}

/* Give each row of a small class a cell; return how many there are. */
static int
list_rows(const double *score, const double *log_weight, int64_t n, double largest, double *drop,
          double *cell_weight)
{
	int cells = 0;

	for (int64_t i = 0; i < n; i++)
	{
		if (score[i] == NW_SCORE_NONE)
			continue;
		drop[cells] = largest - score[i];
		cell_weight[cells++] = log_weight ? log_weight[i] : 0;
	}
	return cells;
}

/* Put the rows of a large class in cells; return how many there are. */
static int
gather_rows(const double *score, const double *log_weight, int64_t n, double largest, double *drop,
            double *cell_weight)
{
	double weight[CELLS] = {0};
	double sum[CELLS] = {0};
	double widest = 0;
	double heaviest = log_weight ? nw_simd->max(log_weight, (int) n) : 0;
	int64_t last;
	int cells = 0;

	for (int64_t i = 0; i < n; i++)
	{
		if (score[i] != NW_SCORE_NONE && largest - score[i] > widest)
			widest = largest - score[i];
	}
	last = leading_bits(widest);
	for (int64_t i = 0; i < n; i++)
	{
		double d = largest - score[i];
		double w = log_weight ? nw_exp(log_weight[i] - heaviest) : 1;
		int64_t k;

		if (score[i] == NW_SCORE_NONE)
			continue;
		k = last - leading_bits(d);
		k = k < CELLS - 1 ? k : CELLS - 1;
		weight[k] += w;
		sum[k] += w * d;
	}
	for (int k = 0; k < CELLS; k++)
	{
		if (!(weight[k] > 0))
			continue;
		drop[cells] = sum[k] / weight[k];
		cell_weight[cells++] = nw_log(weight[k]) + heaviest;
	}
	return cells;
}

/*
 * Take a query's scores, laid out as nw_class_largest() has them, into cells.  The
 * caller sets nclasses, and gives the arrays room: nw_drops_room() for the cells.
 */
void
nw_drops_fold(NwDrops *drops, const double *score, const double *log_weight,
              const int64_t *class_start)
{
	int64_t cell = 0;

	nw_class_largest(score, class_start, drops->nclasses, drops->largest);
	for (int c = 0; c < drops->nclasses; c++)
	{
		int64_t from = class_start[c];
		int64_t n = class_start[c + 1] - from;
		const double *weight = log_weight ? log_weight + from : NULL;

		drops->start[c] = cell;
		if (drops->largest[c] == NW_SCORE_NONE)
			continue;
		cell += (n <= SMALL_CLASS ? list_rows : gather_rows)(score + from, weight, n,
		                                                     drops->largest[c], drops->drop + cell,
		                                                     drops->log_weight + cell);
	}
	drops->start[drops->nclasses] = cell;
}

/*
 * The logarithms of the masses [nclasses] of the classes at one temperature,
 * -HUGE_VAL where a class has no row; scratch has room for the largest class.
 */
void
nw_drops_log_masses(const NwDrops *drops, double inverse_tau, double *scratch, double *mass)
{
	for (int c = 0; c < drops->nclasses; c++)
	{
		int n = (int) (drops->start[c + 1] - drops->start[c]);
		const double *drop = drops->drop + drops->start[c];
		const double *log_weight = drops->log_weight + drops->start[c];
		double shift;

		if (n == 0)
		{
			mass[c] = -HUGE_VAL;
			continue;
		}
		for (int i = 0; i < n; i++)
			scratch[i] = log_weight[i] - drop[i] * inverse_tau;
		shift = nw_simd->max(scratch, n);
		mass[c] = drops->largest[c] * inverse_tau + shift +
		          nw_log(nw_simd->exp_sum(scratch, n, 1, shift));
	}
}
