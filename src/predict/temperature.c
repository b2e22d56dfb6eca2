/*
 * predict/temperature.c
 *		Search for the temperature of the least loss.
 *
 * Each pass goes over all queries and evaluates a whole grid of temperatures
 * from the same distances, so a search takes a handful of passes.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "grow.h"
#include "math/elementary.h"
#include "predict/temperature.h"
#include "sets/registry.h"

/* The default grid, in units of the typical drop of the scores. */
#define GRID_LOW 0.003
#define GRID_HIGH 1.0

/* How often the grid may move on, and how finely the best is looked into. */
#define MAX_EXTENSIONS 8
#define WORTH_EXTENDING 1e-6 /* relative gain of the last extension */
#define REFINE_STEPS 16

/* Let a sweep be cancelled. */
static void
check_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

/* Make an empty sweep over given temperatures. */
static NwSweep *
make_sweep(const double *tau, int n)
{
	NwSweep *sweep = palloc0(sizeof(NwSweep));

	sweep->n = n;
	sweep->interrupt = check_interrupts;
	sweep->point = palloc(n * sizeof(NwSweepPoint));
	for (int i = 0; i < n; i++)
	{
		NwBins *bins = palloc(nw_bins_size(NW_CALIBRATION_BINS));

		nw_bins_init(bins, NW_CALIBRATION_BINS);
		nw_sweep_point_init(&sweep->point[i], tau[i], bins);
	}
	return sweep;
}

/* Fill a list with values from low to high, evenly spaced. */
static void
fill_evenly(double *tau, int n, double low, double high)
{
	for (int i = 0; i < n; i++)
		tau[i] = n == 1 ? low : low + (high - low) * i / (n - 1);
}

/* Make an empty sweep over temperatures from low to high, evenly spaced. */
NwSweep *
nw_temperature_grid(double low, double high, int steps)
{
	double *tau = palloc(steps * sizeof(double));

	fill_evenly(tau, steps, low, high);
	return make_sweep(tau, steps);
}

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return (x > y) - (x < y);
}

