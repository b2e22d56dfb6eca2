/*
 * run/embedder.c: a model that turns images into embeddings.
 *
 * A model of "nwhead train" says in its metadata all there is to know; for any
 * other the options do.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/message.h"
#include "base/model_note.h"
#include "base/text.h"
#include "data/image.h"
#include "graph/meta.h"
#include "graph/onnx_read.h"
#include "graph/onnx_write.h"
#include "graph/shape.h"
#include "onnx.pb-c.h"
#include "ort/device.h"
#include "ort/runtime.h"
#include "run/embedder.h"

#define MAX_SIDE 8192 /* of images, as on the command line */
#define MAX_BATCH_FLOATS (INT64_C(1) << 28)

/* Read up to three numbers from a metadata entry; their number. */
static int
meta_numbers(const NwMetas *m, const char *key, double *into)
{
	const char *p = nw_meta_get(m, key);
	int n = 0;

	while (p != NULL && *p && n < 3)
	{
		char *end;

		into[n++] = strtod(p, &end);
		p = *end == ',' ? end + 1 : "";
	}
	return n;
}

/* Read a whole number from a metadata entry; 0 where there is none, -1 where it cannot be. */
static int
meta_int(const NwMetas *m, const char *key)
{
	const char *v = nw_meta_get(m, key);
	long n = v ? strtol(v, NULL, 10) : 0;

	return n < 0 || n > INT32_MAX ? -1 : (int) n;
}

/* Read the next string of a JSON list of strings; NULL at its end. */
static char *
next_class(const char **at)
{
	NwBuf b = {0};
	const char *p = strchr(*at, '"');

	if (p == NULL)
		return NULL;
	nw_buf_add(&b, NULL, 0);
	for (p++; *p && *p != '"'; p++)
	{
		if (p[0] == '\\' && p[1] == 'u' && strlen(p) >= 6)
		{
			char code[5] = {p[2], p[3], p[4], p[5], 0};
			char c = (char) strtol(code, NULL, 16); /* only control characters are written so */

			nw_buf_add(&b, &c, 1);
			p += 5;
		}
		else
		{
			if (p[0] == '\\' && p[1])
				p++;
			nw_buf_add(&b, p, 1);
		}
	}
	*at = *p ? p + 1 : p;
	return b.data;
}

/*
 * Make a set of an FC head [classes, features]: rows (W_c, b_c), which kernel dot compares
 * with embeddings (z, 1); to be freed.
 */
float *
nw_head_rows(const float *w, const float *bias, int classes, int features)
{
	size_t dim = (size_t) features + 1;
	float *rows = nw_alloc((size_t) classes * dim * sizeof(float));

	for (int c = 0; c < classes; c++)
	{
		memcpy(rows + (size_t) c * dim, w + (size_t) c * (size_t) features,
		       (size_t) features * sizeof(float));
		rows[(size_t) (c + 1) * dim - 1] = bias[c];
	}
	return rows;
}

/* Read the weights of an FC head. */
static void
read_head(NwEmbedder *e, const Onnx__ModelProto *m, const char *path)
{
	const Onnx__TensorProto *wt = nw_model_initializer(m, "head.weight");
	const Onnx__TensorProto *bt = nw_model_initializer(m, "head.bias");
	const char *names = nw_meta_get(&e->meta, "nwhead.classes");
	NwShape ws;
	NwShape bs;
	float *w;
	float *b;

	if (wt == NULL || bt == NULL || names == NULL)
		nw_fatal("\"%s\" says it has an FC head, but holds none", path);
	w = nw_tensor_floats(wt, path, &ws);
	b = nw_tensor_floats(bt, path, &bs);
	if (ws.rank != 2 || bs.rank != 1 || bs.dim[0] != ws.dim[0] || ws.dim[1] == INT32_MAX)
		nw_fatal("\"%s\": the FC head's weights and biases do not fit together", path);
	e->classes = (int) ws.dim[0];
	e->head_dim = (int) ws.dim[1] + 1;
	e->head = nw_head_rows(w, b, e->classes, e->head_dim - 1);
	e->class_name = nw_alloc0((size_t) e->classes * sizeof(char *));
	for (int c = 0; c < e->classes; c++)
	{
		e->class_name[c] = next_class(&names);
		if (e->class_name[c] == NULL)
			nw_fatal("\"%s\" names fewer classes than its FC head has", path);
	}
	free(w);
	free(b);
}

