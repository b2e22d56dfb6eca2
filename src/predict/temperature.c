/*
 * predict/temperature.c
 *		Search for the temperatures of the least loss.
 *
 * tau decides labels and confidences, temper confidences alone.  For each tau the best
 * temper is found (math/temper_fit.c).  Of all such pairs that predict no more queries
 * wrongly than the tau of the set does, the one of the least loss wins.
 *
 * Distances are what takes time.  So a part of the queries, the pilot, says where to
 * look: its scores are kept in short, and many temperatures are tried on these.  Then
 * all queries come by, once, for the few temperatures that are left, and for the one
 * before, at which they are answered anyway (predict/finalists.c).
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "grow.h"
#include "math/class_mass.h"
#include "math/elementary.h"
#include "math/verdict.h"
#include "predict/temperature.h"
#include "sets/registry.h"

/* Where to look first: factors of two below the typical drop of the scores. */
#define GRID_OCTAVES 9

/* How often the grid may move on, and what share of the loss that must gain. */
#define MAX_EXTENSIONS 16
#define WORTH_EXTENDING 1e-4

/* How often to look closer, and points on each side of the best. */
#define ZOOMS 3
#define ZOOM_STEPS 3

/*
 * Up to so many pairs the pilot has all queries.  Else it has a sixteenth, few at least
 * where a quarter is as many: enough to know where to look, as all are asked then.
 */
#define SMALL_PAIRS (500 * 1000)
#define PILOT_FEW 128
#define PILOT_MOST 1024

/* One of how many queries of a pilot of so many says roughly where to look. */
#define ROUGHLY 4
#define ENOUGH 256

/* How far apart temperatures are when all of the pilot are asked: a quarter octave. */
#define STEP 1.1892071150027210667

/* Eighths of an octave around the best, and steps from it to the best that is allowed. */
#define AROUND 12
#define BETWEEN 16

/* Temperatures that a pilot of a part of the queries leaves to choose from. */
#define SPREAD 3

/*
 * A part of the queries leaves open where the best is: anywhere that the likelihood of
 * what the pilot saw is within exp(-DOUBT) of the largest.
 */
#define DOUBT 4.0

/* Points closer than this to another one tell nothing new of it. */
#define APART 1.03

/*
 * Tempered, very different values of tau may do nearly the same: with one row for each
 * class, exactly the same.  A loss over all queries above the least by no more than this,
 * in nats or as a share, does not tell them apart.  Then the fewest errors are best,
 * and the nearest to the tau of the set: rows keep their weights.
 */
#define ALIKE 0.1
#define ALIKE_SHARE 1e-4

/* Octaves below the grid that a tempered tau may have: there the nearest row is all. */
#define MORE_OCTAVES 2

#define LOG_2 0.69314718055994530942

/* Let a sweep be cancelled. */
static void
check_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

/* The value at a place of n that are evenly spaced from low to high. */
static double
evenly(double low, double high, int i, int n)
{
	return n == 1 ? low : low + (high - low) * i / (n - 1);
}

/* Make an empty sweep over temperatures from low to high, evenly spaced. */
NwSweep *
nw_temperature_grid(double low, double high, int steps)
{
	NwSweep *sweep = palloc0(sizeof(NwSweep));

	sweep->n = steps;
	sweep->interrupt = check_interrupts;
	sweep->point = palloc(steps * sizeof(NwSweepPoint));
	for (int i = 0; i < steps; i++)
	{
		NwBins *bins = palloc(nw_bins_size(NW_CALIBRATION_BINS));

		nw_bins_init(bins, NW_CALIBRATION_BINS);
		nw_sweep_point_init(&sweep->point[i], evenly(low, high, i, steps), bins);
	}
	return sweep;
}

/* Have the logarithms of row weights at hand, in the support's order. */
static void
gather_log_weights(NwTemperatureSearch *search)
{
	const NwSupport *support = search->batch->support;
	int64 base = 0;

	if (search->weights_of == support)
		return;
	if (search->log_weight)
		pfree(search->log_weight);
	search->log_weight = NULL;
	search->weights_of = support;
	if (!support->has_weights)
		return;
	search->log_weight = MemoryContextAllocHuge(search->mcxt, support->n * sizeof(double));
	for (int c = 0; c < support->nchunks; c++)
	{
		memcpy(search->log_weight + base, support->chunk[c].log_weight,
		       support->chunk[c].n * sizeof(double));
		base += support->chunk[c].n;
	}
}

