/*
 * predict/call.c
 *		Ask a set about one query: for its label, or for the masses of all
 *		classes.
 *
 * A call finds out once who can answer: rows packed by an earlier call of the
 * statement, the prototypes of a distilled set, an nw index, or the executor.
 * Where nothing but the label is wanted, bounds may settle it without a pass over
 * all rows: those of an index, or those of half-size copies of packed rows.  The
 * members of a mixture are asked one by one, in the same way.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "index/usable.h"
#include "predict/call.h"
#include "predict/mixture.h"
#include "predict/pass.h"
#include "predict/prototypes.h"
#include "predict/route.h"
#include "predict/statement_cache.h"
#include "predict/typicality.h"
#include "sets/members.h"

/* So many ids are looked up one by one, rather than read with all rows. */
#define NAMED_BY_INDEX 1000

/* Where bounds left more than this share of the supports to be read exactly,
 * later calls of the statement pack them. */
#define EXACT_SHARE 0.25

/* An index of fewer blocks: rows packed for a whole statement are faster. */
#define PACKED_BELOW 2048

/* A call under way. */
typedef struct Asking
{
	const NwCall *call;
	NwCacheKey key;
	NwCacheState state;
	NwSupport *support; /* packed rows; NULL where the route leads to rows */
	const NwSet *set;   /* NULL where it was not looked up */
	NwRoute route;
	bool pack;            /* rows that are read now, for later calls */
	const NwSet *mixture; /* whose members have to be asked; NULL for any other set */
} Asking;

/* Let later calls of the statement use the prototypes of a set. */
static void
keep_prototypes(Asking *asking, Oid relid)
{
	NwSupport *support = asking->support;
	NwDependence depends = {.relids = list_make1_oid(relid), .known = true};

	if (!asking->call->once && nw_cache_may_keep(&asking->key, &depends) &&
	    (support->shared || nw_cache_reserve(nw_support_memory(support))))
		nw_cache_keep(&asking->key, &depends, support, false);
}

/* Look for rows that an earlier call of the statement has packed. */
static void
look_for_packed(Asking *asking, const NwCall *call)
{
	memset(asking, 0, sizeof(Asking));
	asking->call = call;
	nw_cache_key(&asking->key, call->schema, call->support, call->caller);
	asking->state = nw_cache_find(&asking->key, nw_call_wants_ids(call), &asking->support);
}

/* Begin to add up packed rows. */
static NwTallying *
begin_packed(const Asking *asking)
{
	const NwSupport *support = asking->support;

	return nw_tally_begin(asking->call, support->kernel, support->tau, support->temper,
	                      support->labels);
}

/* Find the way to rows that are not packed, and begin to add them up. */
static NwTallying *
begin_route(Asking *asking, const NwSource *source)
{
	const NwCall *call = asking->call;
	int columns = NW_SCAN_LABEL | NW_SCAN_WEIGHT | (nw_call_wants_ids(call) ? NW_SCAN_ID : 0);

	nw_source_check_labelled(source);

	/*
	 * Packing pays from the second call on.  A query that is the same for
	 * all rows will probably not be asked again; one met before in this
	 * statement will.
	 */
	asking->pack = asking->state == NW_CACHE_SEEN || (asking->state == NW_CACHE_NEW && !call->once);
	nw_route_open(&asking->route, source, columns,
	              !asking->pack && call->filter.exclude == NULL && call->top <= NAMED_BY_INDEX);
	return nw_tally_begin(call, source->set->kernel, source->set->tau, source->set->temper,
	                      nw_labels_create(CurrentMemoryContext, source->label_type));
}

/* Find out who can answer a call; NULL where that is the members of a mixture. */
static NwTallying *
begin(Asking *asking, const NwCall *call)
{
	look_for_packed(asking, call);
	if (asking->state != NW_CACHE_PACKED)
	{
		NwSet *set = call->mixture ? nw_member_get(call->schema, call->support, call->mixture)
		                           : nw_set_get(call->schema, call->support);
		NwSource *source;

		if (nw_set_is_mixture(set))
		{
			asking->mixture = set;
			return NULL;
		}
		source = nw_source_resolve(call->schema, set);
		asking->set = set;
		asking->support = nw_prototypes_find(source);
		if (asking->support == NULL)
			return begin_route(asking, source);
		keep_prototypes(asking, source->relid);
	}
	return begin_packed(asking);
}

