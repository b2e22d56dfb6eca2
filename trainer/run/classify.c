/*
 * run/classify.c: images to labels, with reasons.
 *
 * Files go through the model a batch at a time, and are answered in their order.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/finite.h"
#include "base/memory.h"
#include "base/message.h"
#include "base/model_note.h"
#include "base/text.h"
#include "data/fitted.h"
#include "data/image.h"
#include "db/pg.h"
#include "db/support_set.h"
#include "ort/device.h"
#include "ort/probe.h"
#include "ort/runtime.h"
#include "run/classify.h"
#include "run/embedder.h"

/* A distance that is 0 but for rounding. */
#define EQUAL_DISTANCE 1e-12

typedef struct Run
{
	const NwClassifySettings *o;
	NwEmbedder *embedder;
	NwSupportSet set;
	bool failed; /* for at least one file */
} Run;

/* Append a value as JSON: text, or a number where it is one. */
static void
json_value(NwBuf *b, const PGresult *r, int row, int column, bool number)
{
	const char *v = PQgetvalue(r, row, column);

	if (PQgetisnull(r, row, column) || (number && !isfinite(strtod(v, NULL))))
		nw_buf_printf(b, "null");
	else if (number)
		nw_buf_printf(b, "%s", v);
	else
		nw_buf_json(b, v);
}

/* Append the name of a file, be it UTF-8 or not, as the first of a JSON object. */
static void
json_file(NwBuf *b, const char *file)
{
	char *valid = nw_valid_utf8(file);

	nw_buf_printf(b, "{\"file\": ");
	nw_buf_json(b, valid);
	free(valid);
}

static void
say_json(NwBuf *b, const char *file, const PGresult *label, bool sure, const PGresult *reasons)
{
	json_file(b, file);
	nw_buf_printf(b, ", \"label\": ");
	if (sure)
		json_value(b, label, 0, 0, false);
	else
		nw_buf_printf(b, "null");
	nw_buf_printf(b, ", \"confidence\": ");
	json_value(b, label, 0, 1, true);
	nw_buf_printf(b, ", \"reasons\": [");
	for (int i = 0; reasons && i < PQntuples(reasons); i++)
	{
		nw_buf_printf(b, "%s{\"id\": ", i ? ", " : "");
		json_value(b, reasons, i, 0, false);
		nw_buf_printf(b, ", \"label\": ");
		json_value(b, reasons, i, 1, false);
		nw_buf_printf(b, ", \"distance\": ");
		json_value(b, reasons, i, 2, true);
		nw_buf_printf(b, ", \"weight\": ");
		json_value(b, reasons, i, 3, true);
		nw_buf_printf(b, "}");
	}
	nw_buf_printf(b, "]}\n");
}

static void
say_text(NwBuf *b, const char *file, const PGresult *label, bool sure, const PGresult *reasons)
{
	if (PQgetisnull(label, 0, 0))
		nw_buf_printf(b, "%s: no label\n", file);
	else if (sure)
		nw_buf_printf(b, "%s: %s (%.4f)\n", file, PQgetvalue(label, 0, 0),
		              strtod(PQgetvalue(label, 0, 1), NULL));
	else
		nw_buf_printf(b, "%s: not sure, perhaps %s (%.4f)\n", file, PQgetvalue(label, 0, 0),
		              strtod(PQgetvalue(label, 0, 1), NULL));
	for (int i = 0; reasons && i < PQntuples(reasons); i++)
		nw_buf_printf(b, "    %.4f  %s%s%s\n", strtod(PQgetvalue(reasons, i, 3), NULL),
		              PQgetvalue(reasons, i, 1), PQgetisnull(reasons, i, 0) ? "" : "  ",
		              PQgetvalue(reasons, i, 0));
}

/* Point out an image that is a row of the set itself: its answer proves nothing. */
static void
warn_of_own_row(const Run *run, const char *file, const PGresult *reasons)
{
	for (int i = 0; reasons && i < PQntuples(reasons); i++)
		if (fabs(strtod(PQgetvalue(reasons, i, 2), NULL)) < EQUAL_DISTANCE)
		{
			nw_info("warning: image \"%s\" is probably a row of set \"%s\" itself, with id \"%s\"",
			        file, run->set.name, PQgetvalue(reasons, i, 0));
			return;
		}
}