/* Add a query to a sweep. */
static void
add_to_sweep(NwSweep *sweep, const NwQueryScores *query, double *scratch)
{
	double *work = palloc_extended(2 * query->nclasses * sizeof(double), MCXT_ALLOC_HUGE);

	nw_sweep_add(sweep, query->score, query->log_weight, query->support->class_start,
	             query->nclasses, query->truth, scratch, work);
	pfree(work);
}

/* Take an answer of a mixture, which has no scores: its temper is all there is to find. */
static void
take_mixed_answer(const NwAnswer *answer, void *arg)
{
	NwTemperatureSearch *search = arg;

	if (answer->labelled)
		nw_finalists_add(search->finalists, &(NwQueryScores) {.answer = answer});
}

static void
take_answer(const NwAnswer *answer, void *arg)
{
	NwTemperatureSearch *search = arg;
	const NwSupport *support = search->batch->support;
	const int *order = nw_labels_order(support->labels);
	NwQueryScores query = {
		.answer = answer, .support = support, .nclasses = support->labels->n, .truth = -1};
	double *score;

	if (!answer->labelled)
		return;
	gather_log_weights(search);
	score = palloc_extended(2 * support->n * sizeof(double), MCXT_ALLOC_HUGE);
	nw_answer_scores(search->batch, answer, 1, false, NW_SCORE_NONE, score);
	query.score = score;
	query.log_weight = search->log_weight;
	for (int i = 0; i < query.nclasses; i++)
	{
		if (order[i] == answer->truth_class)
			query.truth = i;
	}
	if (search->sweep)
		add_to_sweep(search->sweep, &query, score + support->n);
	if (search->pilot)
		nw_pilot_add(search->pilot, &query);
	if (search->finalists)
		nw_finalists_add(search->finalists, &query);
	pfree(score);
}

/* Let the answers of a batch go to a search, one after the other. */
void
nw_temperature_attach(NwTemperatureSearch *search, NwBatch *batch)
{
	search->batch = batch;
	batch->measures = batch->mixture == NULL;
	batch->callback = batch->mixture ? take_mixed_answer : take_answer;
	batch->arg = search;
}

/* What a pilot has tried, by tau. */
typedef struct Trials
{
	const NwTemperatureSearch *search;
	NwPilot *pilot;
	int64 every;         /* one of so many queries is in the pilot */
	int pilot_every;     /* and one of so many of these is asked */
	double scale;        /* how far scores typically are from the largest */
	double ceiling;      /* the largest tau that is tried */
	NwPilotPoint start;  /* the tau of the set */
	NwPilotPoint *point; /* [n] in ascending order of tau */
	int n;
	int allocated;
} Trials;

/* About the sharpness that goes with a temperature, by what was tried at a place near. */
static double
guess_sharpness(const Trials *trials, int place, double tau)
{
	const NwPilotPoint *near = &trials->point[Max(Min(place, trials->n - 1), 0)];

	if (trials->search->fit != NW_FIT_BOTH || trials->n == 0)
		return 1;
	/* it makes up for most of what a change of tau does */
	return near->sharpness * (tau / near->tau);
}

/* Try a temperature, unless it has been. */
static void
try_tau(Trials *trials, double tau)
{
	bool tempered = trials->search->fit == NW_FIT_BOTH;
	int at = trials->n;
	double guess;

	tau = Max(NW_TAU_MIN, Min(trials->ceiling, tau));
	while (at > 0 && trials->point[at - 1].tau >= tau)
		at--;
	if (at < trials->n && trials->point[at].tau == tau)
		return;
	guess = guess_sharpness(trials, at, tau);
	NW_RESERVE(CurrentMemoryContext, trials->point, trials->allocated, trials->n + 1);
	memmove(trials->point + at + 1, trials->point + at, (trials->n - at) * sizeof(NwPilotPoint));
	trials->point[at] = nw_pilot_try(trials->pilot, trials->pilot_every, tau, tempered, guess);
	trials->n++;
}

/* The largest loss that is as good as the least of so many queries, one of every so many. */
static double
alike(double least, double every)
{
	return least + Max(ALIKE / every, ALIKE_SHARE * least);
}

/* How far apart two temperatures are, as a factor of at least 1. */
static double
factor(double a, double b)
{
	return a > b ? a / b : b / a;
}

/* Of two that are alike, say whether the first has fewer errors, or is nearer to a tau. */
static bool
comes_first(int64 wrong, double tau, int64 other_wrong, double other_tau, double near)
{
	if (wrong != other_wrong)
		return wrong < other_wrong;
	return factor(tau, near) < factor(other_tau, near);
}