/* Read the rows, keeping them for later calls where that will pay. */
static void
read_rows(Asking *asking, NwTallying *tallying)
{
	NwRoute *route = &asking->route;
	NwSupport *packed = NULL;
	bool keep = nw_cache_may_keep(&asking->key, &route->depends);
	bool too_big = asking->state == NW_CACHE_TOO_BIG;

	if (keep && asking->pack)
		packed = nw_support_create(CurrentMemoryContext, route->source, route->columns,
		                           tallying->tally->labels);
	if (!nw_pass_rows(tallying, route, packed))
		too_big = true;
	if (keep)
		nw_cache_keep(&asking->key, &route->depends, too_big ? NULL : packed, too_big);
}

/* Add up all rows. */
static NwTally *
add_up(Asking *asking, NwTallying *tallying)
{
	NwTally *tally;

	if (asking->support)
		nw_pass_packed(tallying, asking->support);
	else if (asking->pack || !nw_pass_index(tallying, &asking->route))
		read_rows(asking, tallying);
	tally = nw_tally_end(tallying);
	nw_route_close(&asking->route);
	return tally;
}

/* Find what a query's distance is compared with, where the call wants that. */
static const NwTypical *
find_typical(const Asking *asking)
{
	const NwCall *call = asking->call;
	const NwTypical *typical;

	if (!call->typicality)
		return NULL;

	/* what the cache has may go while rows are read */
	if (asking->state != NW_CACHE_PACKED)
		typical = nw_typical_read(call->schema, asking->set);
	else if (!nw_cache_find_typical(&asking->key, &typical))
	{
		typical = nw_typical_read(call->schema, nw_set_get(call->schema, call->support));
		nw_cache_keep_typical(&asking->key, typical);
	}
	if (typical == NULL && call->must_be_told)
		nw_report_no_typicality(call->support);
	return typical;
}

/*
 * Ask the members of a mixture, each as if it had been named, and put their answers
 * together.  Those that have no support take no part.
 */
static NwTally *
ask_members(const NwCall *call, const NwSet *set)
{
	MemoryContext mcxt = CurrentMemoryContext;
	NwMixture *mixture = nw_mixture_create(mcxt, set);
	NwTally *tally = palloc(sizeof(NwTally));

	if (call->must_be_told)
		nw_members_report(set);
	nw_mixture_begin(mixture, tally, mcxt);
	for (int i = 0; i < set->nmembers; i++)
	{
		NwCall *asked = palloc(sizeof(NwCall));

		*asked = *call;
		asked->support = set->members[i];
		asked->mixture = set->name;
		asked->empty_ok = true;
		asked->typicality = asked->must_be_told = false;
		nw_mixture_take(mixture, tally, i, nw_call_tally(asked), mcxt);
	}
	if (!nw_mixture_close(mixture, tally, call->shares, mcxt))
	{
		if (call->empty_ok)
			return NULL;
		nw_report_no_support(call->support, call->filter.exclude != NULL);
	}
	if (!call->empty_ok)
		nw_tally_check_classes(tally, &call->filter, call->support);
	nw_mixture_merge(tally, call->top, call->by_truth);
	return tally;
}

/*
 * Compare a query with all rows of a set.  The answer has a class at least; it is NULL
 * where there is none and the call allows that.
 */
NwTally *
nw_call_tally(const NwCall *call)
{
	Asking asking;
	NwTallying *tallying = begin(&asking, call);

	if (asking.mixture)
		return ask_members(call, asking.mixture);
	nw_tally_seek_nearest(tallying->tally, find_typical(&asking), tallying->mcxt);
	return add_up(&asking, tallying);
}

/* The label that wins; no data where there is no answer. */
static NwBytes
winner(const NwTally *tally)
{
	if (tally == NULL)
		return (NwBytes) {NULL, 0};
	return nw_tally_label(tally, nw_verdict_winner(&tally->verdict));
}

/*
 * Settle the label by the bounds that an index has; false where they leave it open,
 * or where an error is to be reported.
 */
