/*
 * run/checkpoint.c: a run's states and settings in a file, to go on from.
 *
 * The file is an ONNX model without nodes: the states are its weights, the step
 * and the settings its metadata.  The weights of the best model so far are there
 * once more, under names of their own.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/message.h"
#include "base/text.h"
#include "graph/meta.h"
#include "graph/onnx_read.h"
#include "graph/onnx_write.h"
#include "graph/states.h"
#include "onnx.pb-c.h"
#include "run/best.h"
#include "run/checkpoint.h"

#define STEP_KEY "nwhead.step"
#define BEST_PREFIX "best/"

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

/* Write a checkpoint; the old one stays until the new one is complete. */
void
nw_checkpoint_save(const char *path, const NwStates *states, const NwBest *best,
                   const NwMetas *settings, int64_t step)
{
	NwStates all = list_states(states, &best->states);
	NwMetas meta = {0};
	NwBuf b;

	nw_meta_set(&meta, STEP_KEY, "%lld", (long long) step);
	if (best->seen > 0)
		nw_best_save(best, &meta);
	nw_metas_add(&meta, settings);
	nw_states_pack(&all, &meta, &b);
	nw_write_file(path, b.data, b.len);
	nw_buf_free(&b);
	nw_metas_free(&meta);
	for (int i = 0; i < all.n; i++)
		free(all.item[i].name);
	free(all.item);
}

/* Read a checkpoint with the settings that it was made with, and return its step. */
int64_t
nw_checkpoint_load(const char *path, NwStates *states, NwBest *best, NwMetas *settings)
{
	NwBuf b;
	NwStates all = {0};
	Onnx__ModelProto *m;
	const char *step;

	nw_read_file(path, &b);
	m = nw_model_parse(path, &b);
	nw_buf_free(&b);
	nw_model_metas(m, settings);
	step = nw_meta_get(settings, STEP_KEY);
	if (step == NULL || strtoll(step, NULL, 10) < 0 || !nw_best_load(best, settings))
		nw_fatal("\"%s\" is not a checkpoint of nwhead", path);
	nw_states_unpack(m, path, &all);
	onnx__model_proto__free_unpacked(m, NULL);
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
	return strtoll(step, NULL, 10);
}
