/*
 * run/embed.c: images through a model into a table.
 *
 * On the CPU several threads each take a batch from pixels to embeddings, so that none
 * waits for another within a run of the model; a GPU runs one batch after another while
 * several threads decode ahead.  This one writes; everything the database sees happens
 * in one transaction.
 */
#include <stdlib.h>
#include <string.h>

#include "base/finite.h"
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
#define MAX_NAMED 10 /* images left out that are named, of however many */

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
	int64_t written;      /* rows */
	int64_t bad;          /* images left out */
} Run;

/* a batch on its way through the model to the database */
typedef struct Batch
{
	int n;
	int64_t *row;  /* [n], their numbers in the dataset */
	float *images; /* [n, channels, height, width] */
	float *z;      /* [n, dim], their embeddings */
	int n_bad;     /* images left out */
	char **why;    /* [n_bad], to be freed */
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

	b->n = 0;
	b->n_bad = 0;
	for (int64_t i = first; i < first + (left < run->embedder->batch ? left : run->embedder->batch);
	     i++)
	{
		char *why = nw_fitted_tensor(run->fitted, i, 0, 0, false, b->images + (size_t) b->n * size);

		if (why == NULL)
			b->row[b->n++] = i;
		else if (run->o->skip_bad)
			b->why[b->n_bad++] = why;
		else
			return why;
	}
	return NULL;
}

/*
 * Register a table as a set whose embeddings are compared as the model says, unless told.  A set
 * that rows are added to keeps its settings, but for those that are told.
 */
static void
register_set(const Run *run, const NwEmbeddingTable *t, const char *set, bool labelled,
             bool replace)
{
	const NwMetas *meta = &run->embedder->meta;
	const char *kernel = nw_meta_get(meta, "nwhead.kernel");
	const char *tau = nw_meta_get(meta, "nwhead.tau");
	char *told = run->o->tau > 0 ? nw_printf("%.17g", run->o->tau) : NULL;

	if (run->o->append && nw_embedding_table_is_set(t, set))
		nw_embedding_table_change_set(t, set, run->o->kernel, told);
	else
		nw_embedding_table_register(t, set, labelled,
		                            run->o->kernel ? run->o->kernel
		                            : kernel       ? kernel
		                                           : "euclidean",
		                            told  ? told
		                            : tau ? tau
		                                  : "1",
		                            run->embedder->identity, replace);
	free(told);
}

/* Name the table and set that the FC head goes to, to be freed; NULL where there is none. */
static char *
head_name(const Run *run)
{
	if (run->embedder->classes == 0)
		return NULL;
	return run->o->head_set ? nw_strdup(run->o->head_set)
	       : run->o->set    ? nw_printf("%s_head", run->o->set)
	                        : NULL;
}

/* Say whether two names are of the same relation, which is there. */
static bool
same_relation(PGconn *c, const char *a, const char *b)
{
	char *first = nw_pg_relation(c, a);
	char *second = nw_pg_relation(c, b);
	bool same = first && second && strcmp(first, second) == 0;

	free(first);
	free(second);
	return same;
}

/* Refuse to write to the table that the images are in. */
static void
check_source(const Run *run, const char *name, const char *option)
{
	if (run->o->dataset.table && same_relation(run->conn, run->o->dataset.table, name))
		nw_fatal("table \"%s\" is the one that the images are in: name another %s", name, option);
}

/* Where --into-new-set is given, refuse a table that is there. */
static void
check_new(const Run *run, const char *name)
{
	char *relation = run->o->new_set ? nw_pg_relation(run->conn, name) : NULL;

	if (relation != NULL)
		nw_fatal("table %s is there already: --into-new-set wants a name that is free", name);
	free(relation);
}

/*
 * Tell whether the FC head is in its table already, as every table of a model writes the same one.
 * Rows are deleted there only where they can be another head, and --replace is given.
 */
