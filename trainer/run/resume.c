/*
 * run/resume.c: whether a run can go on from a checkpoint.
 *
 * Settings have to be those of the checkpoint.  A run is made longer by a command
 * that would have made the checkpoint, had it said the old number of steps.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/message.h"
#include "base/text.h"
#include "data/dataset.h"
#include "graph/meta.h"
#include "run/resume.h"
#include "run/train_settings.h"

#define EXTENDED_KEY "extended"

/* settings of which nobody wants to read what they were */
static const struct
{
	const char *key;
	const char *what;
	bool may_be_absent; /* of a checkpoint that is older than the setting */
} digests[] = {{NW_SOURCE_KEY, "other images", true},
               {NW_LABELS_KEY, "other labels", false},
               {NW_CLASSES_KEY, "other names of classes", true},
               {NW_VAL_SOURCE_KEY, "other held-out images", true},
               {NW_VAL_LABELS_KEY, "other labels of held-out images", false},
               {NW_BACKBONE_KEY, "another backbone", true}};

/* Find a digest by its key; -1 where it is another setting. */
static int
find_digest(const char *key)
{
	for (int i = 0; i < NW_LENGTH(digests); i++)
		if (strcmp(digests[i].key, key) == 0)
			return i;
	return -1;
}

/* Write a setting for a reader, each number with as few digits as tell it; to be freed. */
static char *
readable(const char *key, const char *value)
{
	NwBuf b = {0};

	if (value == NULL) /* it is noted only where it is not as usual */
		return nw_strdup(strncmp(key, "val-", 4) == 0 ? "none" : "the usual one");
	if (*value == 0)
		return nw_strdup("none");
	nw_buf_add(&b, NULL, 0);
	for (const char *p = value; *p;)
	{
		size_t len = strcspn(p, ",");
		char *item = nw_printf("%.*s", (int) len, p);
		char *end;
		double v = strtod(item, &end);
		char text[32];

		for (int digits = 1; digits <= 17; digits++)
		{
			snprintf(text, sizeof(text), "%.*g", digits, v);
			if (strtod(text, NULL) == v)
				break;
		}
		nw_buf_printf(&b, "%s", strchr(item, '.') && *end == 0 ? text : item);
		free(item);
		p += len;
		if (*p == ',')
			nw_buf_printf(&b, "%c", *p++);
	}
	return b.data;
}

/* End with a setting that differs; NULL where it is not noted. */
static void
refuse(const char *path, const char *key, const char *was, const char *is)
{
	int digest = find_digest(key);

	if (strcmp(key, "steps") == 0 && was != NULL)
		nw_fatal(
			"checkpoint \"%s\" is of a run of %s steps, not %s: give --steps %s as before, or more",
			path, was, is, was);
	if (digest >= 0 && was != NULL && is != NULL)
		nw_fatal("checkpoint \"%s\" was made with %s", path, digests[digest].what);
	nw_fatal("checkpoint \"%s\" was made with another setting: %s was %s and is %s", path, key,
	         readable(key, was), readable(key, is));
}

/* Refuse a setting that is not the checkpoint's. */
static void
check_one(const char *path, const char *key, const NwMetas *was, const NwMetas *settings)
{
	const char *old = nw_meta_get(was, key);
	const char *value = nw_meta_get(settings, key);
	int digest = find_digest(key);

	if ((old == NULL || value == NULL) && digest >= 0 && digests[digest].may_be_absent)
		return;
	/* a backbone's name does not matter where its digest, which is compared, too, is noted */
	if (strcmp(key, "network") == 0 && nw_meta_get(was, NW_BACKBONE_KEY) != NULL &&
	    nw_meta_get(settings, NW_BACKBONE_KEY) != NULL)
		return;
	if (old == NULL ? value != NULL : value == NULL || strcmp(old, value) != 0)
		refuse(path, key, old, value);
}

/* Refuse settings that are not the checkpoint's; those first that others follow from. */
static void
check_same(const NwTrainSettings *o, const NwMetas *was, const NwMetas *settings)
{
	static const char *const first[] = {"network",    "head",     "shared", "kernel",
	                                    "optimizer",  "schedule", "resize", "random-resized-crop",
	                                    "val-images", "val-seed"};

	/* where one run had no share, how many images are held out says it better */
	if (nw_meta_get(was, "val-share") != NULL && nw_meta_get(settings, "val-share") != NULL)
		check_one(o->checkpoint, "val-share", was, settings);
	for (int i = 0; i < NW_LENGTH(first); i++)
		check_one(o->checkpoint, first[i], was, settings);
	for (int i = 0; i < settings->n; i++)
		check_one(o->checkpoint, settings->item[i].key, was, settings);
	for (int i = 0; i < was->n; i++)
		if (strncmp(was->item[i].key, "nwhead.", 7) != 0 &&
		    strcmp(was->item[i].key, EXTENDED_KEY) != 0)
			check_one(o->checkpoint, was->item[i].key, was, settings);
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

	if (!told && before > 0 && before != o->steps)
		nw_fatal(
			"checkpoint \"%s\" is of a run of %lld steps: give --steps %lld to go on, or more to "
			"make it longer",
			o->checkpoint, (long long) before, (long long) before);
	if (!told || before < 1 || o->steps <= before)
	{
		check_same(o, was, settings);
		if (history != NULL)
			nw_meta_set(settings, EXTENDED_KEY, "%s", history);
		return;
	}
	shorter.steps = before;
	shorter.epochs = 0;
	check_one(o->checkpoint, "warmup", was, settings); /* before it is judged by the old steps */
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