static bool
search_index(Asking *asking, const NwTally *tally, NwBytes *label, NwSearchWork *work)
{
	const NwCall *call = asking->call;
	NwIndexReader *index = asking->route.index;

	nw_index_begin_search(index, tally->labels, call->filter.classes != NULL);
	if (!nw_index_has_dim(index, call->query.dim))
	{
		asking->route.reason = "the nw index has vectors of other dimensions";
		return false;
	}
	asking->route.reason = nw_index_search(index, &tally->query, &call->filter, work, label)
	                           ? NULL
	                           : "the bounds leave open whether there is any support";
	return asking->route.reason == NULL;
}

/* Say whether a search of the index is the way to a label. */
static bool
may_search(const Asking *asking)
{
	const NwRoute *route = &asking->route;

	return route->index && !(route->columns & NW_SCAN_ID) && asking->state != NW_CACHE_SEEN &&
	       (asking->call->once || nw_engine != NW_ENGINE_AUTO ||
	        nw_index_blocks(route->index) >= PACKED_BELOW);
}

/*
 * Say whether the half-size copies of a packed support may settle a label,
 * making them where that is likely to pay.
 */
static bool
copies_may_settle(const Asking *asking)
{
	NwSupport *support = asking->support;
	Size size;

	if (asking->state != NW_CACHE_PACKED || asking->call->filter.exclude || support->shared)
		return false;
	support->labels_asked++;
	if (support->has_copies)
		return support->labels_unsure * 4 <= support->labels_asked;

	/* the second call after packing: probably not the last */
	if (support->labels_asked != 2)
		return false;
	size = nw_support_copies_size(support);
	if (size == 0 || !nw_cache_reserve_more(support, size))
		return false;
	nw_support_make_copies(support);
	return support->has_copies;
}

/*
 * Settle the label by half-size copies; false where the most probable class leads by
 * no more than their errors can account for.
 */
static bool
compare_copies(Asking *asking, NwTallying *tallying, NwBytes *label)
{
	double error = nw_pass_copies(tallying, asking->support);
	const NwTally *tally = nw_tally_end(tallying);
	const NwVerdict *verdict;
	int best;
	int rival;

	*label = winner(tally);
	if (tally == NULL)
		return true;
	verdict = &tally->verdict;
	best = nw_verdict_winner(verdict);
	rival = nw_verdict_rival(verdict, best);

	/* the best class has lost as much as another may have gained */
	if (rival < 0 || nw_scaled_log_ratio(verdict->value[best], verdict->value[rival]) > 2 * error)
		return true;
	asking->support->labels_unsure++;
	nw_tally_clear(tallying);
	return false;
}

/* Find the most probable class of a query, and nothing else; see nw_call_tally(). */
NwBytes
nw_call_label(const NwCall *call)
{
	Asking asking;
	NwTallying *tallying = begin(&asking, call);
	NwSearchWork work;
	NwBytes label;

	if (asking.mixture)
		return winner(ask_members(call, asking.mixture));
	if (asking.support)
	{
		if (copies_may_settle(&asking) && compare_copies(&asking, tallying, &label))
			return label;
	}
	else if (may_search(&asking) && search_index(&asking, tallying->tally, &label, &work))
	{
		/* bounds that settle little are worth less than packed rows */
		if (work.exact > work.supports * EXACT_SHARE &&
		    nw_cache_may_keep(&asking.key, &asking.route.depends))
			nw_cache_keep(&asking.key, &asking.route.depends, NULL, false);
		nw_route_close(&asking.route);
		return label;
	}
	return winner(add_up(&asking, tallying));
}

/*
 * Find the label through an index where one serves, whatever is packed, and say what
 * that took; reason says why all rows had to be added up, or is NULL.
 */
NwBytes
nw_call_index_work(const NwCall *call, NwSearchWork *work, const char **reason)
{
	Asking asking;
	NwTallying *tallying;
	NwBytes label;

	look_for_packed(&asking, call);
	asking.support = NULL;
	tallying = begin_route(
		&asking, nw_source_resolve(call->schema, nw_set_get(call->schema, call->support)));
	memset(work, 0, sizeof(NwSearchWork));
	if (asking.route.index)
		(void) search_index(&asking, tallying->tally, &label, work);
	*reason = asking.route.reason;
	if (*reason && asking.state != NW_CACHE_PACKED)
		return winner(add_up(&asking, tallying));
	nw_route_close(&asking.route);

	/* planning may have run functions, which may have emptied the cache: look anew */
	return *reason ? winner(nw_call_tally(call)) : label;
}
