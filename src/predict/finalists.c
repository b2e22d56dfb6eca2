/*
 * predict/finalists.c
 *		Exact figures of a few temperatures, over all queries.
 *
 * All queries come by once.  Each adds its errors, and the logarithms of its classes'
 * masses, in units of the largest, go to a tuplestore: all that tempering needs to
 * know.  Rounds over the tuplestore then find the best sharpness for each temperature,
 * and the figures there.
 *
 * Masses are plain sums over rows in canonical order, but for those of classes that
 * nearly tie for the first place: these are added up as predictions do it
 * (math/mass.c), so that a label here is the label there.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"

#include "compat.h"
#include "grow.h"
#include "math/class_mass.h"
#include "math/elementary.h"
#include "math/mass.h"
#include "math/verdict.h"
#include "predict/finalists.h"

/* Classes are kept down to exp(-FORGOTTEN) of the first, when tempered. */
#define FORGOTTEN 45.0

/* How much further than expected sharpness may be from what a pilot found. */
#define LEEWAY 16.0

/* Logarithms of masses that differ by less than rounding could be added up anew. */
#define NEARLY_TIED 1e-9
#define ROUNDING 1e-14

/* Rounds that the search for a sharpness may take. */
#define MAX_ROUNDS 60

/* A query at one temperature, as it is stored: these, and its ratios. */
typedef struct Head
{
	double nratios;
	double truth; /* ratio of its class; 1 where that has no support */
	double right; /* 1 where it was predicted */
} Head;

#define HEAD (sizeof(Head) / sizeof(double))

/* Make room for figures of temperatures. */
NwFinalists *
nw_finalists_create(MemoryContext mcxt)
{
	MemoryContext caller = MemoryContextSwitchTo(mcxt);
	NwFinalists *finalists = palloc0(sizeof(NwFinalists));

	finalists->mcxt = mcxt;
	finalists->desc = CreateTemplateTupleDesc(1);
	TupleDescInitEntry(finalists->desc, 1, "ratios", BYTEAOID, -1, 0);
	TupleDescFinalize(finalists->desc);
	finalists->slot = MakeSingleTupleTableSlot(finalists->desc, &TTSOpsMinimalTuple);
	finalists->store = tuplestore_begin_heap(false, false, work_mem);
	tuplestore_set_eflags(finalists->store, EXEC_FLAG_REWIND);
	nw_sum_clear(&finalists->loss_before);
	finalists->bins_before = palloc(nw_bins_size(NW_CALIBRATION_BINS));
	nw_bins_init(finalists->bins_before, NW_CALIBRATION_BINS);
	MemoryContextSwitchTo(caller);
	return finalists;
}

/*
 * Add a temperature, before the first query, where there is room and it is new: that
 * of the set first.  sharpness is about what will be found; 0 where that is not known.
 */
void
nw_finalists_enter(NwFinalists *finalists, double tau, double sharpness)
{
	NwFinalist *item = &finalists->item[finalists->n];

	if (finalists->n == NW_FINALISTS)
		return;
	for (int i = 0; i < finalists->n; i++)
	{
		if (finalists->item[i].tau == tau)
			return;
	}
	item->tau = tau;
	item->sharpness = sharpness > 0 ? sharpness : 1;
	item->least = Max(Min(sharpness, 1) / LEEWAY, 1 / NW_TEMPER_MAX);
	finalists->n++;
}

/* Begin what is stored of a query at a temperature. */
static Head *
begin_record(NwFinalists *finalists, int nclasses)
{
	int used = finalists->used;

	NW_RESERVE(finalists->mcxt, finalists->record, finalists->allocated,
	           used + (int) HEAD + nclasses);
	finalists->used += HEAD;
	return (Head *) (finalists->record + used);
}

/* Store the ratio of a class, unless it is too small to show. */
static void
put_ratio(NwFinalists *finalists, const NwFinalist *item, Head *head, double ratio)
{
	if (ratio * item->least < -FORGOTTEN)
		return;
	finalists->record[finalists->used++] = ratio;
	head->nratios++;
}

