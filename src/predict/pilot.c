/*
 * predict/pilot.c
 *		How good predictions are at any temperature, by a few queries.
 *
 * A search tries many temperatures.  It does so on a part of the queries, kept in
 * short (math/drops.c): a few digits are enough to know where to look with all.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "grow.h"
#include "math/class_mass.h"
#include "math/drops.h"
#include "math/elementary.h"
#include "math/temper_fit.h"
#include "math/verdict.h"
#include "predict/pilot.h"

/* What the queries may take together; beyond, every other one is given up. */
#define PILOT_BYTES (64 * 1024 * 1024)

/* Rounds that the search for a sharpness may take: halving gets there in fewer. */
#define MAX_ROUNDS 60

/* One query. */
typedef struct PilotQuery
{
	NwDrops drops;
	int truth;    /* place of its class, or -1 where that has no row */
	double scale; /* from its largest score to the mean of all */
	Size bytes;

	/* at the temperature that was tried last */
	double *ratio; /* [nratios] logarithms of masses, in units of the largest */
	int nratios;
	double truth_ratio;
} PilotQuery;

struct NwPilot
{
	MemoryContext mcxt;
	PilotQuery **query; /* [n] */
	int n;
	int allocated;
	int64 met;   /* queries that were offered */
	int64 every; /* of which one is kept */
	Size bytes;
	int64 most_cells; /* of a class of any query */
};

/* Make a pilot without queries. */
NwPilot *
nw_pilot_create(MemoryContext mcxt)
{
	NwPilot *pilot = MemoryContextAllocZero(mcxt, sizeof(NwPilot));

	pilot->mcxt = mcxt;
	pilot->every = 1;
	return pilot;
}

/* Queries that are kept. */
int64
nw_pilot_queries(const NwPilot *pilot)
{
	return pilot->n;
}

/* How far a query's largest score is from the mean; 0 where no row is left. */
static double
scale_of(const NwQueryScores *query, double largest)
{
	double sum = 0;
	int64 n = 0;

	for (int64 i = 0; i < query->support->n; i++)
	{
		if (query->score[i] == NW_SCORE_NONE)
			continue;
		sum += largest - query->score[i];
		n++;
	}
	return n > 0 ? sum / n : 0;
}

/* Give every other query up. */
static void
thin_out(NwPilot *pilot)
{
	int kept = 0;

	for (int i = 0; i < pilot->n; i++)
	{
		PilotQuery *query = pilot->query[i];

		if (i % 2 == 0)
			pilot->query[kept++] = query;
		else
		{
			pilot->bytes -= query->bytes;
			pfree(query->drops.largest);
			pfree(query);
		}
	}
	pilot->n = kept;
	pilot->every *= 2;
}

/* Copy a query to memory of its own size. */
static PilotQuery *
copy_query(MemoryContext mcxt, const NwDrops *drops)
{
	PilotQuery *query = MemoryContextAllocZero(mcxt, sizeof(PilotQuery));
	Size n = drops->nclasses;
	Size cells = drops->start[n];
	double *space;

	query->bytes = (n + (n + 1) + 2 * cells + n) * sizeof(double);
	space = MemoryContextAllocHuge(mcxt, query->bytes);
	query->drops.nclasses = drops->nclasses;
	query->drops.largest = space;
	query->drops.start = (int64 *) (space + n);
	query->drops.drop = space + n + n + 1;
	query->drops.log_weight = query->drops.drop + cells;
	query->ratio = query->drops.log_weight + cells;
	memcpy(query->drops.largest, drops->largest, n * sizeof(double));
	memcpy(query->drops.start, drops->start, (n + 1) * sizeof(int64));
	memcpy(query->drops.drop, drops->drop, cells * sizeof(double));
	memcpy(query->drops.log_weight, drops->log_weight, cells * sizeof(double));
	return query;
}