static bool
head_is_there(const Run *run, const char *name)
{
	const NwEmbedder *m = run->embedder;
	const NwHead head = {m->classes, m->dim, m->class_name, m->head, m->identity};
	NwHeadPlace place;

	check_source(run, name, "--head-set");
	if (same_relation(run->conn, name, run->table.relation))
		nw_fatal("table \"%s\" cannot have both the embeddings and the FC head: give another"
		         " --head-set",
		         name);
	place = nw_embedding_table_head(run->conn, name, &head);
	if (place == NW_HEAD_ROWS)
		nw_fatal("table \"%s\" has rows that are no FC head: give another --head-set", name);
	if (place == NW_HEAD_LIKE && !run->o->replace)
		nw_fatal(
			"table \"%s\" has rows that are not this model's FC head: give --replace or another"
			" --head-set",
			name);
	return place == NW_HEAD_SAME;
}

/* Refuse a table that the FC head must not go to, before rows are written. */
static void
check_head(const Run *run)
{
	char *name = head_name(run);

	if (name == NULL)
		return;
	check_new(run, name);
	head_is_there(run, name);
	free(name);
}

/* Write an FC head as a table of its own, one row for each class, and register it. */
static void
write_head(const Run *run)
{
	const NwEmbedder *m = run->embedder;
	char *name = head_name(run);
	bool there;
	NwEmbeddingTable t;

	if (name == NULL)
		return;
	there = head_is_there(run, name);
	t = nw_embedding_table_open(run->conn, name, "bigint", m->dim, there,
	                            run->o->replace && !there);
	if (!there)
	{
		NwCopy copy;

		nw_embedding_table_note(&t, m->identity, false);
		nw_copy_begin(&copy, run->conn, t.relation);
		for (int c = 0; c < m->classes; c++)
			nw_copy_row_bigint(&copy, c + 1, m->class_name[c],
			                   m->head + (size_t) c * (size_t) m->dim, m->dim);
		nw_copy_end(&copy);
		nw_embedding_table_finish(&t);
	}
	if (run->o->set) /* the set of another table is not taken over unasked */
		register_set(run, &t, name, true, run->o->replace || nw_embedding_table_is_set(&t, name));
	free(t.relation);
	free(name);
}

/* Write the rows of a batch, and name the images that it left out. */
static void
write_rows(Run *run, NwCopy *copy, const Batch *b)
{
	const NwDataset *d = run->dataset;
	int dim = run->embedder->dim;
	const float *z = b->z;

	for (int i = 0; i < b->n; i++, z += dim)
	{
		int64_t k = b->row[i];
		const char *label = d->label[k] >= 0 ? d->classes[d->label[k]] : NULL;

		if (d->path)
			nw_copy_row(copy, d->path[k], (int) strlen(d->path[k]), label, z, dim);
		else if (d->id)
			nw_copy_row(copy, d->id[k].data, (int) d->id[k].len, label, z, dim);
		else
			nw_copy_row_bigint(copy, d->place[k] + 1, label, z, dim);
	}
	for (int i = 0; i < b->n_bad; i++)
	{
		if (run->bad++ < MAX_NAMED)
			nw_info("left out: %s", b->why[i]);
		free(b->why[i]);
	}
	run->written += b->n;
}

/* Begin the transaction, and the rows. */
static void
begin(Run *run, NwCopy *copy)
{
	const NwDataset *d = run->dataset;
	const char *id_type = d->path ? "text" : d->id_type ? d->id_type : "bigint";

	PQclear(nw_pg_query(run->conn, PGRES_COMMAND_OK, 0, NULL, "BEGIN"));
	check_new(run, run->o->table);
	run->table = nw_embedding_table_open(run->conn, run->o->table, id_type, run->embedder->dim,
	                                     run->o->append, run->o->replace);
	check_head(run);
	nw_embedding_table_note(&run->table, run->embedder->identity, run->o->mix_models);
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
	out->z = in->n > 0 ? nw_embedder_run(run->embedder, in->images, in->n) : NULL;
	if (run->images)
	{
		out->n = in->n;
		memcpy(out->row, in->row, (size_t) in->n * sizeof(int64_t));
		out->n_bad = in->n_bad;
		memcpy(out->why, in->why, (size_t) in->n_bad * sizeof(char *));
		nw_batch_queue_return(run->images);
	}
	if (!nw_all_finite(out->z, (int64_t) out->n * run->embedder->dim))
		return nw_printf("\"%s\" gave an embedding that is not a number", run->o->model.path);
	return NULL;
}