/* Make an inner tensor of a model one of its outputs. */
static void
expose_output(const char *path, const char *name, NwBuf *bytes)
{
	Onnx__ModelProto *m = nw_model_parse(path, bytes);
	Onnx__GraphProto *g = m->graph;
	Onnx__ValueInfoProto *info;

	for (size_t i = 0; i < g->n_output; i++)
		if (strcmp(g->output[i]->name, name) == 0)
		{
			onnx__model_proto__free_unpacked(m, NULL);
			return;
		}
	if (!nw_model_computes(m, name))
		nw_fatal("\"%s\" has no output \"%s\"", path, name);
	info = nw_alloc(sizeof(*info)); /* freed with the message, by protobuf-c's free() */
	onnx__value_info_proto__init(info);
	info->name = nw_strdup(name);
	g->output = nw_realloc(g->output, (g->n_output + 1) * sizeof(*g->output));
	g->output[g->n_output++] = info;
	nw_buf_free(bytes);
	nw_model_pack(m, bytes);
	onnx__model_proto__free_unpacked(m, NULL);
}

/* Take a size that the model says; open ones stay as they are. */
static void
take_size(const char *path, int64_t size, int64_t max, int *into)
{
	if (size > max)
		nw_fatal("\"%s\" has an input of an impossible size", path);
	if (size > 0)
		*into = (int) size;
}

/* Settle input and output from the session's ports. */
static void
choose_ports(NwEmbedder *e, const NwEmbedderOptions *o)
{
	const NwPort *in;
	const NwPort *out;
	int n_in = nw_session_ports(e->session, false, &in);
	int n_out = nw_session_ports(e->session, true, &out);
	const NwPort *chosen = n_out > 0 ? &out[0] : NULL;

	if (n_in != 1 || in[0].shape.rank != 4 || in[0].type != NW_FLOAT)
		nw_fatal("\"%s\" has no single input of float images [N,C,H,W]", o->path);
	for (int i = 0; i < n_out; i++)
		if (strcmp(out[i].name, o->output ? o->output : "embedding") == 0)
			chosen = &out[i];
	if (chosen == NULL)
		nw_fatal("\"%s\" has no output: name a tensor by --output", o->path);
	if (chosen->type != NW_FLOAT)
		nw_fatal("\"%s\": output \"%s\" is not of type float", o->path, chosen->name);
	e->input = nw_strdup(in[0].name);
	e->output = nw_strdup(chosen->name);
	e->fixed = in[0].shape.dim[0] > 0;
	e->batch = o->batch;
	take_size(o->path, in[0].shape.dim[0], INT32_MAX, &e->batch);
	take_size(o->path, in[0].shape.dim[1], INT32_MAX, &e->pre.channels);
	take_size(o->path, in[0].shape.dim[2], MAX_SIDE, &e->pre.height);
	take_size(o->path, in[0].shape.dim[3], MAX_SIDE, &e->pre.width);
	if ((in[0].shape.dim[2] > 0 && o->height && o->height != e->pre.height) ||
	    (in[0].shape.dim[3] > 0 && o->width && o->width != e->pre.width))
		nw_fatal("\"%s\" takes images of %d x %d, not %d x %d", o->path, e->pre.height,
		         e->pre.width, o->height, o->width);
	if (e->pre.channels != 1 && e->pre.channels != 3)
		nw_fatal("\"%s\" wants images of %d channels: 1 or 3 are supported", o->path,
		         e->pre.channels);
}

