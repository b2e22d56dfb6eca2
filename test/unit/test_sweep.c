/*
 * test_sweep.c
 *		Many temperatures at once: against sums written out, and at extremes.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "math/class_mass.h"
#include "math/simd/simd.h"
#include "math/sweep.h"
#include "simd_names.h"

#define BINS 15

/* One query: scores of supports that are sorted by class. */
typedef struct Case
{
	int nclasses;
	int64_t *start; /* [nclasses + 1] */
	double *score;
	double *log_weight; /* or NULL */
	int truth;
} Case;

/* What one temperature makes of a query. */
typedef struct Expected
{
	int best;
	bool seen;
	long double loss;
	long double confidence;
	long double lead; /* how far the best is ahead, in logarithms */
} Expected;

/* Make an empty sweep. */
static NwSweep *
make_sweep(const double *tau, int n)
{
	NwSweep *sweep = check_alloc(sizeof(NwSweep));

	memset(sweep, 0, sizeof(NwSweep));
	sweep->n = n;
	sweep->point = check_alloc(sizeof(NwSweepPoint) * n);
	for (int i = 0; i < n; i++)
	{
		NwBins *bins = check_alloc(nw_bins_size(BINS));

		nw_bins_init(bins, BINS);
		nw_sweep_point_init(&sweep->point[i], tau[i], bins);
	}
	return sweep;
}

/* Free a sweep. */
static void
free_sweep(NwSweep *sweep)
{
	for (int i = 0; i < sweep->n; i++)
		free(sweep->point[i].bins);
	free(sweep->point);
	free(sweep);
}

/* Add a query, with work space of exact size. */
static void
add(NwSweep *sweep, const Case *c)
{
	double *scratch = check_alloc(sizeof(double) * c->start[c->nclasses]);
	double *work = check_alloc(sizeof(double) * 2 * c->nclasses);

	nw_sweep_add(sweep, c->score, c->log_weight, c->start, c->nclasses, c->truth, scratch, work);
	free(scratch);
	free(work);
}

/* Work a query out at one temperature, by the book. */
static Expected
work_out(const Case *c, double tau)
{
	Expected result = {.best = -1, .lead = HUGE_VALL};
	long double top = -HUGE_VALL;
	long double total = 0;
	long double mass[16];

	for (int i = 0; i < c->start[c->nclasses]; i++)
	{
		long double term = (long double) c->score[i] / tau + (c->log_weight ? c->log_weight[i] : 0);

		if (c->score[i] != NW_SCORE_NONE && term > top)
			top = term;
	}
	for (int k = 0; k < c->nclasses; k++)
	{
		mass[k] = 0;
		for (int64_t i = c->start[k]; i < c->start[k + 1]; i++)
		{
			if (c->score[i] != NW_SCORE_NONE)
				mass[k] += expl((long double) c->score[i] / tau +
				                (c->log_weight ? c->log_weight[i] : 0) - top);
		}
		total += mass[k];
		if (mass[k] > 0 && (result.best < 0 || mass[k] > mass[result.best]))
			result.best = k;
	}
	for (int k = 0; k < c->nclasses; k++)
	{
		if (k != result.best && mass[k] > 0)
			result.lead = fminl(result.lead, logl(mass[result.best] / mass[k]));
	}
	result.seen = c->truth >= 0 && mass[c->truth] > 0;
	result.loss = result.seen ? -logl(mass[c->truth] / total) : 0;
	result.confidence = mass[result.best] / total;
	return result;
}

/* Draw a query; some rows are left out. */
static Case
draw(int nclasses, bool weighted)
{
	Case c = {.nclasses = nclasses};
	int64_t n = 0;

	c.start = check_alloc(sizeof(int64_t) * (nclasses + 1));
	for (int k = 0; k < nclasses; k++)
	{
		c.start[k] = n;
		n += 1 + check_below(30);
	}
	c.start[nclasses] = n;
	c.score = check_alloc(sizeof(double) * n);
	c.log_weight = weighted ? check_alloc(sizeof(double) * n) : NULL;
	for (int64_t i = 0; i < n; i++)
	{
		c.score[i] = check_below(10) == 0 ? NW_SCORE_NONE : -check_uniform(0, 20);
		if (weighted)
			c.log_weight[i] = check_uniform(-3, 3);
	}
	c.score[check_below((int) n)] = -1; /* something is always left */
	c.truth = check_below(nclasses + 1) - 1;
	return c;
}