/* Say what an image is, and why. */
static void
answer(const Run *run, const char *file, const float *z)
{
	PGresult *label = nw_support_set_label(&run->set, z);
	PGresult *reasons = run->o->top > 0 ? nw_support_set_reasons(&run->set, z, run->o->top) : NULL;
	bool sure = !PQgetisnull(label, 0, 1) &&
	            strtod(PQgetvalue(label, 0, 1), NULL) >= run->o->min_confidence;
	NwBuf b = {0};

	(run->o->json ? say_json : say_text)(&b, file, label, sure, reasons);
	fputs(b.data, stdout);
	nw_buf_free(&b);
	warn_of_own_row(run, file, reasons);
	PQclear(label);
	PQclear(reasons);
}

/* Say that there is no answer for a file, and why; frees the reason. */
static void
no_answer(Run *run, const char *file, char *why)
{
	run->failed = true;
	nw_info("could not read image \"%s\": %s", file, why);
	if (run->o->json)
	{
		NwBuf b = {0};

		json_file(&b, file);
		nw_buf_printf(&b, ", \"error\": ");
		nw_buf_json(&b, why);
		nw_buf_printf(&b, "}\n");
		fputs(b.data, stdout);
		nw_buf_free(&b);
	}
	free(why);
}

/* Make the tensor of a file; why not (to be freed), else NULL. */
static char *
load(const NwPreprocess *pre, const char *file, float *out)
{
	NwBuf b;
	char *why;

	if (strcmp(file, "-") == 0 ? !nw_try_read_stdin(&b) : !nw_try_read_file(file, &b))
		return nw_strdup(strerror(errno));
	why = nw_encoded_tensor(b.data, b.len, pre, out);
	nw_buf_free(&b);
	return why;
}

/* Answer for some files, as many as a batch has. */
static void
classify_batch(Run *run, char **file, int n, float *images)
{
	const NwEmbedder *m = run->embedder;
	size_t size = nw_preprocess_size(&m->pre);
	char **why = nw_alloc((size_t) n * sizeof(char *));
	float *z = NULL;
	int loaded = 0;
	int at = 0;

	for (int i = 0; i < n; i++)
	{
		why[i] = load(&m->pre, file[i], images + (size_t) loaded * size);
		loaded += why[i] == NULL;
	}
	if (loaded > 0)
		z = nw_embedder_run(m, images, loaded);
	for (int i = 0; i < n; i++)
	{
		const float *own = z + (size_t) at * (size_t) m->dim;

		if (why[i] == NULL)
		{
			at++;
			if (nw_all_finite(own, m->dim))
				answer(run, file[i], own);
			else
				no_answer(run, file[i], nw_strdup("its embedding is not a number"));
		}
		else
			no_answer(run, file[i], why[i]);
	}
	fflush(stdout);
	free(why);
	free(z);
}

/* Carry out "nwhead classify". */
int
nw_classify(NwClassifySettings *o)
{
	Run run = {.o = o};
	PGconn *c = nw_pg_connect(o->dsn);
	NwRuntime *rt = nw_runtime_open(o->model.threads, o->model.profile);
	float *images;

	if (o->model.batch > o->n_files)
		o->model.batch = o->n_files;
	run.embedder = nw_embedder_open(rt, nw_device_choose(rt, o->model.device), &o->model);
	run.set = nw_support_set_open(c, o->set, run.embedder->identity);
	if (run.set.dim == 0)
		run.set.dim = run.embedder->dim;
	if (run.set.dim != run.embedder->dim)
		nw_fatal("set \"%s\" has embeddings of %d dimensions, and \"%s\" makes %d", o->set,
		         run.set.dim, o->model.path, run.embedder->dim);
	if (run.set.model && !nw_model_same(run.set.model, run.embedder->identity))
		nw_info("warning: set \"%s\" has embeddings of model %s, and \"%s\" is %s", o->set,
		        run.set.model, o->model.path, run.embedder->identity);
	images = nw_alloc0((size_t) run.embedder->batch * nw_preprocess_size(&run.embedder->pre) *
	                   sizeof(float));
	for (int i = 0; i < o->n_files; i += run.embedder->batch)
		classify_batch(&run, o->file + i,
		               o->n_files - i < run.embedder->batch ? o->n_files - i : run.embedder->batch,
		               images);
	if (ferror(stdout) || fflush(stdout) != 0)
		nw_fatal("could not write the answers: %s", strerror(errno));
	free(images);
	free(run.set.model);
	PQfinish(c);
	nw_embedder_close(run.embedder);
	nw_runtime_close(rt);
	return run.failed ? NW_EXIT_FAILED : 0;
}
