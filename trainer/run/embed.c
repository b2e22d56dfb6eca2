/*
 * run/embed.c: the subcommand "embed": images through a model into a table.
 *
 * On the CPU several threads each take a batch from pixels to embeddings, so that none
 * waits for another within a run of the model; a GPU runs one batch after another while
 * several threads decode ahead.  This one writes; everything the database sees happens
 * in one transaction.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "data/fitted.h"
#include "db/copy.h"
#include "run/batch_queue.h"
#include "run/embed.h"
#include "run/embedder.h"
#include "run/progress_bar.h"

#define WHO "embed"
#define MAX_AT_A_TIME 4 /* batches in the model at a time: each has its own activations */
#define MAX_AHEAD 16    /* batches on their way, as far as memory allows */
#define AHEAD_BYTES (64 << 20)
#define MAX_VECTOR_DIM 16000 /* pgvector's limit for a vector column */

typedef struct EmbedOptions
{
	NwSourceOptions source;
	NwExtractorOptions model;
	const char *table;
	const char *set;
	const char *head_set;
	const char *kernel;
	double tau; /* 0: the model's */
	bool append;
	bool replace;
	bool normalize;
	NwDevice device;
	int threads;
	const char *profile;
	bool quiet;
} EmbedOptions;

/* everything a run works with */
typedef struct Run
{
	EmbedOptions o;
	NwSource *source;
	NwCache *cache;
	NwExtractor *model;
	PGconn *conn;
	char *relation;
	bool created;
	const char *id_type;
	NwDevice device;
	int at_a_time;  /* batches in work */
	NwPipe *images; /* what a GPU is to run on */
} Run;

/* a batch on its way through the model to the database */
typedef struct Batch
{
	int n;
	float *images;
	float *z;
} Batch;

enum
{
	OPT_MODEL = NW_OPT_OWN,
	OPT_TABLE,
	OPT_SET,
	OPT_HEAD_SET,
	OPT_KERNEL,
	OPT_TAU,
	OPT_APPEND,
	OPT_REPLACE,
	OPT_NORMALIZE,
	OPT_OUTPUT,
	OPT_INPUT_SIZE,
	OPT_RESIZE,
	OPT_MEAN,
	OPT_STD,
	OPT_BATCH,
	OPT_DEVICE,
	OPT_THREADS,
	OPT_PROFILE,
	OPT_QUIET,
	OPT_HELP
};

static const struct option long_options[] = {
	NW_SOURCE_LONG_OPTIONS,
	{"from-table", required_argument, NULL, NW_OPT_TABLE},
	{"model", required_argument, NULL, OPT_MODEL},
	{"table", required_argument, NULL, OPT_TABLE},
	{"set", required_argument, NULL, OPT_SET},
	{"head-set", required_argument, NULL, OPT_HEAD_SET},
	{"kernel", required_argument, NULL, OPT_KERNEL},
	{"tau", required_argument, NULL, OPT_TAU},
	{"append", no_argument, NULL, OPT_APPEND},
	{"replace", no_argument, NULL, OPT_REPLACE},
	{"normalize", no_argument, NULL, OPT_NORMALIZE},
	{"output", required_argument, NULL, OPT_OUTPUT},
	{"input-size", required_argument, NULL, OPT_INPUT_SIZE},
	{"resize", required_argument, NULL, OPT_RESIZE},
	{"mean", required_argument, NULL, OPT_MEAN},
	{"std", required_argument, NULL, OPT_STD},
	{"batch", required_argument, NULL, OPT_BATCH},
	{"device", required_argument, NULL, OPT_DEVICE},
	{"threads", required_argument, NULL, OPT_THREADS},
	{"profile", required_argument, NULL, OPT_PROFILE},
	{"quiet", no_argument, NULL, OPT_QUIET},
	{"help", no_argument, NULL, OPT_HELP},
	{NULL, 0, NULL, 0}};

static const char *const kernels[] = {"euclidean", "gaussian", "hypersphere", "cosine", "dot"};

