/*
 * run/checkpoint.c: a run's states and settings in a file, to go on from.
 *
 * The file is an ONNX model without nodes: the states are its weights, the step
 * and the settings its metadata.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/message.h"
#include "base/text.h"
#include "graph/meta.h"
#include "graph/onnx_read.h"
#include "graph/onnx_write.h"
#include "graph/states.h"
#include "onnx.pb-c.h"
#include "run/checkpoint.h"

#define STEP_KEY "nwhead.step"

/* Write a checkpoint; the old one stays until the new one is complete. */
void
nw_checkpoint_save(const char *path, const NwStates *states, const NwMetas *settings, int64_t step)
{
	NwMetas meta = {0};
	NwBuf b;

	nw_meta_set(&meta, STEP_KEY, "%lld", (long long) step);
	nw_metas_add(&meta, settings);
	nw_states_pack(states, &meta, &b);
	nw_write_file(path, b.data, b.len);
	nw_buf_free(&b);
	nw_metas_free(&meta);
}

/* End with a setting that differs; NULL where it is the usual one, which is not noted. */
static void
refuse(const char *path, const char *key, const char *was, const char *is)
{
	nw_fatal("checkpoint \"%s\" was made with another setting: %s was %s and is %s", path, key,
	         was ? was : "as usual", is ? is : "as usual");
}

/* Read a checkpoint made with the same settings, and return its step. */
int64_t
nw_checkpoint_load(const char *path, NwStates *states, const NwMetas *settings)
{
	NwBuf b;
	NwMetas meta = {0};
	Onnx__ModelProto *m;
	int64_t step;

	nw_read_file(path, &b);
	m = nw_model_parse(path, &b);
	nw_buf_free(&b);
	nw_model_metas(m, &meta);
	step = nw_meta_get(&meta, STEP_KEY) ? strtoll(nw_meta_get(&meta, STEP_KEY), NULL, 10) : -1;
	if (step < 0)
		nw_fatal("\"%s\" is not a checkpoint of nwhead", path);
	for (int i = 0; i < settings->n; i++)
	{
		const char *was = nw_meta_get(&meta, settings->item[i].key);

		if (was == NULL || strcmp(was, settings->item[i].value) != 0)
			refuse(path, settings->item[i].key, was, settings->item[i].value);
	}
	for (int i = 0; i < meta.n; i++)
		if (strcmp(meta.item[i].key, STEP_KEY) != 0 &&
		    nw_meta_get(settings, meta.item[i].key) == NULL)
			refuse(path, meta.item[i].key, meta.item[i].value, NULL);
	nw_states_unpack(m, path, states);
	onnx__model_proto__free_unpacked(m, NULL);
	nw_metas_free(&meta);
	return step;
}