/* Offer a query. */
void
nw_pilot_add(NwPilot *pilot, const NwQueryScores *query)
{
	const int64 *class_start = query->support->class_start;
	Size n = query->nclasses;
	Size room = nw_drops_room(class_start, query->nclasses);
	NwDrops drops = {.nclasses = query->nclasses};
	PilotQuery *kept;
	double largest = NW_SCORE_NONE;

	if (pilot->met++ % pilot->every != 0)
		return;
	drops.largest = palloc_extended((n + 1 + 2 * room) * sizeof(double), MCXT_ALLOC_HUGE);
	drops.drop = drops.largest + n;
	drops.log_weight = drops.drop + room;
	drops.start = palloc_extended((n + 1) * sizeof(int64), MCXT_ALLOC_HUGE);
	nw_drops_fold(&drops, query->score, query->log_weight, class_start);

	kept = copy_query(pilot->mcxt, &drops);
	for (int c = 0; c < query->nclasses; c++)
	{
		largest = Max(largest, drops.largest[c]);
		pilot->most_cells = Max(pilot->most_cells, drops.start[c + 1] - drops.start[c]);
	}
	kept->scale = scale_of(query, largest);
	kept->truth = query->truth;
	if (kept->truth >= 0 && drops.largest[kept->truth] == NW_SCORE_NONE)
		kept->truth = -1;
	pfree(drops.largest);
	pfree(drops.start);

	NW_RESERVE(pilot->mcxt, pilot->query, pilot->allocated, pilot->n + 1);
	pilot->query[pilot->n++] = kept;
	pilot->bytes += kept->bytes;
	while (pilot->bytes > PILOT_BYTES && pilot->n > 1)
		thin_out(pilot);
}

/* How far scores typically are from the largest. */
double
nw_pilot_scale(const NwPilot *pilot)
{
	double sum = 0;

	for (int i = 0; i < pilot->n; i++)
		sum += pilot->query[i]->scale;
	return pilot->n > 0 ? sum / pilot->n : 0;
}

/* Find the ratios of a query's masses at a temperature; false where it has none. */
static bool
find_ratios(PilotQuery *query, double inverse_tau, double *scratch, int64 *wrong)
{
	double *mass = query->ratio;
	int n = query->drops.nclasses;
	double most;
	int best = 0;

	nw_drops_log_masses(&query->drops, inverse_tau, scratch, mass);
	for (int c = 1; c < n; c++)
	{
		if (mass[c] > mass[best])
			best = c;
	}
	query->nratios = 0;
	if (n == 0 || mass[best] == -HUGE_VAL)
		return false;
	*wrong += best != query->truth;
	most = mass[best];
	if (query->truth >= 0)
		query->truth_ratio = mass[query->truth] - most;
	for (int c = 0; c < n; c++)
	{
		if (mass[c] != -HUGE_VAL)
			query->ratio[query->nratios++] = mass[c] - most;
	}
	return true;
}

/* Add one of so many queries to a fit, once. */
static void
add_queries(const NwPilot *pilot, int every, NwTemperFit *fit)
{
	for (int i = 0; i < pilot->n; i += every)
	{
		const PilotQuery *query = pilot->query[i];

		if (query->truth >= 0 && query->nratios > 0)
			nw_temper_fit_add(fit, query->ratio, query->nratios, query->truth_ratio);
	}
	CHECK_FOR_INTERRUPTS();
}

/*
 * Say how good predictions for one of so many queries are at a temperature: tempered
 * as is best, which is looked for from a sharpness on, or at that sharpness.
 */
NwPilotPoint
nw_pilot_try(NwPilot *pilot, int every, double tau, bool tempered, double sharpness)
{
	NwPilotPoint point = {.tau = tau};
	NwTemperFit fit;
	double *scratch = palloc_extended(Max(pilot->most_cells, 1) * sizeof(double), MCXT_ALLOC_HUGE);

	for (int i = 0; i < pilot->n; i += every)
	{
		(void) find_ratios(pilot->query[i], 1 / tau, scratch, &point.wrong);
		CHECK_FOR_INTERRUPTS();
	}
	pfree(scratch);

	nw_temper_fit_init(&fit, sharpness, 1 / NW_TEMPER_MAX, 1 / NW_TEMPER_MIN);
	if (tempered)
	{
		for (int round = 0; round < MAX_ROUNDS && !fit.done; round++)
		{
			add_queries(pilot, every, &fit);
			nw_temper_fit_step(&fit);
		}
		point.sharpness = fit.sharpness;
		point.loss = fit.loss;
		point.flawless = fit.flawless;
	}
	else
	{
		add_queries(pilot, every, &fit);
		point.sharpness = sharpness;
		point.loss = fit.round_loss;
		point.limit = fit.limit;
		point.flawless = fit.wrong == 0;
	}
	return point;
}