/* Print everything there is to know. */
static void
usage(void)
{
	printf("nwhead embed: run a model over images and fill a PostgreSQL table.\n\n"
	       "Usage:\n"
	       "  nwhead embed --model FILE.onnx SOURCE --table REL [OPTION]...\n\n");
	nw_source_usage("from-table");
	printf(
		"Table (id, label, embedding), all in one transaction:\n"
		"  --table REL               created when missing\n"
		"  --append, --replace       add to the rows it has, or delete them first\n"
		"  --set NAME                register the table as a set of extension nwhead\n"
		"  --head-set NAME           where an FC model's head goes (SET_head): a table and a set with\n"
		"                            one row for each class, for predictions with kernel dot\n"
		"  --kernel NAME             euclidean, gaussian, hypersphere, cosine, dot (as the model says)\n"
		"  --tau T                   (as the model says)\n"
		"  --normalize               scale embeddings to length 1\n\n"
		"Model, where it is not one of nwhead train:\n"
		"  --output NAME             tensor to take (\"embedding\", else the first output)\n"
		"  --input-size N or HxW     size of the images\n"
		"  --resize N                scale the shorter side to N, then cut the centre\n"
		"  --mean A,B,C --std A,B,C  of pixels in [0,1] (0 and 1)\n\n"
		"Run:\n"
		"  --batch N                 images a run (64)\n"
		"  --device NAME             auto, cpu, webgpu, cuda (auto: the fastest that works)\n"
		"  --threads N               (one for each core)\n"
		"  --profile PREFIX          write ONNX Runtime's profile\n"
		"  --quiet                   no progress\n"
		"  --help\n");
}

/* Read "224" or "224x320". */
static void
parse_size(const char *text, int *height, int *width)
{
	char *copy = nw_strdup(text);
	char *x = strchr(copy, 'x');

	if (x != NULL)
		*x++ = 0;
	*height = (int) nw_parse_int(WHO, "input-size", copy, 1, 8192);
	*width = x ? (int) nw_parse_int(WHO, "input-size", x, 1, 8192) : *height;
	free(copy);
}

/* Take one option. */
static void
take(EmbedOptions *o, int code)
{
	switch (code)
	{
		case OPT_MODEL:
			o->model.path = optarg;
			break;
		case OPT_TABLE:
			o->table = optarg;
			break;
		case OPT_SET:
			o->set = optarg;
			break;
		case OPT_HEAD_SET:
			o->head_set = optarg;
			break;
		case OPT_KERNEL:
			o->kernel = optarg;
			break;
		case OPT_TAU:
			o->tau = nw_parse_double(WHO, "tau", optarg, 1e-12, 1e12);
			break;
		case OPT_APPEND:
			o->append = true;
			break;
		case OPT_REPLACE:
			o->replace = true;
			break;
		case OPT_NORMALIZE:
			o->normalize = true;
			break;
		case OPT_OUTPUT:
			o->model.output = optarg;
			break;
		case OPT_INPUT_SIZE:
			parse_size(optarg, &o->model.height, &o->model.width);
			break;
		case OPT_RESIZE:
			o->model.resize = (int) nw_parse_int(WHO, "resize", optarg, 1, 8192);
			break;
		case OPT_MEAN:
			o->model.n_mean = nw_parse_list(WHO, "mean", optarg, o->model.mean, 3);
			break;
		case OPT_STD:
			o->model.n_std = nw_parse_list(WHO, "std", optarg, o->model.std, 3);
			break;
		case OPT_BATCH:
			o->model.batch = (int) nw_parse_int(WHO, "batch", optarg, 1, 65536);
			break;
		case OPT_DEVICE:
			o->device = nw_parse_device(WHO, optarg);
			break;
		case OPT_THREADS:
			o->threads = (int) nw_parse_int(WHO, "threads", optarg, 1, 1024);
			break;
		case OPT_PROFILE:
			o->profile = optarg;
			break;
		case OPT_QUIET:
			o->quiet = true;
			break;
	}
}

/* Read the command line. */
static void
parse(int argc, char **argv, EmbedOptions *o)
{
	int code;
	bool known = false;

	*o = (EmbedOptions) {.model.batch = 64};
	opterr = 0;
	while ((code = getopt_long(argc, argv, "", long_options, NULL)) != -1)
	{
		if (code == OPT_HELP)
		{
			usage();
			exit(0);
		}
		if (code == '?')
			nw_usage_error(WHO, "unknown option, or one without its value: \"%s\"",
			               argv[optind - 1]);
		if (!nw_source_option(WHO, code, argc, argv, &o->source))
			take(o, code);
	}
	if (optind < argc)
		nw_usage_error(WHO, "too many arguments: \"%s\"", argv[optind]);
	nw_source_check(WHO, &o->source, "from-table", false);
	if (o->model.path == NULL)
		nw_usage_error(WHO, "--model must be given");
	if (o->table == NULL)
		nw_usage_error(WHO, "--table must be given");
	if (o->append && o->replace)
		nw_usage_error(WHO, "only one of --append and --replace can be given");
	for (int i = 0; i < NW_LENGTH(kernels); i++)
		known |= o->kernel && strcmp(o->kernel, kernels[i]) == 0;
	if (o->kernel && !known)
		nw_usage_error(WHO, "there is no kernel \"%s\"", o->kernel);
}