/* Free a query. */
static void
free_case(Case *c)
{
	free(c->start);
	free(c->score);
	free(c->log_weight);
}

/* Compare sums over random queries. */
static void
check_sums(bool weighted)
{
	enum
	{
		points = 5,
		queries = 60
	};
	static const double tau[points] = {0.05, 0.3, 1, 3, 100};
	NwSweep *sweep = make_sweep(tau, points);
	long double loss[points] = {0};
	int64_t wrong[points] = {0};
	NwBins *bins[points];
	int64_t unseen = 0;

	for (int p = 0; p < points; p++)
	{
		bins[p] = check_alloc(nw_bins_size(BINS));
		nw_bins_init(bins[p], BINS);
	}
	for (int q = 0; q < queries; q++)
	{
		Case c = draw(1 + check_below(6), weighted);

		for (int p = 0; p < points; p++)
		{
			Expected e = work_out(&c, tau[p]);

			CHECK(e.lead > 1e-9, "a tie by accident");
			loss[p] += e.loss;
			wrong[p] += e.best != c.truth;
			nw_bins_add(bins[p], (double) e.confidence, e.best == c.truth);
			if (p == 0 && !e.seen)
				unseen++;
		}
		add(sweep, &c);
		free_case(&c);
	}
	CHECK(sweep->queries == queries, "%ld", (long) sweep->queries);
	CHECK(sweep->unseen == unseen, "%ld, not %ld", (long) sweep->unseen, (long) unseen);
	for (int p = 0; p < points; p++)
	{
		double mean = (double) (loss[p] / (queries - unseen));

		CHECK(fabs(nw_sweep_nll(sweep, p) - mean) < 1e-12 * (1 + mean), "%.17g, not %.17g",
		      nw_sweep_nll(sweep, p), mean);
		CHECK(sweep->point[p].wrong == wrong[p], "%ld, not %ld", (long) sweep->point[p].wrong,
		      (long) wrong[p]);
		CHECK(nw_bins_count(sweep->point[p].bins) == queries, "unseen ones too");
		CHECK(fabs(nw_bins_ece(sweep->point[p].bins) - nw_bins_ece(bins[p])) < 1e-12,
		      "%.17g, not %.17g", nw_bins_ece(sweep->point[p].bins), nw_bins_ece(bins[p]));
		free(bins[p]);
	}
	free_sweep(sweep);
}

/* Check that all implementations give the same bits. */
static void
check_implementations(void)
{
	static const double tau[] = {0.02, 0.7, 5};
	const NwSimd *in_use = nw_simd;

	for (int q = 0; q < 20; q++)
	{
		Case c = draw(1 + check_below(6), q % 2 == 1);
		double loss[3];

		for (int k = 0; k < SIMD_COUNT; k++)
		{
			NwSweep *sweep = make_sweep(tau, 3);

			nw_simd = nw_simd_find(simd_names[k]);
			if (nw_simd)
				add(sweep, &c);
			for (int p = 0; nw_simd && p < 3; p++)
			{
				double got = nw_sweep_loss(sweep, p);

				if (k == 0)
					loss[p] = got;
				CHECK(memcmp(&loss[p], &got, sizeof(double)) == 0, "%s: %a, not %a", simd_names[k],
				      got, loss[p]);
			}
			free_sweep(sweep);
		}
		free_case(&c);
	}
	nw_simd = in_use;
}

/* Add one query of two supports of two classes; return the loss. */
static double
loss_of_two(double a, double b, double weight_a, double weight_b, double tau, int truth)
{
	double score[2] = {a, b};
	double log_weight[2] = {log(weight_a), log(weight_b)};
	int64_t start[3] = {0, 1, 2};
	Case c = {2, start, score, log_weight, truth};
	NwSweep *sweep = make_sweep(&tau, 1);
	double loss;

	add(sweep, &c);
	loss = nw_sweep_nll(sweep, 0);
	free_sweep(sweep);
	return loss;
}

