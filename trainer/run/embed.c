/*
 * run/embed.c: images through a model into a table.
 *
 * On the CPU several threads each take a batch from pixels to embeddings, so that none
 * waits for another within a run of the model; a GPU runs one batch after another while
 * several threads decode ahead.  This one writes; everything the database sees happens
 * in one transaction.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/message.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/fitted.h"
#include "data/image.h"
#include "data/open.h"
#include "db/copy.h"
#include "db/embedding_table.h"
#include "db/pg.h"
#include "graph/meta.h"
#include "ort/device.h"
#include "ort/probe.h"
#include "ort/runtime.h"
#include "run/batch_queue.h"
#include "run/embed.h"
#include "run/embedder.h"
#include "run/progress_bar.h"

#define MAX_AT_A_TIME 4 /* batches in the model at a time: each has its own activations */
#define MAX_AHEAD 16    /* batches on their way, as far as memory allows */
#define AHEAD_BYTES (64 << 20)

/* everything a run works with */
typedef struct Run
{
	const NwEmbedSettings *o;
	NwDataset *dataset;
	NwFitted *fitted;
	NwEmbedder *embedder;
	PGconn *conn;
	NwEmbeddingTable table;
	NwDevice device;
	int at_a_time;        /* batches in work */
	NwBatchQueue *images; /* what a GPU is to run on; NULL on the CPU */
} Run;

/* a batch on its way through the model to the database */
typedef struct Batch
{
	int n;
	float *images; /* [n, channels, height, width] */
	float *z;      /* [n, dim], their embeddings */
} Batch;

/* Decode and normalise the images of a batch. */
static char *
fill_batch(void *arg, int64_t seq, void *slot)
{
	Run *run = arg;
	Batch *b = slot;
	size_t size = nw_preprocess_size(&run->embedder->pre);
	int64_t first = seq * run->embedder->batch;
	int64_t left = run->dataset->n - first;

	b->n = left < run->embedder->batch ? (int) left : run->embedder->batch;
	for (int i = 0; i < b->n; i++)
	{
		char *why =
			nw_fitted_tensor(run->fitted, first + i, 0, 0, false, b->images + (size_t) i * size);

		if (why != NULL)
			return why;
	}
	return NULL;
}

/* Register a table as a set whose embeddings are compared as the model says, unless told. */
static void
register_set(const Run *run, const NwEmbeddingTable *t, const char *set, bool labelled,
             bool replace)
{
	const NwMetas *meta = &run->embedder->meta;
	const char *kernel = run->o->kernel ? run->o->kernel : nw_meta_get(meta, "nwhead.kernel");
	const char *tau = nw_meta_get(meta, "nwhead.tau");
	char *given = run->o->tau > 0 ? nw_printf("%.17g", run->o->tau) : nw_strdup(tau ? tau : "1");

	nw_embedding_table_register(t, set, labelled, kernel ? kernel : "euclidean", given, replace);
	free(given);
}