/* Decode and normalise the images of a batch. */
static char *
fill_batch(void *arg, int64_t seq, void *slot)
{
	Run *run = arg;
	Batch *b = slot;
	const NwPreprocess *p = &run->model->pre;
	size_t size = (size_t) p->channels * (size_t) p->height * (size_t) p->width;
	int64_t first = seq * run->model->batch;
	int64_t left = run->source->n - first;

	b->n = left < run->model->batch ? (int) left : run->model->batch;
	for (int i = 0; i < b->n; i++)
	{
		char *why =
			nw_cache_tensor(run->cache, first + i, 0, 0, false, b->images + (size_t) i * size);

		if (why != NULL)
			return why;
	}
	return NULL;
}

/* Find the extension's schema, quoted; fatal where it is not installed. */
static char *
extension_schema(PGconn *c, const char *extension)
{
	PGresult *r = nw_pg_query(
		c, PGRES_TUPLES_OK, 1, &extension,
		"SELECT pg_catalog.quote_ident(n.nspname) FROM pg_catalog.pg_extension e"
		" JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = $1");
	char *schema;

	if (PQntuples(r) != 1)
		nw_fatal("extension \"%s\" is not installed in this database: CREATE EXTENSION %s%s",
		         extension, extension, strcmp(extension, "nwhead") == 0 ? " CASCADE" : "");
	schema = nw_strdup(PQgetvalue(r, 0, 0));
	PQclear(r);
	return schema;
}

/* Check that a table there is can take the rows. */
static void
check_table(PGconn *c, const char *relation, const char *name, int dim, const char *id_type)
{
	static const char *const columns[] = {"id", "label", "embedding"};
	char *vector = nw_printf("vector(%d)", dim);
	const char *types[] = {id_type, "text", vector};

	for (int i = 0; i < 3; i++)
	{
		PGresult *r = nw_pg_query(
			c, PGRES_TUPLES_OK, 2, (const char *[]) {relation, columns[i]},
			"SELECT pg_catalog.format_type(a.atttypid, a.atttypmod), t.typname"
			" FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid"
			" WHERE a.attrelid = $1::pg_catalog.regclass AND a.attname = $2"
			" AND a.attnum > 0 AND NOT a.attisdropped");
		const char *type;

		if (PQntuples(r) != 1)
			nw_fatal("table \"%s\" has no column \"%s\"", name, columns[i]);
		type = PQgetvalue(r, 0, 0);
		if (i == 2 && strcmp(PQgetvalue(r, 0, 1), "vector") == 0 && strchr(type, '(') != NULL)
			type = strrchr(type, '.') ? strrchr(type, '.') + 1 : type;
		else if (i == 2 && strcmp(PQgetvalue(r, 0, 1), "vector") == 0)
			type = vector; /* of any dimension */
		if (strcmp(type, types[i]) != 0)
			nw_fatal("table \"%s\": column \"%s\" is of type %s, and %s is needed", name,
			         columns[i], type, types[i]);
		PQclear(r);
	}
	free(vector);
}

/* Make a table ready for rows: created, found empty, added to or emptied. Its quoted name. */
static char *
prepare_table(const Run *run, const char *name, const char *id_type, int dim, bool append,
              bool replace, bool *created)
{
	PGconn *c = run->conn;
	char *relation = nw_pg_relation(c, name);
	char *vector = extension_schema(c, "vector");
	PGresult *r;

	*created = false;
	if (dim > MAX_VECTOR_DIM)
		nw_fatal("embeddings of %d dimensions do not fit a vector column (at most %d)", dim,
		         MAX_VECTOR_DIM);
	if (relation == NULL)
	{
		r = nw_pg_query(
			c, PGRES_TUPLES_OK, 1, &name,
			"SELECT pg_catalog.string_agg(pg_catalog.quote_ident(p), '.' ORDER BY n)"
			" FROM pg_catalog.unnest(pg_catalog.parse_ident($1)) WITH ORDINALITY AS u(p, n)");
		relation = nw_strdup(PQgetvalue(r, 0, 0));
		PQclear(r);
		PQclear(nw_pg_query(
			c, PGRES_COMMAND_OK, 0, NULL,
			"CREATE TABLE %s (id %s NOT NULL, label pg_catalog.text, embedding %s.vector(%d))",
			relation, id_type, vector, dim));
		free(vector);
		*created = true;
		return relation;
	}
	free(vector);
	check_table(c, relation, name, dim, id_type);
	if (replace)
		PQclear(nw_pg_query(c, PGRES_COMMAND_OK, 0, NULL, "DELETE FROM %s", relation));
	else if (!append)
	{
		r = nw_pg_query(c, PGRES_TUPLES_OK, 0, NULL, "SELECT FROM %s LIMIT 1", relation);
		if (PQntuples(r) > 0)
			nw_fatal("table \"%s\" has rows already: give --append or --replace", name);
		PQclear(r);
	}
	return relation;
}

