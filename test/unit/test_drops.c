/*
 * test_drops.c
 *		Scores in short: masses against those of all scores.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "math/class_mass.h"
#include "math/drops.h"
#include "math/simd/simd.h"
#include "simd_names.h"

#define CLASSES 5

/* One query, and its scores in short. */
typedef struct Case
{
	int64_t start[CLASSES + 1];
	double *score;
	double *log_weight; /* or NULL */
	NwDrops drops;
} Case;

/* Draw scores of classes of a few to a few thousand rows, and put them in short. */
static Case
draw(bool weighted)
{
	static const int most[CLASSES] = {1, 20, 64, 65, 3000};
	Case c;
	int64_t n = 0;
	int64_t room;

	for (int k = 0; k < CLASSES; k++)
	{
		c.start[k] = n;
		n += k < 4 ? most[k] : 500 + check_below(most[k]);
	}
	c.start[CLASSES] = n;
	c.score = check_alloc(sizeof(double) * n);
	c.log_weight = weighted ? check_alloc(sizeof(double) * n) : NULL;
	for (int64_t i = 0; i < n; i++)
	{
		c.score[i] = check_below(10) == 0 ? NW_SCORE_NONE : -5 - exp(check_uniform(-3, 3));
		if (weighted)
			c.log_weight[i] = check_uniform(-3, 3);
	}
	c.score[0] = NW_SCORE_NONE; /* a class without rows */
	c.score[n - 1] = c.score[n - 2] = -4.9;

	room = nw_drops_room(c.start, CLASSES);
	CHECK(room <= n, "no more cells than rows");
	c.drops.nclasses = CLASSES;
	c.drops.largest = check_alloc(sizeof(double) * CLASSES);
	c.drops.start = check_alloc(sizeof(int64_t) * (CLASSES + 1));
	c.drops.drop = check_alloc(sizeof(double) * room);
	c.drops.log_weight = check_alloc(sizeof(double) * room);
	nw_drops_fold(&c.drops, c.score, c.log_weight, c.start);
	CHECK(c.drops.start[CLASSES] <= room, "within the room");
	return c;
}

/* Free a query. */
static void
free_case(Case *c)
{
	free(c->score);
	free(c->log_weight);
	free(c->drops.largest);
	free(c->drops.start);
	free(c->drops.drop);
	free(c->drops.log_weight);
}

/* The logarithm of a class's mass, written out. */
static long double
log_mass(const Case *c, int class, double tau)
{
	long double sum = 0;

	for (int64_t i = c->start[class]; i < c->start[class + 1]; i++)
	{
		if (c->score[i] != NW_SCORE_NONE)
			sum += expl(((long double) c->score[i]) / tau + (c->log_weight ? c->log_weight[i] : 0));
	}
	return logl(sum);
}

/* Compare masses at many temperatures. */
static void
check_masses(bool weighted)
{
	static const double tau[] = {0.05, 0.2, 1, 5, 100};
	double scratch[4000];
	double mass[CLASSES];

	for (int round = 0; round < 20; round++)
	{
		Case c = draw(weighted);

		for (int t = 0; t < 5; t++)
		{
			nw_drops_log_masses(&c.drops, 1 / tau[t], scratch, mass);
			CHECK(mass[0] == -HUGE_VAL, "a class without rows has no mass");
			for (int k = 1; k < CLASSES; k++)
			{
				/* a cell is 1/32 wide, which is forgotten to the second order */
				double allowed = k < 3 ? 1e-12 : 2e-3;
				double expected = (double) log_mass(&c, k, tau[t]);

				CHECK(fabs(mass[k] - expected) <= allowed * (1 + fabs(expected) * 1e-2),
				      "class %d at %g: %.17g, not %.17g", k, tau[t], mass[k], expected);
			}
		}
		free_case(&c);
	}
}

/* Check that equal drops make one cell, and that this is exact. */
static void
check_equal(void)
{
	enum
	{
		n = 1000
	};
	double score[n];
	int64_t start[] = {0, n};
	double largest[1];
	int64_t cells[2];
	double drop[n];
	double weight[n];
	double scratch[n];
	double mass[1];
	NwDrops drops = {1, largest, cells, drop, weight};

	for (int i = 0; i < n; i++)
		score[i] = i < 10 ? -1 : -3;
	nw_drops_fold(&drops, score, NULL, start);
	CHECK(cells[1] == 2, "two cells: %ld", (long) cells[1]);
	nw_drops_log_masses(&drops, 2, scratch, mass);
	CHECK(fabs(mass[0] - log(10 * exp(-2) + 990 * exp(-6))) < 1e-13, "%.17g", mass[0]);

	for (int i = 0; i < n; i++)
		score[i] = -7;
	nw_drops_fold(&drops, score, NULL, start);
	CHECK(cells[1] == 1 && drop[0] == 0, "one cell");
}

int
main(void)
{
	check_start("drops");
	for (int k = 0; k < SIMD_COUNT; k++)
	{
		nw_simd = nw_simd_find(simd_names[k]);
		if (nw_simd == NULL)
			continue;
		check_masses(false);
		check_masses(true);
		check_equal();
	}
	return check_finish();
}