/* Take a query at the temperature of the set: it has been answered. */
static void
take_verdict(NwFinalists *finalists, const NwQueryScores *query)
{
	const NwVerdict *verdict = &query->answer->tally.verdict;
	NwFinalist *item = &finalists->item[0];
	int best = nw_verdict_winner(verdict);
	int truth = nw_verdict_find(verdict, query->answer->truth_class);
	Head *head = begin_record(finalists, verdict->n);
	const NwTally *tally = &query->answer->tally;
	/* a mixture has the masses of a member that answers alone, and its temper beside its own */
	double temper = tally->nmembers == 1 ? tally->member[0].tally->temper : 1;

	*head = (Head) {.truth = 1, .right = best == truth};
	for (int i = 0; i < verdict->n; i++)
	{
		double ratio = nw_scaled_log_ratio(verdict->value[i], verdict->value[best]) / temper;

		if (i == truth)
			head->truth = ratio;
		put_ratio(finalists, item, head, ratio);
	}
	item->wrong += best != truth;
	nw_bins_add(finalists->bins_before, nw_verdict_probability(verdict, best), best == truth);
	if (truth >= 0)
	{
		finalists->seen++;
		nw_sum_add(&finalists->loss_before, -nw_verdict_log_probability(verdict, truth));
	}
}

/* The mass of a class as predictions have it. */
static NwScaled
exact_mass(const NwQueryScores *query, int class, double inverse_tau)
{
	const int64 *start = query->support->class_start;
	double score[NW_BLOCK_ROWS];
	NwMass mass;

	nw_mass_clear(&mass);
	for (int64 from = start[class]; from < start[class + 1]; from += NW_BLOCK_ROWS)
	{
		int n = (int) Min(NW_BLOCK_ROWS, start[class + 1] - from);

		for (int i = 0; i < n; i++)
		{
			score[i] = query->score[from + i] * inverse_tau;
			if (query->log_weight)
				score[i] += query->log_weight[from + i];
			if (query->score[from + i] == NW_SCORE_NONE)
				score[i] = -HUGE_VAL;
		}
		nw_mass_add_scores(&mass, n, score);
	}
	return nw_mass_value(&mass);
}

/* Find the class of the largest mass, and turn masses into ratios to that. */
static int
find_ratios(const NwQueryScores *query, double inverse_tau, double *mass)
{
	NwScaled most = {0};
	double highest;
	double tied;
	int ntied = 0;
	int best = 0;

	for (int c = 1; c < query->nclasses; c++)
	{
		if (mass[c] > mass[best])
			best = c;
	}
	highest = mass[best];
	tied = NEARLY_TIED + ROUNDING * fabs(highest);
	for (int c = 0; c < query->nclasses; c++)
	{
		ntied += highest - mass[c] <= tied;
		mass[c] -= highest;
	}
	if (ntied == 1)
		return best;

	best = -1;
	for (int c = 0; c < query->nclasses; c++)
	{
		NwScaled exact;

		if (mass[c] < -tied)
			continue;
		exact = exact_mass(query, c, inverse_tau);
		if (best < 0 || nw_scaled_compare(exact, most) > 0)
		{
			best = c;
			most = exact;
		}
	}
	for (int c = 0; c < query->nclasses; c++)
	{
		if (mass[c] >= -tied)
			mass[c] = nw_scaled_log_ratio(exact_mass(query, c, inverse_tau), most);
	}
	return best;
}

/* Take a query at another temperature. */
static void
take_scores(NwFinalists *finalists, NwFinalist *item, const NwQueryScores *query, int before,
            const double *largest, double *mass, double *scratch)
{
	double inverse_tau = 1.0 / item->tau;
	Head *head = begin_record(finalists, query->nclasses);
	int truth = query->truth;
	int best;

	nw_class_log_masses(query->score, query->log_weight, query->support->class_start,
	                    query->nclasses, largest, inverse_tau, scratch, mass);
	best = find_ratios(query, inverse_tau, mass);
	*head = (Head) {.truth = 1, .right = best == truth};
	if (truth >= 0 && mass[truth] != -HUGE_VAL)
		head->truth = mass[truth];
	for (int c = 0; c < query->nclasses; c++)
		put_ratio(finalists, item, head, mass[c]);
	item->wrong += best != truth;
	item->changed += best != before;
	CHECK_FOR_INTERRUPTS();
}

/* Take a query. */
void
nw_finalists_add(NwFinalists *finalists, const NwQueryScores *query)
{
	const NwVerdict *verdict = &query->answer->tally.verdict;
	Size bytes;
	bytea *ratios;
	Datum value;
	bool null = false;

	/* where no row is left there is no prediction, right or wrong */
	if (verdict->n == 0)
		return;
	finalists->queries++;
	finalists->used = 0;
	take_verdict(finalists, query);
	if (finalists->n > 1)
	{
		const int *order = nw_labels_order(query->support->labels);
		int winner = verdict->class[nw_verdict_winner(verdict)];
		int64 longest = 0;
		int before = -1;
		double *largest;

		for (int c = 0; c < query->nclasses; c++)
		{
			longest =
				Max(longest, query->support->class_start[c + 1] - query->support->class_start[c]);
			if (order[c] == winner)
				before = c;
		}
		NW_RESERVE(finalists->mcxt, finalists->work, finalists->work_allocated,
		           2 * (int64) query->nclasses + longest);
		largest = finalists->work;
		nw_class_largest(query->score, query->support->class_start, query->nclasses, largest);
		for (int i = 1; i < finalists->n; i++)
			take_scores(finalists, &finalists->item[i], query, before, largest,
			            largest + query->nclasses, largest + 2 * query->nclasses);
	}

	bytes = finalists->used * sizeof(double);
	ratios = palloc_extended(VARHDRSZ + bytes, MCXT_ALLOC_HUGE);
	SET_VARSIZE(ratios, VARHDRSZ + bytes);
	memcpy(VARDATA(ratios), finalists->record, bytes);
	value = PointerGetDatum(ratios);
	tuplestore_putvalues(finalists->store, finalists->desc, &value, &null);
	pfree(ratios);
}