/* Give a new table its key once the rows are in: one sort is cheaper than a search for each. */
static void
finish_table(const Run *run, const char *relation, bool created)
{
	if (created)
		PQclear(nw_pg_query(run->conn, PGRES_COMMAND_OK, 0, NULL,
		                    "ALTER TABLE %s ADD PRIMARY KEY (id)", relation));
}

/* Say how a model's embeddings are compared. */
static const char *
kernel_of(const Run *run)
{
	const char *k = run->o.kernel ? run->o.kernel : nw_meta_get(&run->model->meta, "nwhead.kernel");

	return k ? k : "euclidean";
}

/* Register a table as a set. */
static void
register_set(const Run *run, const char *set, const char *relation, bool labelled)
{
	char *schema = extension_schema(run->conn, "nwhead");
	const char *tau = nw_meta_get(&run->model->meta, "nwhead.tau");
	char *given = run->o.tau > 0 ? nw_printf("%.17g", run->o.tau) : nw_strdup(tau ? tau : "1");
	const char *args[] = {set,
	                      relation,
	                      labelled ? "label" : NULL,
	                      kernel_of(run),
	                      given,
	                      run->o.replace || run->o.append ? "true" : "false"};

	PQclear(nw_pg_query(
		run->conn, PGRES_TUPLES_OK, 6, args,
		"SELECT %s.nw_register($1, $2::pg_catalog.regclass, embedding => 'embedding', label => $3,"
		" id => 'id', kernel => $4, tau => $5::pg_catalog.float8, replace => $6::pg_catalog.bool)",
		schema));
	free(given);
	free(schema);
}