static void
settle_preprocess(NwEmbedder *e, const NwEmbedderOptions *o)
{
	NwPreprocess *p = &e->pre;
	double zoom = 1;

	if (o->height)
		p->height = o->height;
	if (o->width)
		p->width = o->width;
	if (p->height == 0 || p->width == 0)
		nw_fatal("\"%s\" does not say what size of images it wants: give --input-size", o->path);
	if (p->height < 0 || p->height > MAX_SIDE || p->width < 0 || p->width > MAX_SIDE ||
	    (int64_t) e->batch * p->channels * p->height > MAX_BATCH_FLOATS / p->width)
		nw_fatal("\"%s\" wants batches of %d images of %d x %d, which is too much", o->path,
		         e->batch, p->height, p->width);
	if (nw_meta_get(&e->meta, "nwhead.zoom"))
		zoom = strtod(nw_meta_get(&e->meta, "nwhead.zoom"), NULL);
	if (o->resize)
		zoom = (double) o->resize / (p->height < p->width ? p->height : p->width);
	p->zoom = zoom >= 1 ? fmin(zoom, NW_MAX_ZOOM) : 1;
	for (int i = 0; i < 3; i++)
		p->std[i] = 1;
	meta_numbers(&e->meta, "nwhead.mean", p->mean);
	meta_numbers(&e->meta, "nwhead.std", p->std);
	if ((o->n_mean && o->n_mean != p->channels) || (o->n_std && o->n_std != p->channels))
		nw_fatal("--mean and --std want %d numbers for \"%s\"", p->channels, o->path);
	if (o->n_mean)
		memcpy(p->mean, o->mean, sizeof(p->mean));
	if (o->n_std)
		memcpy(p->std, o->std, sizeof(p->std));
	for (int i = 0; i < p->channels; i++)
	{
		if (!(p->std[i] > 0))
			nw_fatal("--std wants numbers above 0");
		if (!(fabs(p->mean[i]) <= 1e12 && p->std[i] >= NW_LEAST_STD && p->std[i] <= 1e12))
			nw_fatal("\"%s\" has an impossible mean or deviation of pixels", o->path);
	}
}

/* Run the model on n images; a fixed batch is filled up by the caller's buffer. */
static NwValue *
run_model(const NwEmbedder *e, float *images, int n, NwShape *shape)
{
	int run = e->fixed ? e->batch : n;
	NwValue *in =
		nw_value_over(NW_SHAPE(run, e->pre.channels, e->pre.height, e->pre.width), images);
	NwBinding *b = nw_binding_new(e->session);
	NwValue **out;
	NwValue *result;

	nw_bind_input(b, e->input, in);
	nw_bind_output_fresh(b, e->output, true);
	nw_binding_run(b);
	nw_binding_outputs(b, &out);
	result = out[0];
	free(out);
	nw_binding_free(b);
	nw_value_free(in);
	*shape = nw_value_shape(result);
	if (shape->rank != 2 && shape->rank != 4)
		nw_fatal(
			"output \"%s\" of shape %s is neither features [N,F] nor images [N,C,H,W]: name another with --output",
			e->output, nw_shape_text(shape));
	if (shape->dim[0] != run)
		nw_fatal("output \"%s\" has %lld rows for %d images", e->output, (long long) shape->dim[0],
		         run);
	return result;
}

/* Learn the embeddings' dimension: the model says it, or shows it on blank images. */
static void
learn_dim(NwEmbedder *e, const char *path)
{
	const NwPort *out;
	int n = nw_session_ports(e->session, true, &out);
	float *blank;
	NwShape shape;

	for (int i = 0; i < n; i++)
		if (strcmp(out[i].name, e->output) == 0 &&
		    (out[i].shape.rank == 2 || out[i].shape.rank == 4))
			take_size(path, out[i].shape.dim[1], INT32_MAX, &e->dim);
	if (e->dim > 0)
		return;
	blank = nw_alloc0((size_t) e->batch * nw_preprocess_size(&e->pre) * sizeof(float));
	nw_value_free(run_model(e, blank, e->batch, &shape));
	take_size(path, shape.dim[1], INT32_MAX, &e->dim);
	free(blank);
}

/* Name a model: as its metadata do, else as its file. */
static char *
identify(const NwMetas *meta, const char *path, const NwBuf *bytes)
{
	const char *said = nw_meta_get(meta, "name");
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	size_t len = strlen(base);
	char *name;
	char *identity;

	if (len > 5 && strcmp(base + len - 5, ".onnx") == 0)
		len -= 5;
	name = said && *said ? nw_strdup(said) : nw_printf("%.*s", (int) len, base);
	identity = nw_model_identity(name, bytes->data, bytes->len);
	free(name);
	return identity;
}