/* Write an FC head as a table of its own, one row for each class, and register it. */
static void
write_head(const Run *run)
{
	const NwEmbedder *m = run->embedder;
	char *name = run->o->head_set ? nw_strdup(run->o->head_set)
	             : run->o->set    ? nw_printf("%s_head", run->o->set)
	                              : NULL;
	NwEmbeddingTable t;
	NwCopy copy;

	if (m->classes == 0 || name == NULL)
		return;
	t = nw_embedding_table_open(run->conn, name, "bigint", m->dim, false, true);
	nw_copy_begin(&copy, run->conn, t.relation);
	for (int c = 0; c < m->classes; c++)
		nw_copy_row_bigint(&copy, c + 1, m->class_name[c], m->head + (size_t) c * (size_t) m->dim,
		                   m->dim);
	nw_copy_end(&copy);
	nw_embedding_table_finish(&t);
	if (run->o->set) /* the same head is written with every table of the model */
		register_set(run, &t, name, true, true);
	free(t.relation);
	free(name);
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

static void
write_rows(Run *run, NwCopy *copy, int64_t first, int n, const float *z)
{
	const NwDataset *d = run->dataset;
	int dim = run->embedder->dim;

	for (int i = 0; i < n; i++, z += dim)
	{
		int64_t k = first + i;
		const char *label = d->label[k] >= 0 ? d->classes[d->label[k]] : NULL;

		if (d->path)
			nw_copy_row(copy, d->path[k], (int) strlen(d->path[k]), label, z, dim);
		else if (d->id)
			nw_copy_row(copy, d->id[k].data, (int) d->id[k].len, label, z, dim);
		else
			nw_copy_row_bigint(copy, d->place[k] + 1, label, z, dim);
	}
}

/* Check numbers before they reach the database. */
static void
check_finite(const Run *run, const float *z, int n)
{
	int bad = 0;

	for (int64_t i = 0; i < (int64_t) n * run->embedder->dim; i++)
	{
		int32_t bits;

		memcpy(&bits, &z[i], 4);
		bad |= (bits & 0x7fffffff) > 0x7f7fffff; /* by bits, several at a time */
	}
	if (bad)
		nw_fatal("\"%s\" gave an embedding that is not a number", run->o->model.path);
}

/* Begin the transaction, and the rows. */
static void
begin(Run *run, NwCopy *copy)
{
	const NwDataset *d = run->dataset;
	const char *id_type = d->path ? "text" : d->id_type ? d->id_type : "bigint";

	PQclear(nw_pg_query(run->conn, PGRES_COMMAND_OK, 0, NULL, "BEGIN"));
	run->table = nw_embedding_table_open(run->conn, run->o->table, id_type, run->embedder->dim,
	                                     run->o->append, run->o->replace);
	nw_copy_begin(copy, run->conn, run->table.relation);
}

/* Take a batch to its embeddings, while earlier ones are being written. */
static char *
embed_batch(void *arg, int64_t seq, void *slot)
{
	Run *run = arg;
	Batch *out = slot;
	Batch *in = run->images ? nw_batch_queue_take(run->images) : out;
	char *why = run->images ? NULL : fill_batch(run, seq, in);

	if (why != NULL)
		return why;
	out->n = in->n;
	out->z = nw_embedder_run(run->embedder, in->images, in->n);
	if (run->images)
		nw_batch_queue_return(run->images);
	if (run->o->normalize)
		normalize_rows(out->z, out->n, run->embedder->dim);
	check_finite(run, out->z, out->n);
	return NULL;
}

static int
batches_ahead(const Run *run, size_t batch_bytes)
{
	size_t n = AHEAD_BYTES / batch_bytes;

	if (n < (size_t) run->at_a_time + 2)
		n = (size_t) run->at_a_time + 2;
	return n < MAX_AHEAD ? (int) n : MAX_AHEAD;
}

/* Push all images through the model into the table. */
static void
embed_all(Run *run)
{
	NwEmbedder *m = run->embedder;
	bool on_cpu = run->device == NW_DEVICE_CPU;
	size_t bytes = (size_t) m->batch * nw_preprocess_size(&m->pre) * sizeof(float);
	int ahead = batches_ahead(run, bytes);
	int64_t n_batches = (run->dataset->n + m->batch - 1) / m->batch;
	Batch batch[MAX_AHEAD];
	Batch embedded[MAX_AHEAD] = {{0}};
	void *slots[MAX_AHEAD];
	void *out_slots[MAX_AHEAD];
	NwBatchQueue *embeddings;
	NwProgressBar bar;
	NwCopy copy;
	int64_t done = 0;

	for (int i = 0; i < ahead; i++)
	{
		batch[i].images = nw_alloc0(bytes);
		slots[i] = &batch[i];
		out_slots[i] = on_cpu ? &batch[i] : &embedded[i];
	}
	bar = nw_progress_bar_start("image", 0, run->dataset->n, run->o->quiet);
	if (!on_cpu)
		run->images =
			nw_batch_queue_start(fill_batch, run, 0, n_batches, slots, ahead, run->at_a_time);
	embeddings = nw_batch_queue_start(embed_batch, run, 0, n_batches, out_slots, ahead,
	                                  on_cpu ? run->at_a_time : 1);
	begin(run, &copy);
	for (int64_t k = 0; k < n_batches; k++)
	{
		Batch *b = nw_batch_queue_take(embeddings);

		write_rows(run, &copy, done, b->n, b->z);
		free(b->z);
		done += b->n;
		nw_batch_queue_return(embeddings);
		nw_progress_bar_show(&bar, done, "");
	}
	nw_copy_end(&copy);
	nw_batch_queue_stop(embeddings);
	if (!on_cpu)
		nw_batch_queue_stop(run->images);
	nw_embedding_table_finish(&run->table);
	write_head(run);
	nw_dataset_whole(run->dataset); /* also of images that --per-class left out */
	if (run->o->set)
		register_set(run, &run->table, run->o->set, run->dataset->n_classes > 0,
		             run->o->replace || run->o->append);
	PQclear(nw_pg_query(run->conn, PGRES_COMMAND_OK, 0, NULL, "COMMIT"));
	nw_progress_bar_end(&bar, done, "");
	for (int i = 0; i < ahead; i++)
		free(batch[i].images);
}

/* Carry out "nwhead embed". */
int
nw_embed(NwEmbedSettings *o)
{
	Run run = {.o = o};
	NwRuntime *rt;

	run.dataset = nw_dataset_open(&o->dataset, false);
	rt = nw_runtime_open(o->threads, o->profile);
	run.device = nw_device_choose(rt, o->device);
	run.at_a_time = nw_runtime_threads(rt) < MAX_AT_A_TIME ? nw_runtime_threads(rt) : MAX_AT_A_TIME;
	o->model.runs = run.device == NW_DEVICE_CPU ? run.at_a_time : 1;
	run.embedder = nw_embedder_open(rt, run.device, &o->model);
	run.fitted = nw_fitted_new(run.dataset, &run.embedder->pre, 0);
	run.conn = nw_pg_connect(o->dataset.dsn);
	if (o->set)
		free(nw_pg_extension(run.conn, "nwhead")); /* better now than after the work */
	embed_all(&run);
	if (!o->quiet)
		nw_info("%lld embeddings of %d dimensions in table %s%s%s", (long long) run.dataset->n,
		        run.embedder->dim, run.table.relation, o->set ? ", registered as " : "",
		        o->set ? o->set : "");
	PQfinish(run.conn);
	nw_embedder_close(run.embedder);
	nw_fitted_free(run.fitted);
	nw_dataset_free(run.dataset);
	nw_runtime_close(rt);
	free(run.table.relation);
	return 0;
}
