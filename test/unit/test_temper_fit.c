/*
 * test_temper_fit.c
 *		The best sharpness: against a search by trial, and where there is none.
 */
#include <math.h>

#include "check.h"
#include "math/simd/simd.h"
#include "math/temper_fit.h"

#define CLASSES 6
#define QUERIES 200
#define LOW 1e-3
#define HIGH 1e3

/* Queries: logarithms of masses in units of the largest, and the place of the truth. */
typedef struct Case
{
	double ratio[QUERIES][CLASSES];
	int truth[QUERIES];
	int n;
} Case;

/* Draw queries; the truth is the largest, or by chance another. */
static Case
draw(int n, double spread, double wrong)
{
	Case c = {.n = n};

	for (int q = 0; q < n; q++)
	{
		int best = check_below(CLASSES);

		for (int k = 0; k < CLASSES; k++)
			c.ratio[q][k] = k == best ? 0 : -check_uniform(0.01, 1) * spread;
		c.truth[q] = best;
		if (check_uniform(0, 1) < wrong)
			c.truth[q] = check_below(CLASSES);
	}
	return c;
}

/* The loss at a sharpness, written out. */
static long double
loss_at(const Case *c, double sharpness)
{
	long double loss = 0;

	for (int q = 0; q < c->n; q++)
	{
		long double total = 0;

		for (int k = 0; k < CLASSES; k++)
			total += expl((long double) sharpness * c->ratio[q][k]);
		loss += logl(total) - (long double) sharpness * c->ratio[q][c->truth[q]];
	}
	return loss;
}

/* Fit, in as many rounds as it takes. */
static NwTemperFit
fit(const Case *c, double from)
{
	NwTemperFit result;
	int rounds = 0;

	nw_temper_fit_init(&result, from, LOW, HIGH);
	while (!result.done && ++rounds <= 60)
	{
		for (int q = 0; q < c->n; q++)
			nw_temper_fit_add(&result, c->ratio[q], CLASSES, c->ratio[q][c->truth[q]]);
		nw_temper_fit_step(&result);
	}
	CHECK(result.done, "not done after %d rounds", rounds);
	return result;
}

/* Compare with the golden section. */
static void
check_least(void)
{
	for (int round = 0; round < 100; round++)
	{
		Case c = draw(2 + check_below(QUERIES - 1), exp(check_uniform(-2, 4)), 0.2);
		NwTemperFit found = fit(&c, exp(check_uniform(-5, 5)));
		double a = log(LOW);
		double b = log(HIGH);

		if (found.flawless)
			continue;
		for (int i = 0; i < 120; i++)
		{
			double x = b - (b - a) * 0.6180339887498949;
			double y = a + (b - a) * 0.6180339887498949;

			if (loss_at(&c, exp(x)) < loss_at(&c, exp(y)))
				b = y;
			else
				a = x;
		}
		CHECK(loss_at(&c, found.sharpness) <= loss_at(&c, exp((a + b) / 2)) + 1e-9L,
		      "sharpness %.17g, not %.17g", found.sharpness, exp((a + b) / 2));
		CHECK(fabsl(found.loss - loss_at(&c, found.sharpness)) < 1e-8L, "loss %.17g", found.loss);
	}
}

/* Check that nobody gets infinitely sure. */
static void
check_flawless(void)
{
	for (int round = 0; round < 50; round++)
	{
		Case c = draw(5 + check_below(QUERIES - 4), exp(check_uniform(-1, 3)), 0);
		NwTemperFit found = fit(&c, exp(check_uniform(-5, 5)));

		CHECK(found.flawless, "no query is wrong");
		CHECK(found.sharpness >= HIGH * 0.99 ||
		          fabsl(loss_at(&c, found.sharpness) - logl(2)) < 1e-6L,
		      "a coin toss, not %Lg", loss_at(&c, found.sharpness));

		/* a tie leaves a doubt of its own */
		c.ratio[0][(c.truth[0] + 1) % CLASSES] = 0;
		found = fit(&c, 1);
		CHECK(found.flawless, "a tie is not an error");
		CHECK(found.sharpness >= HIGH * 0.99 ||
		          fabsl(loss_at(&c, found.sharpness) - 2 * logl(2)) < 1e-6L,
		      "two coin tosses, not %Lg", loss_at(&c, found.sharpness));
	}
}

/* Check the ends of what sharpness may be. */
static void
check_ends(void)
{
	Case c = draw(50, 5, 0);

	for (int q = 0; q < c.n; q++)
		c.truth[q] = (c.truth[q] + 1) % CLASSES;
	CHECK(fit(&c, 1).sharpness < LOW * 1.001, "always wrong: as flat as can be");
	c = draw(1, 1e-6, 0);
	CHECK(fit(&c, 1).sharpness <= HIGH, "no sharper than allowed");
	CHECK(nw_tempered_total(c.ratio[0], CLASSES, 0) == CLASSES, "flat");
}

int
main(void)
{
	check_start("temper_fit");
	nw_simd_init();
	check_least();
	check_flawless();
	check_ends();
	return check_finish();
}