NwEmbedder *
nw_embedder_open(NwRuntime *rt, NwDevice device, const NwEmbedderOptions *o)
{
	NwEmbedder *e = nw_alloc0(sizeof(NwEmbedder));
	Onnx__ModelProto *m;
	NwBuf bytes;
	char *what = nw_printf("\"%s\"", o->path);

	nw_read_file(o->path, &bytes);
	m = nw_model_parse(o->path, &bytes);
	nw_model_metas(m, &e->meta);
	e->identity = identify(&e->meta, o->path, &bytes);
	if (nw_meta_get(&e->meta, "nwhead.head") &&
	    strcmp(nw_meta_get(&e->meta, "nwhead.head"), "fc") == 0)
		read_head(e, m, o->path);
	onnx__model_proto__free_unpacked(m, NULL);
	if (o->output)
		expose_output(o->path, o->output, &bytes);
	e->session = nw_session_open(rt, device, o->runs ? o->runs : 1, true, &bytes, what);
	nw_buf_free(&bytes);
	free(what);
	e->pre.channels =
		meta_int(&e->meta, "nwhead.channels") ? meta_int(&e->meta, "nwhead.channels") : 3;
	e->pre.height = meta_int(&e->meta, "nwhead.height");
	e->pre.width = meta_int(&e->meta, "nwhead.width");
	choose_ports(e, o);
	settle_preprocess(e, o);
	e->normalize = o->normalize;
	learn_dim(e, o->path);
	if (e->dim < 1)
		nw_fatal("\"%s\" makes embeddings without dimensions", o->path);
	if (e->classes > 0 && e->head_dim != e->dim)
		nw_fatal("\"%s\" has an FC head for embeddings of %d dimensions, but makes %d", o->path,
		         e->head_dim, e->dim);
	return e;
}

/* Average a map [n, dim, places] over its places, in order of memory. */
static void
pool(float *out, const float *in, int64_t rows, int64_t places)
{
	for (int64_t i = 0; i < rows; i++)
	{
		double sum = 0;

		for (int64_t j = 0; j < places; j++)
			sum += in[i * places + j];
		out[i] = (float) (sum / (double) places);
	}
}

/* Scale rows to length 1. */
static void
normalize_rows(float *z, int n, int dim)
{
	for (int i = 0; i < n; i++, z += dim)
	{
		double sum = 0;

		for (int j = 0; j < dim; j++)
			sum += (double) z[j] * z[j];
		for (int j = 0; j < dim && sum > 0; j++)
			z[j] = (float) (z[j] / sqrt(sum));
	}
}

/* Compute the embeddings [n, dim] of images, the caller's to free; any thread may ask. */
float *
nw_embedder_run(const NwEmbedder *e, float *images, int n)
{
	NwShape shape;
	NwValue *out = run_model(e, images, n, &shape);
	int64_t places = shape.rank == 4 ? shape.dim[2] * shape.dim[3] : 1;
	float *result;

	if (shape.dim[1] != e->dim || places < 1)
		nw_fatal("output \"%s\" has %lld columns where it had %d", e->output,
		         (long long) shape.dim[1], e->dim);
	result = nw_alloc((size_t) n * (size_t) e->dim * sizeof(float));
	if (places == 1)
		memcpy(result, nw_value_floats(out), (size_t) n * (size_t) e->dim * sizeof(float));
	else
		pool(result, nw_value_floats(out), (int64_t) n * e->dim, places);
	nw_value_free(out);
	if (e->normalize)
		normalize_rows(result, n, e->dim);
	return result;
}

void
nw_embedder_close(NwEmbedder *e)
{
	nw_session_close(e->session);
	for (int i = 0; i < e->classes; i++)
		free(e->class_name[i]);
	free(e->class_name);
	free(e->head);
	free(e->identity);
	free(e->input);
	free(e->output);
	nw_metas_free(&e->meta);
	free(e);
}