/* Make room for a batch; its images only where they are kept there. */
static void
alloc_batch(Batch *b, const Run *run, size_t image_bytes)
{
	size_t n = (size_t) run->embedder->batch;

	b->row = nw_alloc(n * sizeof(int64_t));
	b->why = nw_alloc(n * sizeof(char *));
	b->images = image_bytes > 0 ? nw_alloc0(image_bytes) : NULL;
}

static void
free_batch(Batch *b)
{
	free(b->row);
	free(b->why);
	free(b->images);
}

static int
batches_ahead(const Run *run, size_t batch_bytes)
{
	size_t n = AHEAD_BYTES / batch_bytes;

	if (n < (size_t) run->at_a_time + 2)
		n = (size_t) run->at_a_time + 2;
	return n < MAX_AHEAD ? (int) n : MAX_AHEAD;
}

/* Say whether the rows have labels; where there are no rows, whether they would. */
static bool
labelled(const Run *run)
{
	return run->dataset->n_classes > 0 ||
	       (run->dataset->n == 0 && (!run->o->dataset.table || run->o->dataset.label_column));
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
	Batch batch[MAX_AHEAD] = {{0}};
	Batch embedded[MAX_AHEAD] = {{0}};
	void *slots[MAX_AHEAD];
	void *out_slots[MAX_AHEAD];
	NwBatchQueue *embeddings;
	NwProgressBar bar;
	NwCopy copy;
	int64_t done = 0; /* images, also those left out */

	for (int i = 0; i < ahead; i++)
	{
		alloc_batch(&batch[i], run, bytes);
		if (!on_cpu)
			alloc_batch(&embedded[i], run, 0);
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

		write_rows(run, &copy, b);
		free(b->z);
		done += b->n + b->n_bad;
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
		register_set(run, &run->table, run->o->set, labelled(run), run->o->replace);
	PQclear(nw_pg_query(run->conn, PGRES_COMMAND_OK, 0, NULL, "COMMIT"));
	nw_progress_bar_end(&bar, done, "");
	for (int i = 0; i < ahead; i++)
	{
		free_batch(&batch[i]);
		free_batch(&embedded[i]);
	}
}

/* Carry out "nwhead embed". */
int
nw_embed(NwEmbedSettings *o)
{
	Run run = {.o = o};
	NwRuntime *rt;

	run.dataset = nw_dataset_open(&o->dataset, false);
	rt = nw_runtime_open(o->model.threads, o->model.profile);
	run.device = nw_device_choose(rt, o->model.device);
	run.at_a_time = nw_runtime_threads(rt) < MAX_AT_A_TIME ? nw_runtime_threads(rt) : MAX_AT_A_TIME;
	o->model.runs = run.device == NW_DEVICE_CPU ? run.at_a_time : 1;
	run.embedder = nw_embedder_open(rt, run.device, &o->model);
	run.fitted = nw_fitted_new(run.dataset, &run.embedder->pre, 0);
	run.conn = nw_pg_connect(o->dataset.dsn);
	check_source(&run, o->table, "--table");
	if (o->set)
		free(nw_pg_extension(run.conn, "nwhead")); /* better now than after the work */
	embed_all(&run);
	if (!o->quiet)
		nw_info("%lld embeddings of %d dimensions %s table %s%s%s", (long long) run.written,
		        run.embedder->dim, o->append ? "added to" : "in", run.table.relation,
		        o->set ? ", registered as " : "", o->set ? o->set : "");
	if (run.bad > 0)
		nw_info("%lld images could not be read and were left out", (long long) run.bad);
	PQfinish(run.conn);
	nw_embedder_close(run.embedder);
	nw_fitted_free(run.fitted);
	nw_dataset_free(run.dataset);
	nw_runtime_close(rt);
	free(run.table.relation);
	return 0;
}
