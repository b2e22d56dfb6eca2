/*
 * run/resume.c: whether a run can go on from a checkpoint.
 *
 * Settings have to be those of the checkpoint.  A run is made longer by a command
 * that would have made the checkpoint, had it said the old number of steps.
 */
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/text.h"
#include "data/dataset.h"
#include "graph/meta.h"
#include "run/resume.h"
#include "run/train_settings.h"

#define EXTENDED_KEY "extended"

/* End with a setting that differs; NULL where it is not noted. */
static void
refuse(const char *path, const char *key, const char *was, const char *is)
{
	nw_fatal("checkpoint \"%s\" was made with another setting: %s was %s and is %s", path, key,
	         was ? was : "not there", is ? is : "not there");
}

/* Refuse settings that are not the checkpoint's. */
static void
check_same(const NwTrainSettings *o, const NwMetas *was, const NwMetas *settings)
{
	for (int i = 0; i < settings->n; i++)
	{
		const char *old = nw_meta_get(was, settings->item[i].key);

		if (old == NULL || strcmp(old, settings->item[i].value) != 0)
			refuse(o->checkpoint, settings->item[i].key, old, settings->item[i].value);
	}
	for (int i = 0; i < was->n; i++)
	{
		const char *key = was->item[i].key;

		if (strncmp(key, "nwhead.", 7) != 0 && strcmp(key, EXTENDED_KEY) != 0 &&
		    nw_meta_get(settings, key) == NULL)
			refuse(o->checkpoint, key, was->item[i].value, NULL);
	}
}

/* Say what the learning rate is from a step on. */
static void
notice_schedule(const NwTrainSettings *o, int64_t step, int64_t before)
{
	NwBuf drops = {0};

	for (int i = 0; i < o->n_drops; i++)
		if (o->drops[i] > (double) step && o->drops[i] < (double) o->steps)
			nw_buf_printf(&drops, "%s%.15g", drops.len > 0 ? "," : ", divided by 10 after ",
			              o->drops[i]);
	nw_info(
		"extended from %lld to %lld steps: goes on after step %lld, learning rate %g now, %g at the end%s",
		(long long) before, (long long) o->steps, (long long) step, nw_train_lr(o, step),
		nw_train_lr(o, o->steps - 1), drops.len > 0 ? drops.data : "");
	nw_buf_free(&drops);
}

/* Say whether the steps so far would have had other rates in the longer run. */
static bool
other_rates(const NwTrainSettings *a, const NwTrainSettings *b, int64_t steps)
{
	for (int64_t i = 0; i < steps; i++)
		if (nw_train_lr(a, i) != nw_train_lr(b, i))
			return true;
	return false;
}

/*
 * Check settings, as asked for and as completed, against those of a checkpoint of some
 * step.  What a longer run owes to the shorter one is added to `settings`.
 */
void
nw_resume_check(const NwTrainSettings *asked, const NwTrainSettings *o, const NwDataset *d,
                const NwDataset *held, int64_t step, const NwMetas *was, NwMetas *settings)
{
	const char *steps = nw_meta_get(was, "steps");
	const char *history = nw_meta_get(was, EXTENDED_KEY);
	int64_t before = steps ? strtoll(steps, NULL, 10) : 0;
	bool told = asked->steps > 0 || asked->epochs > 0;
	NwTrainSettings shorter = *asked;
	NwMetas its = {0};
	NwBuf extended = {0};

	if (!told || before < 1 || o->steps <= before)
	{
		check_same(o, was, settings);
		if (history != NULL)
			nw_meta_set(settings, EXTENDED_KEY, "%s", history);
		return;
	}
	shorter.steps = before;
	shorter.epochs = 0;
	nw_train_complete(&shorter, d);
	nw_train_describe(&shorter, d, held, &its);
	check_same(o, was, &its);
	notice_schedule(o, step, before);
	if (history != NULL)
		nw_buf_printf(&extended, "%s", history);
	if (other_rates(&shorter, o, step))
		nw_buf_printf(&extended, "%s%lld of %lld", extended.len > 0 ? ", " : "", (long long) step,
		              (long long) before);
	if (extended.len > 0)
		nw_meta_set(settings, EXTENDED_KEY, "%s", extended.data);
	nw_buf_free(&extended);
	nw_metas_free(&its);
}