/* Say whether a point may be chosen: tempering is not to cost errors. */
static bool
is_allowed(const Trials *trials, const NwPilotPoint *point)
{
	return trials->search->fit == NW_FIT_TAU || point->wrong <= trials->start.wrong;
}

/*
 * The place of the best point: of all, or of those allowed with no more than so many
 * errors, and not near a temperature (0 for none); -1 where there are none.
 */
static int
find_best(const Trials *trials, bool allowed, int64 errors, double away_from)
{
	bool both = trials->search->fit == NW_FIT_BOTH;
	double least = HUGE_VAL;
	bool flawless = false;
	int best = -1;

	/* first the least loss, then the nearest of those alike */
	for (int turn = 0; turn < 2; turn++)
	{
		for (int i = 0; i < trials->n; i++)
		{
			const NwPilotPoint *point = &trials->point[i];

			if (allowed && (!is_allowed(trials, point) || point->wrong > errors))
				continue;
			if (away_from > 0 && factor(point->tau, away_from) < APART)
				continue;
			if (turn == 0)
			{
				least = Min(least, point->loss);
				flawless = flawless || point->flawless;
				continue;
			}
			if (both && flawless
			        ? !point->flawless
			        : point->loss >
			              (both ? alike(least, (double) trials->every * trials->pilot_every)
			                    : least))
				continue;
			if (best < 0 || comes_first(point->wrong, point->tau, trials->point[best].wrong,
			                            trials->point[best].tau, trials->start.tau))
				best = i;
		}
	}
	return best;
}

/* Try temperatures between two of them. */
static void
try_between(Trials *trials, double a, double b)
{
	double low = nw_log(a);
	double high = nw_log(b);

	for (int i = 1; i <= ZOOM_STEPS; i++)
		try_tau(trials, nw_exp(low + (high - low) * i / (ZOOM_STEPS + 1)));
}

/* Look closer at the best point, of all or of those allowed. */
static void
zoom_in(Trials *trials, bool allowed)
{
	int best = find_best(trials, allowed, PG_INT64_MAX, 0);
	double below;
	double at;
	double above;

	if (best < 0)
		return;
	at = trials->point[best].tau;
	below = best > 0 ? trials->point[best - 1].tau : 0;
	above = best < trials->n - 1 ? trials->point[best + 1].tau : 0;
	if (below > 0)
		try_between(trials, below, at);
	if (above > 0)
		try_between(trials, at, above);
}

/* Try where a parabola through the best point and its neighbours has its minimum. */
static void
try_vertex(Trials *trials)
{
	int best = find_best(trials, false, 0, 0);
	const NwPilotPoint *point = trials->point + best;
	double left;
	double right;
	double fall;
	double rise;
	double denominator;
	double step;

	if (best < 1 || best >= trials->n - 1)
		return;
	left = nw_log(point[-1].tau) - nw_log(point[0].tau);
	right = nw_log(point[1].tau) - nw_log(point[0].tau);
	fall = point[-1].loss - point[0].loss;
	rise = point[1].loss - point[0].loss;
	denominator = 2 * (right * fall - left * rise);
	if (!(denominator > 0))
		return;
	step = (right * right * fall - left * left * rise) / denominator;
	if (step > left && step < right)
		try_tau(trials, point[0].tau * nw_exp(step));
}

/*
 * The place of the largest tau whose loss exceeds its limit by no more than the
 * pilot's share of a coin toss; -1 where there is none.
 */
static int
find_cautious(const Trials *trials)
{
	int i = trials->n - 1;

	while (i >= 0 && !(trials->point[i].flawless &&
	                   trials->point[i].loss <= trials->point[i].limit + LOG_2 / trials->every))
		i--;
	return i;
}

/* Try a grid that the scores suggest, and beyond its edges while that helps. */
static void
try_octaves(Trials *trials)
{
	double before = HUGE_VAL;

	for (int i = 0; i <= GRID_OCTAVES; i++)
		try_tau(trials, ldexp(trials->scale, i - GRID_OCTAVES));
	for (int i = 0; i < (trials->search->fit == NW_FIT_BOTH ? MORE_OCTAVES : MAX_EXTENSIONS); i++)
	{
		int best = find_best(trials, false, 0, 0);
		double loss = trials->point[best].loss;

		if ((best > 0 && best < trials->n - 1) || before - loss <= WORTH_EXTENDING * loss)
			break;
		if (trials->point[best].flawless &&
		    (trials->search->fit == NW_FIT_BOTH || find_cautious(trials) >= 0))
			break;
		before = loss;
		try_tau(trials,
		        best == 0 ? trials->point[0].tau / 2 : trials->point[trials->n - 1].tau * 2);
	}
}