/* The median of numbers, which are left sorted. */
static double
median(double *x, int64 n)
{
	qsort(x, n, sizeof(double), compare_doubles);
	return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* Note how far the typical score of a query is from its largest. */
static void
add_drop(NwTemperatureSearch *search, double *score, int64 n)
{
	double largest = NW_SCORE_NONE;
	int64 kept = 0;

	for (int64 i = 0; i < n; i++)
	{
		if (score[i] == NW_SCORE_NONE)
			continue;
		largest = Max(largest, score[i]);
		score[kept++] = score[i];
	}
	if (kept == 0)
		return;
	NW_RESERVE(search->mcxt, search->drop, search->drops_allocated, search->ndrops + 1);
	search->drop[search->ndrops++] = largest - median(score, kept);
}

/* Gather the logarithms of row weights in the support's order, or NULL. */
static double *
gather_log_weights(const NwSupport *support)
{
	double *result;
	int64 base = 0;

	if (!support->has_weights)
		return NULL;
	result = palloc_extended(support->n * sizeof(double), MCXT_ALLOC_HUGE);
	for (int c = 0; c < support->nchunks; c++)
	{
		memcpy(result + base, support->chunk[c].log_weight, support->chunk[c].n * sizeof(double));
		base += support->chunk[c].n;
	}
	return result;
}

static void
take_answer(const NwAnswer *answer, void *arg)
{
	NwTemperatureSearch *search = arg;
	const NwBatch *batch = search->batch;
	const NwSupport *support = batch->support;
	const int *order = nw_labels_order(support->labels);
	int nclasses = support->labels->n;
	int truth = -1;
	double *score;

	if (!answer->labelled)
		return;
	score = palloc_extended(2 * support->n * sizeof(double), MCXT_ALLOC_HUGE);
	nw_answer_scores(batch, answer, 1, false, NW_SCORE_NONE, score);
	if (search->sweep == NULL)
		add_drop(search, score, support->n);
	else
	{
		double *log_weight = gather_log_weights(support);
		double *work = palloc_extended(2 * nclasses * sizeof(double), MCXT_ALLOC_HUGE);

		for (int i = 0; i < nclasses; i++)
		{
			if (order[i] == answer->truth_class)
				truth = i;
		}
		nw_sweep_add(search->sweep, score, log_weight, support->class_start, nclasses, truth,
		             score + support->n, work);
		pfree(work);
		if (log_weight)
			pfree(log_weight);
	}
	pfree(score);
}

/* Let the answers of a batch go to a search, one after the other. */
void
nw_temperature_attach(NwTemperatureSearch *search, NwBatch *batch)
{
	search->batch = batch;
	batch->measures = true;
	batch->callback = take_answer;
	batch->arg = search;
}

static NwSweep *
evaluate(NwTemperatureSearch *search, NwSweep *sweep)
{
	search->sweep = sweep;
	search->pass(search);
	return sweep;
}

/* What is best so far. */
typedef struct Best
{
	double tau;
	double nll;
	double ece;
} Best;

/* Keep a point of a sweep where it is better. */
static void
keep_point(Best *best, const NwSweep *sweep, int i)
{
	if (nw_sweep_nll(sweep, i) < best->nll)
	{
		best->tau = sweep->point[i].tau;
		best->nll = nw_sweep_nll(sweep, i);
		best->ece = nw_bins_ece(sweep->point[i].bins);
	}
}

/* Keep the best point of a sweep where it is better; say where it is. */
static int
keep_best(Best *best, const NwSweep *sweep)
{
	int i = nw_sweep_best(sweep);

	keep_point(best, sweep, i);
	return i;
}

/* The last point of a sweep whose loss is within a coin toss of the least. */
static int
last_nearly_best(const NwSweep *sweep)
{
	double least = nw_sweep_loss(sweep, nw_sweep_best(sweep));
	int i = sweep->n - 1;

	while (nw_sweep_loss(sweep, i) > least + M_LN2)
		i--;
	return i;
}

/* Fill a list with values from low to high, each the same factor apart. */
static void
fill_geometrically(double *tau, int n, double low, double high)
{
	fill_evenly(tau, n, nw_log(low), nw_log(high));
	for (int i = 0; i < n; i++)
		tau[i] = Max(NW_TAU_MIN, Min(NW_TAU_MAX, nw_exp(tau[i])));
}

/* Look between the neighbours of a grid's best for a better one. */
static void
refine(NwTemperatureSearch *search, Best *best, double low, double high)
{
	double tau[REFINE_STEPS];
	double nll[3];
	NwSweep *sweep;
	int i;

	fill_geometrically(tau, REFINE_STEPS, low, high);
	sweep = evaluate(search, make_sweep(tau, REFINE_STEPS));
	i = keep_best(best, sweep);
	if (i > 0 && i < REFINE_STEPS - 1)
	{
		double vertex;

		for (int k = 0; k < 3; k++)
			nll[k] = nw_sweep_nll(sweep, i - 1 + k);
		vertex = nw_sweep_vertex(tau + i - 1, nll);
		(void) keep_best(best, evaluate(search, make_sweep(&vertex, 1)));
	}
}

/*
 * Search a grid around the typical drop of the scores, and beyond its edges; true
 * where no query was wrong at the lower edge.
 */
static bool
search_around(NwTemperatureSearch *search, Best *best, int steps)
{
	double *tau = palloc(steps * sizeof(double));
	double drop = 0;
	double low;
	double high;

	search->sweep = NULL;
	search->pass(search);
	if (search->ndrops > 0)
		drop = median(search->drop, search->ndrops);
	if (!(drop > 0))
		drop = best->tau;
	low = drop * GRID_LOW;
	high = drop * GRID_HIGH;
	for (int round = 0; round <= MAX_EXTENSIONS; round++)
	{
		NwSweep *sweep;
		double nll = best->nll;
		int i;

		fill_geometrically(tau, steps, low, high);
		sweep = evaluate(search, make_sweep(tau, steps));
		i = nw_sweep_best(sweep);
		if (i == 0 && sweep->point[0].wrong == 0)
		{
			keep_point(best, sweep, last_nearly_best(sweep));
			return true;
		}
		keep_point(best, sweep, i);
		if (i > 0 && i < steps - 1)
		{
			refine(search, best, tau[i - 1], tau[i + 1]);
			return false;
		}

		/* a loss that no longer falls has no minimum worth going on for */
		if (round > 0 && nll - best->nll <= WORTH_EXTENDING * nll)
			return false;

		/* overlap by a step, so that a minimum at the seam is inside */
		if (i == 0)
		{
			double factor = high / low;

			high = steps > 1 ? tau[1] : low;
			low = high / factor;
		}
		else
		{
			double factor = high / low;

			low = tau[steps - 2];
			high = low * factor;
		}
	}
	return false;
}

/*
 * Find the temperature of the least loss, never worse than before.  With low
 * and high (0 where not given) among steps values evenly spaced between them;
 * else over a geometric grid that the distances suggest, extended while the
 * best lies at an edge, then refined.
 *
 * Where every query is predicted right, the loss falls with tau for ever, and
 * the limit would be infinitely sure of its next mistake.  Then the largest
 * tau of the grid is taken whose loss, over all queries, exceeds the least by
 * no more than one coin toss.
 */
NwTemperature
nw_temperature_search(NwTemperatureSearch *search, double before, double low, double high,
                      int steps)
{
	NwTemperature result = {.tau = before};
	NwSweep *sweep = evaluate(search, make_sweep(&before, 1));
	Best best;

	result.n = sweep->queries;
	result.seen = sweep->queries - sweep->unseen;
	result.nll_before = nw_sweep_nll(sweep, 0);
	result.ece_before = nw_bins_ece(sweep->point[0].bins);
	best = (Best) {before, result.nll_before, result.ece_before};
	if (result.seen > 0)
	{
		if (low > 0)
			(void) keep_best(&best, evaluate(search, nw_temperature_grid(low, high, steps)));
		else
			result.flawless = search_around(search, &best, steps);
	}
	result.tau = best.tau;
	result.nll = best.nll;
	result.ece = best.ece;
	return result;
}