/* Check scores, temperatures and weights far from 1. */
static void
check_extremes(void)
{
	static const double taus[] = {1e-100, 1e-3, 1, 1e100};
	double score[4] = {0, -1e6, -3e6, NW_SCORE_NONE};
	double log_weight[4];
	int64_t start[4] = {0, 2, 3, 4};

	/* a far class does not underflow, a class left out has no mass */
	for (int i = 0; i < 4; i++)
	{
		Case c = {3, start, score, NULL, 1};
		NwSweep *sweep = make_sweep(&taus[i], 1);
		double expected = 3e6 / taus[i];

		add(sweep, &c);
		if (i == 3)
			expected = log(3);
		CHECK(fabs(nw_sweep_nll(sweep, 0) - expected) <= 1e-9 * expected, "tau %g: %g, not %g",
		      taus[i], nw_sweep_nll(sweep, 0), expected);
		CHECK(sweep->unseen == 0 && sweep->point[0].wrong == 1, "tau %g", taus[i]);
		c.truth = 2;
		add(sweep, &c);
		CHECK(sweep->unseen == 1 && sweep->queries == 2, "left out: unseen");
		CHECK(fabs(nw_sweep_nll(sweep, 0) - expected) <= 1e-9 * expected,
		      "an unseen query does not count");
		free_sweep(sweep);
	}

	/* the heaviest row of a class need not be the nearest */
	for (int i = 0; i < 4; i++)
		log_weight[i] = i == 0 ? log(1e-300) : log(1e300);
	for (int i = 1; i < 3; i++)
	{
		Case c = {3, start, score, log_weight, 1};
		NwSweep *sweep = make_sweep(&taus[i], 1);
		double expected = (3e6 / taus[i]) + log(1e-300) - log(1e300);

		add(sweep, &c);
		CHECK(fabs(nw_sweep_nll(sweep, 0) - expected) <= 1e-9 * expected, "tau %g: %g, not %g",
		      taus[i], nw_sweep_nll(sweep, 0), expected);
		free_sweep(sweep);
	}

	/* weights alone decide between equals */
	CHECK(fabs(loss_of_two(-5, -5, 3, 1, 0.5, 0) - log(4. / 3)) < 1e-14, "%.17g",
	      loss_of_two(-5, -5, 3, 1, 0.5, 0));
	CHECK(fabs(loss_of_two(-5, -5, 3, 1, 0.5, 1) - log(4)) < 1e-14, "%.17g",
	      loss_of_two(-5, -5, 3, 1, 0.5, 1));
	CHECK(loss_of_two(0, -1e4, 1, 1, 1, 0) == 0, "a sure answer costs nothing");
}

/* Check which of equal classes counts. */
static void
check_ties(void)
{
	static const double tau[3] = {2, 1, 3};
	double score[3] = {-1, -1, -1};
	int64_t start[4] = {0, 1, 2, 3};
	NwSweep *sweep = make_sweep(tau, 3);

	for (int truth = -1; truth < 3; truth++)
		add(sweep, &(Case) {3, start, score, NULL, truth});
	CHECK(sweep->point[0].wrong == 3, "the first of equal classes: %ld",
	      (long) sweep->point[0].wrong);
	CHECK(sweep->unseen == 1, "%ld", (long) sweep->unseen);
	CHECK(fabs(nw_sweep_nll(sweep, 1) - log(3)) < 1e-15, "%.17g", nw_sweep_nll(sweep, 1));
	free_sweep(sweep);

	sweep = make_sweep(tau, 3);
	CHECK(nw_sweep_nll(sweep, 0) == 0, "an empty sweep");
	free(sweep->point[1].bins);
	sweep->point[1].bins = NULL;
	add(sweep, &(Case) {3, start, score, NULL, 1});
	CHECK(sweep->point[1].wrong == 1, "without bins");
	free_sweep(sweep);
}

int
main(void)
{
	check_start("sweep");
	for (int k = 0; k < SIMD_COUNT; k++)
	{
		nw_simd = nw_simd_find(simd_names[k]);
		if (nw_simd == NULL)
			continue;
		check_sums(false);
		check_sums(true);
		check_extremes();
		check_ties();
	}
	nw_simd_init();
	check_implementations();
	return check_finish();
}