/* Enter a point that was tried as a finalist. */
static void
enter(const Trials *trials, NwFinalists *finalists, int place)
{
	if (place >= 0)
		nw_finalists_enter(finalists, trials->point[place].tau, trials->point[place].sharpness);
}

/* Enter a temperature near one that was tried; of a grid, the nearest there is. */
static void
enter_near(const Trials *trials, NwFinalists *finalists, double tau)
{
	int near = 0;

	for (int i = 1; i < trials->n; i++)
	{
		if (factor(trials->point[i].tau, tau) < factor(trials->point[near].tau, tau))
			near = i;
	}
	if (trials->search->low > 0)
		tau = trials->point[near].tau;
	tau = Max(NW_TAU_MIN, Min(trials->ceiling, tau));
	nw_finalists_enter(finalists, tau, guess_sharpness(trials, near, tau));
}

/* Enter what is left to choose from where tau alone is fitted and no query is wrong. */
static void
enter_cautious(Trials *trials, NwFinalists *finalists)
{
	for (int zoom = 0; zoom < ZOOMS && trials->search->low == 0; zoom++)
	{
		int i = find_cautious(trials);

		if (i < trials->n - 1)
			try_between(trials, trials->point[i].tau, trials->point[i + 1].tau);
	}
	for (int i = find_cautious(trials); i >= 0; i--)
		enter(trials, finalists, i);
}

/* Where the loss passes a bound between a point and the next in a direction, by logarithm. */
static double
cross_bound(const Trials *trials, int from, int direction, double bound)
{
	const NwPilotPoint *inside;
	const NwPilotPoint *outside;
	double share;
	int i = from;

	while (i + direction >= 0 && i + direction < trials->n &&
	       trials->point[i + direction].loss <= bound)
		i += direction;
	inside = &trials->point[i];
	if (i + direction < 0 || i + direction >= trials->n)
		return nw_log(inside->tau);
	outside = inside + direction;
	share = (bound - inside->loss) / (outside->loss - inside->loss);
	return nw_log(inside->tau) + share * (nw_log(outside->tau) - nw_log(inside->tau));
}

/* Enter temperatures all over where the best of all queries may be. */
static void
enter_spread(const Trials *trials, NwFinalists *finalists)
{
	int best = find_best(trials, false, 0, 0);
	double start = nw_log(trials->search->tau);
	double low = start - LOG_2;
	double high = start + LOG_2;
	int n = SPREAD;

	if (!trials->point[best].flawless)
	{
		double bound = trials->point[best].loss + DOUBT;

		low = cross_bound(trials, best, -1, bound);
		high = cross_bound(trials, best, 1, bound);
		/* where that is far from the tau there is, errors may call for the middle */
		if (start < low || start > high)
		{
			enter_near(trials, finalists, nw_exp((start + (start < low ? low : high)) / 2));
			n--;
		}
	}
	for (int i = 0; i < n; i++)
		enter_near(trials, finalists, nw_exp(low + (high - low) * (2 * i + 1) / (2 * n)));
}

/* Enter the best temperatures, where the pilot has all queries. */
static void
enter_best(const Trials *trials, NwFinalists *finalists)
{
	int best = find_best(trials, false, 0, 0);
	int allowed = find_best(trials, true, PG_INT64_MAX, 0);

	enter(trials, finalists, best);
	enter(trials, finalists, allowed);
	/* errors by scores in short may be off by one */
	if (allowed >= 0 && allowed != best)
	{
		enter(trials, finalists, find_best(trials, true, trials->start.wrong - 1, 0));
		enter(trials, finalists, find_best(trials, true, PG_INT64_MAX, trials->point[allowed].tau));
	}
	for (int i = 1; i < trials->n; i++)
	{
		if (best - i >= 0)
			enter(trials, finalists, best - i);
		if (best + i < trials->n)
			enter(trials, finalists, best + i);
	}
}

/* One of how many queries the pilot has. */
static int64
pilot_every(const NwTemperatureSearch *search)
{
	int64 n = search->queries;
	int64 pilot = Max(n / 16, Min(n / 4, PILOT_FEW));

	if (n <= SMALL_PAIRS / Max(search->supports, 1))
		return 1;
	return Max(2, n / Max(Min(pilot, PILOT_MOST), 1));
}