/* Begin to read what was stored. */
static void
rewind_store(NwFinalists *finalists)
{
	tuplestore_rescan(finalists->store);
}

/* Read the next query; false where there is none. */
static bool
next_record(NwFinalists *finalists)
{
	bytea *ratios;
	bool null;
	Size bytes;

	CHECK_FOR_INTERRUPTS();
	if (!tuplestore_gettupleslot(finalists->store, true, false, finalists->slot))
		return false;
	ratios = DatumGetByteaPP(slot_getattr(finalists->slot, 1, &null));
	bytes = VARSIZE_ANY_EXHDR(ratios);
	/* it may lie anywhere, and doubles may not */
	memcpy(finalists->record, VARDATA_ANY(ratios), bytes);
	finalists->used = bytes / sizeof(double);
	return true;
}

/* Find the best sharpness of every temperature; or leave all at 1. */
void
nw_finalists_temper(NwFinalists *finalists, bool tempered)
{
	bool done = false;

	for (int i = 0; i < finalists->n; i++)
		nw_temper_fit_init(&finalists->item[i].fit, tempered ? finalists->item[i].sharpness : 1,
		                   finalists->item[i].least, 1 / NW_TEMPER_MIN);
	for (int round = 0; round < MAX_ROUNDS && !done; round++)
	{
		rewind_store(finalists);
		while (next_record(finalists))
		{
			const double *place = finalists->record;

			for (int i = 0; i < finalists->n; i++)
			{
				const Head *head = (const Head *) place;
				NwFinalist *item = &finalists->item[i];

				if (head->truth <= 0 && !item->fit.done)
					nw_temper_fit_add(&item->fit, place + HEAD, (int) head->nratios, head->truth);
				place += HEAD + (int) head->nratios;
			}
		}
		done = true;
		for (int i = 0; i < finalists->n; i++)
		{
			NwTemperFit *fit = &finalists->item[i].fit;

			if (!tempered)
			{
				fit->loss = fit->round_loss;
				fit->flawless = fit->wrong == 0;
				fit->done = true;
			}
			else if (!fit->done)
				nw_temper_fit_step(fit);
			done = done && fit->done;
		}
	}
	for (int i = 0; i < finalists->n; i++)
		finalists->item[i].sharpness = finalists->item[i].fit.sharpness;
}

/* The figures of the set as it is. */
NwFigures
nw_finalists_before(const NwFinalists *finalists)
{
	return (NwFigures) {nw_sum_value(&finalists->loss_before) / Max(finalists->seen, 1),
	                    nw_bins_ece(finalists->bins_before)};
}

/* The figures of a temperature at a sharpness. */
NwFigures
nw_finalists_figures(NwFinalists *finalists, int i, double sharpness)
{
	NwBins *bins = palloc(nw_bins_size(NW_CALIBRATION_BINS));
	NwSum loss;

	nw_bins_init(bins, NW_CALIBRATION_BINS);
	nw_sum_clear(&loss);
	rewind_store(finalists);
	while (next_record(finalists))
	{
		const double *place = finalists->record;
		const Head *head = (const Head *) place;
		double total;

		for (int k = 0; k < i; k++)
		{
			place += HEAD + (int) head->nratios;
			head = (const Head *) place;
		}
		total = nw_tempered_total(place + HEAD, (int) head->nratios, sharpness);
		nw_bins_add(bins, 1 / total, head->right != 0);
		if (head->truth <= 0)
			nw_sum_add(&loss, nw_log(total) - sharpness * head->truth);
	}
	return (NwFigures) {nw_sum_value(&loss) / Max(finalists->seen, 1), nw_bins_ece(bins)};
}

/* Give up what is stored. */
void
nw_finalists_free(NwFinalists *finalists)
{
	tuplestore_end(finalists->store);
	ExecDropSingleTupleTableSlot(finalists->slot);
}
