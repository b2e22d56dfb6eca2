/*
 * run/checkpoint.c: a run's states and settings in a file, to go on from.
 *
 * The file is an ONNX model without nodes: the states are its weights, the step
 * and the settings its metadata.  The weights of the best model so far are there
 * once more, under names of their own.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/message.h"
#include "base/random.h"
#include "base/text.h"
#include "graph/meta.h"
#include "graph/onnx_read.h"
#include "graph/onnx_write.h"
#include "graph/states.h"
#include "onnx.pb-c.h"
#include "run/best.h"
#include "run/checkpoint.h"

#define STEP_KEY "nwhead.step"
#define STEPS_KEY "steps"
#define CHECKSUM_KEY "nwhead.checksum"
#define BEST_PREFIX "best/"
#define MOST_BYTES (INT32_MAX - (INT64_C(1) << 24)) /* protobuf reads 2 GiB, names included */

/* Put a list of all states together; the data stay where they are. */
static NwStates
list_states(const NwStates *states, const NwStates *best)
{
	NwStates all = {.n = states->n + best->n};

	all.item = nw_alloc((size_t) all.n * sizeof(NwState));
	for (int i = 0; i < states->n; i++)
	{
		all.item[i] = states->item[i];
		all.item[i].name = nw_strdup(states->item[i].name);
	}
	for (int i = 0; i < best->n; i++)
	{
		all.item[states->n + i] = best->item[i];
		all.item[states->n + i].name = nw_printf("%s%s", BEST_PREFIX, best->item[i].name);
	}
	return all;
}

/* Sum up all that a checkpoint holds but the sum itself. */
static uint64_t
checksum(const NwStates *all, const NwMetas *meta)
{
	NwBuf b = {0};
	uint64_t sum;

	nw_buf_add(&b, NULL, 0);
	for (int i = 0; i < meta->n; i++)
		if (strcmp(meta->item[i].key, CHECKSUM_KEY) != 0)
			nw_buf_printf(&b, "%s=%s\n", meta->item[i].key, meta->item[i].value);
	for (int i = 0; i < all->n; i++)
	{
		const NwState *s = &all->item[i];

		nw_buf_printf(&b, "%s:", s->name);
		for (int k = 0; k < s->shape.rank; k++)
			nw_buf_printf(&b, " %" PRId64, s->shape.dim[k]);
		nw_buf_printf(&b, " %016" PRIx64 "\n",
		              nw_hash(s->data, nw_shape_bytes(&s->shape, NW_FLOAT)));
	}
	sum = nw_hash(b.data, b.len);
	nw_buf_free(&b);
	return sum;
}

/* Refuse a checkpoint whose bytes are not those that were written; the first ones had no sum. */
static void
check_sum(const char *path, const NwStates *all, const NwMetas *meta)
{
	const char *was = nw_meta_get(meta, CHECKSUM_KEY);
	char *is = nw_printf("%016" PRIx64, checksum(all, meta));

	if (was != NULL && strcmp(was, is) != 0)
		nw_fatal("checkpoint \"%s\" is damaged", path);
	free(is);
}

/* Read a number of steps up to some; -1 where a text is none. */
static int64_t
read_steps(const char *text, int64_t most)
{
	int64_t n = 0;

	if (text == NULL || *text == 0)
		return -1;
	for (; *text; text++)
	{
		if (*text < '0' || *text > '9' || *text - '0' > most || n > (most - (*text - '0')) / 10)
			return -1;
		n = n * 10 + (*text - '0');
	}
	return n;
}

/* Say whether there is a checkpoint at a path, whatever is in it. */
bool
nw_checkpoint_is(const char *path)
{
	const char *problem;
	Onnx__ModelProto *m = NULL;
	NwBuf b;
	bool found = false;

	if (nw_try_read_regular_file(path, &b, &problem))
		m = nw_model_try_parse(&b);
	nw_buf_free(&b);
	for (size_t i = 0; m != NULL && i < m->n_metadata_props; i++)
		found |= strcmp(m->metadata_props[i]->key, STEP_KEY) == 0;
	if (m != NULL)
		onnx__model_proto__free_unpacked(m, NULL);
	return found;
}

/* Add up the bytes of states. */
static int64_t
count_bytes(const NwStates *states)
{
	int64_t n = 0;

	for (int i = 0; i < states->n; i++)
		n += (int64_t) nw_shape_bytes(&states->item[i].shape, NW_FLOAT);
	return n;
}

/* Say whether a checkpoint of states, and those of a best model, can be read again. */
bool
nw_checkpoint_fits(const NwStates *states, const NwStates *best)
{
	return count_bytes(states) + count_bytes(best) <= MOST_BYTES;
}

/*
 * Write a checkpoint; the old one stays until the new one is complete.  Why that is not
 * possible (to be freed), else NULL.
 */
char *
nw_checkpoint_save(const char *path, const NwStates *states, const NwBest *best,
                   const NwMetas *settings, int64_t step)
{
	NwStates all = list_states(states, &best->states);
	NwMetas meta = {0};
	NwBuf b;
	char *why;

	nw_meta_set(&meta, STEP_KEY, "%lld", (long long) step);
	if (best->seen > 0)
		nw_best_save(best, &meta);
	nw_metas_add(&meta, settings);
	nw_meta_set(&meta, CHECKSUM_KEY, "%016" PRIx64, checksum(&all, &meta));
	nw_states_pack(&all, &meta, &b);
	why = nw_try_write_file(path, b.data, b.len);
	nw_buf_free(&b);
	nw_metas_free(&meta);
	for (int i = 0; i < all.n; i++)
		free(all.item[i].name);
	free(all.item);
	return why;
}

/* Read a checkpoint with the settings that it was made with, and return its step. */
int64_t
nw_checkpoint_load(const char *path, NwStates *states, NwBest *best, NwMetas *settings)
{
	NwBuf b;
	NwStates all = {0};
	Onnx__ModelProto *m;
	int64_t step;

	nw_read_file(path, &b);
	m = nw_model_parse(path, &b);
	nw_buf_free(&b);
	nw_model_metas(m, settings);
	if (nw_meta_get(settings, STEP_KEY) == NULL)
		nw_fatal("\"%s\" is not a checkpoint of nwhead", path);
	nw_states_unpack(m, path, &all);
	onnx__model_proto__free_unpacked(m, NULL);
	check_sum(path, &all, settings);
	step = read_steps(nw_meta_get(settings, STEPS_KEY), INT64_MAX);
	step = read_steps(nw_meta_get(settings, STEP_KEY), step);
	if (step < 0 || !nw_best_load(best, settings, step))
		nw_fatal("\"%s\" is not a checkpoint of nwhead: its step, or its best model's, is none",
		         path);
	for (int i = 0; i < all.n; i++)
	{
		const NwState *s = &all.item[i];
		size_t prefix = strlen(BEST_PREFIX);

		if (strncmp(s->name, BEST_PREFIX, prefix) == 0)
			nw_state_add(&best->states, s->name + prefix, s->shape, s->data);
		else
			nw_state_add(states, s->name, s->shape, s->data);
	}
	nw_states_free(&all);
	if ((best->step > 0) != (best->states.n > 0))
		nw_fatal("\"%s\" is not a whole checkpoint", path);
	return step;
}