/* Go on from what some queries of the pilot told to what all of them say. */
static void
ask_all(Trials *trials)
{
	int best = find_best(trials, false, 0, 0);
	double tau = trials->point[best].tau;
	double doubt = trials->every > 1 ? DOUBT : 0;
	double least =
		trials->search->fit == NW_FIT_BOTH ? ldexp(trials->scale, -GRID_OCTAVES - MORE_OCTAVES) : 0;

	trials->pilot_every = 1;
	trials->n = 0;
	try_tau(trials, tau / STEP);
	try_tau(trials, tau);
	try_tau(trials, tau * STEP);

	/* until the best, and all that may be, lies between others */
	for (int i = 0; i < MAX_EXTENSIONS; i++)
	{
		const NwPilotPoint *first = &trials->point[0];
		const NwPilotPoint *last = &trials->point[trials->n - 1];
		double bound;

		best = find_best(trials, false, 0, 0);
		bound = trials->point[best].loss + doubt;
		if ((best == 0 || first->loss <= bound) && first->tau > least)
			try_tau(trials, first->tau / STEP);
		else if ((best == trials->n - 1 || last->loss <= bound) && last->tau < trials->ceiling)
			try_tau(trials, last->tau * STEP);
		else
			break;
	}
}

/*
 * Look for temperatures that are allowed where the best is not.  Errors go up and down
 * with tau, and few of its values may do: all around the best, and near the one there was.
 */
static void
try_allowed(Trials *trials)
{
	double tau = trials->point[find_best(trials, false, 0, 0)].tau;

	for (int i = 1; i <= AROUND; i++)
	{
		try_tau(trials, tau * nw_exp(i * LOG_2 / 8));
		try_tau(trials, tau * nw_exp(-i * LOG_2 / 8));
	}
	try_tau(trials, trials->search->tau);
	for (int zoom = 0; zoom < ZOOMS; zoom++)
		zoom_in(trials, true);

	/* the nearer to the best, the better: what lies between may be allowed, too */
	for (int round = 0; round < ZOOMS; round++)
	{
		int allowed = find_best(trials, true, PG_INT64_MAX, 0);
		double low = nw_log(tau);
		double high = allowed >= 0 ? nw_log(trials->point[allowed].tau) : low;

		for (int i = 1; i < BETWEEN; i++)
			try_tau(trials, nw_exp(low + (high - low) * i / BETWEEN));
	}
}

/* Look for the best temperatures that the scores suggest. */
static void
try_suggested(Trials *trials)
{
	bool both = trials->search->fit == NW_FIT_BOTH;

	trials->pilot_every = nw_pilot_queries(trials->pilot) >= ENOUGH ? ROUGHLY : 1;
	try_octaves(trials);
	zoom_in(trials, false);
	if (trials->pilot_every > 1)
		ask_all(trials);
	if (trials->every > 1)
		return;

	/* the pilot has all queries: the more digits, the better */
	try_vertex(trials);
	zoom_in(trials, false);
	try_vertex(trials);
	if (both && !is_allowed(trials, &trials->point[find_best(trials, false, 0, 0)]))
		try_allowed(trials);
}

/*
 * Find how far scores typically are from the largest.  At a tau above that rows weigh
 * nearly the same.  With temper to make up for it the loss may still be low, but weights
 * would name nothing any more: so there tau ends.
 */
static void
find_scale(Trials *trials)
{
	trials->scale = nw_pilot_scale(trials->pilot);
	if (!(trials->scale > 0 && trials->scale < NW_TAU_MAX))
		trials->scale = trials->search->tau;
	trials->ceiling = NW_TAU_MAX;
	if (trials->search->fit == NW_FIT_BOTH && trials->search->low == 0)
		trials->ceiling = Max(trials->scale, trials->search->tau);
}