/* Write an FC head as a table of its own, one row for each class, and register it. */
static void
write_head(Run *run)
{
	NwExtractor *m = run->model;
	char *name = run->o.head_set ? nw_strdup(run->o.head_set)
	             : run->o.set    ? nw_printf("%s_head", run->o.set)
	                             : NULL;
	char *relation;
	bool created;
	NwCopy copy;

	if (m->classes == 0 || name == NULL)
		return;
	relation = prepare_table(run, name, "bigint", m->dim, false, true, &created);
	nw_copy_begin(&copy, run->conn, relation);
	for (int c = 0; c < m->classes; c++)
		nw_copy_row_bigint(&copy, c + 1, m->class_name[c], m->head + (size_t) c * (size_t) m->dim,
		                   m->dim);
	nw_copy_end(&copy);
	finish_table(run, relation, created);
	if (run->o.set)
	{
		bool replace = run->o.replace;

		run->o.replace = true; /* the same head is written with every table of the model */
		register_set(run, name, relation, true);
		run->o.replace = replace;
	}
	free(relation);
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

/* Write the rows of a batch. */
static void
write_rows(Run *run, NwCopy *copy, int64_t first, int n, const float *z)
{
	const NwSource *s = run->source;
	int dim = run->model->dim;

	for (int i = 0; i < n; i++, z += dim)
	{
		int64_t k = first + i;
		const char *label = s->label[k] >= 0 ? s->classes[s->label[k]] : NULL;

		if (s->path)
			nw_copy_row(copy, s->path[k], (int) strlen(s->path[k]), label, z, dim);
		else if (s->id)
			nw_copy_row(copy, s->id[k].data, (int) s->id[k].len, label, z, dim);
		else
			nw_copy_row_bigint(copy, s->place[k] + 1, label, z, dim);
	}
}

/* Check numbers before they reach the database. */
static void
check_finite(const Run *run, const float *z, int n)
{
	int bad = 0;

	for (int64_t i = 0; i < (int64_t) n * run->model->dim; i++)
	{
		int32_t bits;

		memcpy(&bits, &z[i], 4);
		bad |= (bits & 0x7fffffff) > 0x7f7fffff; /* by bits, several at a time */
	}
	if (bad)
		nw_fatal("\"%s\" gave an embedding that is not a number", run->o.model.path);
}

/* Begin the transaction. */
static void
begin(Run *run, NwCopy *copy)
{
	PQclear(nw_pg_query(run->conn, PGRES_COMMAND_OK, 0, NULL, "BEGIN"));
	run->relation = prepare_table(run, run->o.table, run->id_type, run->model->dim, run->o.append,
	                              run->o.replace, &run->created);
	nw_copy_begin(copy, run->conn, run->relation);
}

/* Take a batch to its embeddings, while earlier ones are being written. */
static char *
embed_batch(void *arg, int64_t seq, void *slot)
{
	Run *run = arg;
	Batch *out = slot;
	Batch *in = run->images ? nw_pipe_take(run->images) : out;
	char *why = run->images ? NULL : fill_batch(run, seq, in);

	if (why != NULL)
		return why;
	out->n = in->n;
	out->z = nw_extractor_run(run->model, in->images, in->n);
	if (run->images)
		nw_pipe_return(run->images);
	if (run->o.normalize)
		normalize_rows(out->z, out->n, run->model->dim);
	check_finite(run, out->z, out->n);
	return NULL;
}

/* Say how many batches may be on their way. */
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
	NwExtractor *m = run->model;
	bool on_cpu = run->device == NW_DEVICE_CPU;
	size_t bytes = (size_t) m->batch * (size_t) m->pre.channels * (size_t) m->pre.height *
	               (size_t) m->pre.width * sizeof(float);
	int ahead = batches_ahead(run, bytes);
	int64_t n_batches = (run->source->n + m->batch - 1) / m->batch;
	Batch batch[MAX_AHEAD];
	Batch embedded[MAX_AHEAD] = {{0}};
	void *slots[MAX_AHEAD];
	void *out_slots[MAX_AHEAD];
	NwPipe *embeddings;
	NwProgress progress;
	NwCopy copy;
	int64_t done = 0;

	for (int i = 0; i < ahead; i++)
	{
		batch[i].images = nw_alloc0(bytes);
		slots[i] = &batch[i];
		out_slots[i] = on_cpu ? &batch[i] : &embedded[i];
	}
	progress = nw_progress_start("image", 0, run->source->n, run->o.quiet);
	if (!on_cpu)
		run->images = nw_pipe_start(fill_batch, run, 0, n_batches, slots, ahead, run->at_a_time);
	embeddings = nw_pipe_start(embed_batch, run, 0, n_batches, out_slots, ahead,
	                           on_cpu ? run->at_a_time : 1);
	begin(run, &copy);
	for (int64_t k = 0; k < n_batches; k++)
	{
		Batch *b = nw_pipe_take(embeddings);

		write_rows(run, &copy, done, b->n, b->z);
		free(b->z);
		done += b->n;
		nw_pipe_return(embeddings);
		nw_progress_show(&progress, done, "");
	}
	nw_copy_end(&copy);
	nw_pipe_stop(embeddings);
	if (!on_cpu)
		nw_pipe_stop(run->images);
	finish_table(run, run->relation, run->created);
	write_head(run);
	nw_source_whole(run->source); /* also of images that --per-class left out */
	if (run->o.set)
		register_set(run, run->o.set, run->relation, run->source->n_classes > 0);
	PQclear(nw_pg_query(run->conn, PGRES_COMMAND_OK, 0, NULL, "COMMIT"));
	nw_progress_end(&progress, done, "");
	for (int i = 0; i < ahead; i++)
		free(batch[i].images);
}

/* Carry out "nwhead embed". */
int
nw_embed_main(int argc, char **argv)
{
	Run run = {0};
	NwRuntime *rt;

	parse(argc, argv, &run.o);
	run.source = nw_source_open(&run.o.source, false);
	run.id_type = run.source->path ? "text" : run.source->id_type ? run.source->id_type : "bigint";
	rt = nw_runtime_open(run.o.threads, run.o.profile);
	run.device = nw_device_choose(rt, run.o.device);
	run.at_a_time = nw_runtime_threads(rt) < MAX_AT_A_TIME ? nw_runtime_threads(rt) : MAX_AT_A_TIME;
	run.o.model.runs = run.device == NW_DEVICE_CPU ? run.at_a_time : 1;
	run.model = nw_extractor_open(rt, run.device, &run.o.model);
	run.cache = nw_cache_new(run.source, &run.model->pre, 0);
	run.conn = nw_pg_connect(run.o.source.dsn);
	if (run.o.set)
		free(extension_schema(run.conn, "nwhead")); /* better now than after the work */
	embed_all(&run);
	if (!run.o.quiet)
		nw_info("%lld embeddings of %d dimensions in table %s%s%s", (long long) run.source->n,
		        run.model->dim, run.relation, run.o.set ? ", registered as " : "",
		        run.o.set ? run.o.set : "");
	PQfinish(run.conn);
	nw_extractor_close(run.model);
	nw_cache_free(run.cache);
	nw_source_free(run.source);
	nw_runtime_close(rt);
	free(run.relation);
	return 0;
}
