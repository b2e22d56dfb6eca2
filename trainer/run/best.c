/*
 * run/best.c: the best model of a training run so far.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "graph/meta.h"
#include "math/judgement.h"
#include "run/best.h"

#define BEST_KEY "nwhead.best"
#define FORMAT "%lld %lg %lg %lg %lld %lg %lg %lg %lld%n"

/* The figures that can decide, indexed by NwBestBy; NULL past the last one. */
const char *
nw_best_by_name(int i)
{
	static const char *const names[] = {"nll", "error", NULL};

	return names[i];
}

static double
deciding(NwBestBy by, const NwFigures *f)
{
	return by == NW_BEST_BY_ERROR ? f->error : f->nll;
}

/* Say whether a figure is better than another; any number is better than none. */
static bool
less(double a, double b)
{
	return a < b || (isnan(b) && !isnan(a));
}

/* Take in a validation; true where it is the best so far: of equal ones the first is. */
bool
nw_best_add(NwBest *b, NwBestBy by, int64_t step, const NwFigures *figures)
{
	bool better = b->step == 0 || less(deciding(by, figures), deciding(by, &b->best));

	b->seen = step;
	b->last = *figures;
	b->since++;
	if (better)
	{
		b->step = step;
		b->best = *figures;
		b->since = 0;
	}
	return better;
}

/* Name the file of the best model beside that of the last: .best comes before .onnx. */
char *
nw_best_path(const char *out)
{
	size_t len = strlen(out);
	bool ending = len > 5 && strcmp(out + len - 5, ".onnx") == 0;

	return nw_printf("%.*s.best%s", (int) (ending ? len - 5 : len), out, ending ? ".onnx" : "");
}

/* Say in a model's metadata how good it was. */
void
nw_figures_describe(int64_t step, const NwFigures *f, NwMetas *into)
{
	nw_meta_set(into, "nwhead.val_step", "%lld", (long long) step);
	nw_meta_set(into, "nwhead.val_error", "%.9g", f->error);
	nw_meta_set(into, "nwhead.val_ece", "%.9g", f->ece);
	nw_meta_set(into, "nwhead.val_nll", "%.9g", f->nll);
}

/* Write all but the weights for a checkpoint. */
void
nw_best_save(const NwBest *b, NwMetas *into)
{
	nw_meta_set(into, BEST_KEY, "%lld %.17g %.17g %.17g %lld %.17g %.17g %.17g %lld",
	            (long long) b->seen, b->last.error, b->last.ece, b->last.nll, (long long) b->step,
	            b->best.error, b->best.ece, b->best.nll, (long long) b->since);
}

/*
 * Say whether figures can be a network's; one that is wrecked has a likelihood of 0, or no
 * number, and a run can go on with it.
 */
static bool
possible(const NwFigures *f)
{
	return f->error >= 0 && f->error <= 1 && !(f->ece < 0 || f->ece > 1.000001) &&
	       !(f->nll < -0.000001);
}

/* Read it back from a checkpoint of some step; true also where there is none. */
bool
nw_best_load(NwBest *b, const NwMetas *from, int64_t step_reached)
{
	const char *text = nw_meta_get(from, BEST_KEY);
	long long seen;
	long long step;
	long long since;
	int end = 0;

	if (text == NULL)
		return true;
	if (sscanf(text, FORMAT, &seen, &b->last.error, &b->last.ece, &b->last.nll, &step,
	           &b->best.error, &b->best.ece, &b->best.nll, &since, &end) != 9 ||
	    text[end] != 0 || step < 1 || seen < step || seen > step_reached || since < 0 ||
	    !possible(&b->last) || !possible(&b->best))
		return false;
	b->seen = seen;
	b->step = step;
	b->since = since;
	return true;
}