/* Choose the temperatures that all queries are asked about. */
static void
choose_finalists(NwTemperatureSearch *search, NwFinalists *finalists)
{
	Trials trials = {.search = search, .every = pilot_every(search)};
	bool both = search->fit == NW_FIT_BOTH;

	trials.pilot = search->pilot = nw_pilot_create(search->mcxt);
	search->pass(search, trials.every);
	search->pilot = NULL;
	trials.every = Max(trials.every, search->queries / Max(nw_pilot_queries(trials.pilot), 1));
	trials.pilot_every = 1;
	find_scale(&trials);
	trials.start = nw_pilot_try(trials.pilot, 1, search->tau, both, 1);
	nw_finalists_enter(finalists, search->tau, trials.start.sharpness);

	if (search->low > 0)
	{
		for (int i = 0; i < search->steps; i++)
			try_tau(&trials, evenly(search->low, search->high, i, search->steps));
	}
	else
		try_suggested(&trials);
	if (!both && find_cautious(&trials) >= 0)
		enter_cautious(&trials, finalists);
	else if (trials.every > 1)
		enter_spread(&trials, finalists);
	else
		enter_best(&trials, finalists);
}

/* The place of the winner where tau alone was fitted. */
static int
choose_tau(const NwFinalists *finalists)
{
	int best = 0;
	int cautious = -1;

	for (int i = 0; i < finalists->n; i++)
	{
		const NwFinalist *item = &finalists->item[i];

		if (item->fit.loss < finalists->item[best].fit.loss)
			best = i;
		if (item->fit.flawless && item->fit.loss <= item->fit.limit + LOG_2 &&
		    (cautious < 0 || item->tau > finalists->item[cautious].tau))
			cautious = i;
	}
	return cautious >= 0 ? cautious : best;
}

/* The place of the winner among temperatures that were tempered each. */
static int
choose_pair(const NwFinalists *finalists)
{
	const NwFinalist *start = &finalists->item[0];
	double before = nw_sum_value(&finalists->loss_before);
	double least = HUGE_VAL;
	double worst;
	bool flawless = false;
	int best = -1;

	for (int i = 0; i < finalists->n; i++)
	{
		if (finalists->item[i].wrong > start->wrong)
			continue;
		least = Min(least, finalists->item[i].fit.loss);
		flawless = flawless || finalists->item[i].fit.flawless;
	}
	/* nor is the loss to rise */
	worst = Max(least, Min(alike(least, 1), before));
	for (int i = 0; i < finalists->n; i++)
	{
		const NwFinalist *item = &finalists->item[i];

		/* all that are flawless have one loss */
		if (item->wrong > start->wrong || (flawless ? !item->fit.flawless : item->fit.loss > worst))
			continue;
		if (best < 0 || comes_first(item->wrong, item->tau, finalists->item[best].wrong,
		                            finalists->item[best].tau, start->tau))
			best = i;
	}
	return best;
}

/*
 * Find temperatures of the least loss.  With low and high tau is among steps values
 * evenly spaced between them, or stays; else anything that the scores suggest.
 *
 * Where temper is fitted, no pair counts that predicts more queries wrongly than the
 * tau of the set; that tau with its own best temper always counts.
 */
NwTemperature
nw_temperature_search(NwTemperatureSearch *search)
{
	NwTemperature result = {.tau = search->tau, .temper = search->temper};
	NwFinalists *finalists = nw_finalists_create(search->mcxt);
	const NwFinalist *item;
	int best;

	if (search->fit == NW_FIT_TEMPER || search->queries == 0)
		nw_finalists_enter(finalists, search->tau, 0);
	else
		choose_finalists(search, finalists);
	search->finalists = finalists;
	search->pass(search, 1);
	search->finalists = NULL;

	result.n = finalists->queries;
	result.seen = finalists->seen;
	result.before = result.after = nw_finalists_before(finalists);
	result.wrong_before = result.wrong = finalists->item[0].wrong;
	if (result.seen > 0)
	{
		nw_finalists_temper(finalists, search->fit != NW_FIT_TAU);
		best = search->fit == NW_FIT_TAU ? choose_tau(finalists) : choose_pair(finalists);
		item = &finalists->item[best];
		result.tau = item->tau;
		result.temper = Max(NW_TEMPER_MIN, Min(NW_TEMPER_MAX, 1 / item->sharpness));
		result.wrong = item->wrong;
		result.changed = item->changed;
		result.flawless = item->fit.flawless;
		if (result.tau != search->tau || result.temper != search->temper)
			result.after = nw_finalists_figures(finalists, best, 1 / result.temper);

		/* at the end of what temper can be, a search may come out a digit short */
		if (search->fit != NW_FIT_TAU && !result.flawless && result.after.nll > result.before.nll)
		{
			result.tau = search->tau;
			result.temper = search->temper;
			result.after = result.before;
			result.wrong = result.wrong_before;
			result.changed = 0;
		}
	}
	nw_finalists_free(finalists);
	return result;
}
