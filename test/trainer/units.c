/*
 * units.c: tests of the trainer's parts that need no model and no server.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hush.h"
#include "base/memory.h"
#include "base/message.h"
#include "base/model_note.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/thread.h"
#include "data/batch_spec.h"
#include "data/dataset.h"
#include "data/image.h"
#include "data/sampler.h"
#include "graph/graph.h"
#include "graph/meta.h"
#include "graph/onnx_read.h"
#include "graph/onnx_write.h"
#include "graph/shape.h"
#include "graph/states.h"
#include "net/buffers.h"
#include "net/separate.h"
#include "onnx.pb-c.h"
#include "report.h"
#include "run/batch_queue.h"
#include "run/checkpoint.h"

/* Make a dataset of n images of so many classes, in turn; the last class has `few`. */
static NwDataset *
make_dataset(int n, int classes, int few)
{
	NwDataset *s = nw_alloc0(sizeof(NwDataset));
	char **names = nw_alloc((size_t) n * sizeof(char *));

	s->n = n;
	s->name = nw_strdup("test");
	for (int i = 0; i < n; i++)
	{
		int k = i < few ? classes - 1 : i % (classes - 1);

		names[i] = nw_printf("c%03d", k);
	}
	nw_dataset_set_labels(s, names);
	return s;
}

/* Check what the paper asks of supports, over many steps. */
static void
test_sampler(int classes, int n, int few, NwBatchSpec spec, const char *what)
{
	NwDataset *s = make_dataset(n, classes, few);
	NwSampler *sampler;
	NwChoice a;
	NwChoice b;
	bool own = false;    /* a query among its own supports */
	bool absent = false; /* a query's class not among its supports */
	bool uneven = false; /* classes filled unevenly */
	bool wrong = false;  /* a membership that does not fit the labels */
	bool same = true;    /* a step drawn twice is the same */
	bool targets = true;

	spec.slots = s->n_classes < spec.supports ? s->n_classes : spec.supports;
	sampler = nw_sampler_new(s, &spec, 0.1, 7);
	nw_choice_init(&a, &spec);
	nw_choice_init(&b, &spec);
	for (int step = 0; step < 200; step++)
	{
		nw_sampler_draw(sampler, step, &a);
		nw_sampler_draw(sampler, step, &b);
		same &= memcmp(a.image, b.image, (size_t) nw_batch_images(&spec) * sizeof(int64_t)) == 0;
		for (int q = 0; q < spec.queries; q++)
		{
			int set = spec.shared ? 0 : q;
			const int64_t *support = a.image + spec.queries + set * spec.supports;
			const float *member =
				a.member + (size_t) set * (size_t) spec.supports * (size_t) spec.slots;
			int count[512] = {0};
			int found = 0;
			int least = spec.supports;
			int most = 0;
			double sum = 0;

			for (int i = 0; i < spec.supports; i++)
			{
				own |= support[i] == a.image[q];
				found += s->label[support[i]] == s->label[a.image[q]];
				wrong |= (member[i * spec.slots + a.truth[q]] == 0) !=
				         (s->label[support[i]] == s->label[a.image[q]]);
				count[s->label[support[i]]]++;
			}
			absent |= found == 0;
			for (int c = 0; c < s->n_classes; c++)
				if (count[c] > 0)
				{
					least = count[c] < least ? count[c] : least;
					most = count[c] > most ? count[c] : most;
				}
			uneven |= few == 0 && most - least > 1;
			for (int i = 0; i < spec.slots; i++)
				sum += a.targets[q * spec.slots + i];
			targets &= sum <= 1 + 1e-6 && a.targets[q * spec.slots + a.truth[q]] > 0.9f;
		}
	}
	check(!own, nw_printf("%s: no query is its own support", what));
	check(!absent, nw_printf("%s: a query's class is among its supports", what));
	check(!uneven, nw_printf("%s: classes are filled evenly", what));
	check(!wrong, nw_printf("%s: memberships fit the labels", what));
	check(same, nw_printf("%s: a step depends on its number alone", what));
	check(targets, nw_printf("%s: targets are smoothed probabilities", what));
	nw_choice_free(&a);
	nw_choice_free(&b);
	nw_sampler_free(sampler);
}

/* Check that the FC head sees every image once in each epoch. */
static void
test_epochs(void)
{
	NwDataset *s = make_dataset(96, 4, 0);
	NwBatchSpec spec = {.queries = 8, .slots = 3};
	NwSampler *sampler = nw_sampler_new(s, &spec, 0, 3);
	NwChoice c;
	bool once = true;

	nw_choice_init(&c, &spec);
	for (int epoch = 0; epoch < 3; epoch++)
	{
		int seen[96] = {0};

		for (int i = 0; i < 12; i++)
		{
			nw_sampler_draw(sampler, epoch * 12 + i, &c);
			for (int q = 0; q < 8; q++)
				seen[c.image[q]]++;
		}
		for (int i = 0; i < 96; i++)
			once &= seen[i] == 1;
	}
	check(once, "fc: an epoch shows every image once");
	nw_choice_free(&c);
	nw_sampler_free(sampler);
}

/* Check resizing: a constant stays, a ramp keeps its mean and order, equal size copies. */
static void
test_fit(void)
{
	NwPreprocess pre = {.channels = 3, .height = 17, .width = 13, .zoom = 1.2, .std = {1, 1, 1}};
	uint8_t in[40 * 50 * 3];
	uint8_t out[17 * 13 * 3];
	NwImage image = {40, 50, 3, in};
	bool constant = true;
	bool rising = true;

	memset(in, 77, sizeof(in));
	nw_image_fit(&image, &pre, out);
	for (size_t i = 0; i < sizeof(out); i++)
		constant &= out[i] == 77;
	check(constant, "fit: a constant image stays constant");
	for (int i = 0; i < 40 * 50 * 3; i++)
		in[i] = (uint8_t) (i / 3 % 50 * 5);
	nw_image_fit(&image, &pre, out);
	for (int x = 1; x < 13; x++)
		rising &= out[x * 3] > out[(x - 1) * 3];
	check(rising && out[6 * 3] > 118 && out[6 * 3] < 128, "fit: a ramp keeps its order and centre");
	pre = (NwPreprocess) {.channels = 1, .height = 40, .width = 50, .zoom = 1, .std = {1, 1, 1}};
	image.channels = 1;
	{
		uint8_t copy[40 * 50];

		nw_image_fit(&image, &pre, copy);
		check(memcmp(copy, in, sizeof(copy)) == 0, "fit: an image of the right size is copied");
	}
}

/* Check normalising, moving and mirroring. */
static void
test_tensor(void)
{
	NwPreprocess pre = {
		.channels = 1, .height = 2, .width = 3, .zoom = 1, .mean = {0.5}, .std = {0.25}};
	uint8_t in[6] = {0, 51, 102, 153, 204, 255};
	float out[6];

	nw_image_tensor(in, &pre, 0, 0, false, out);
	check(fabsf(out[0] + 2) < 1e-6f && fabsf(out[5] - 2) < 1e-6f && fabsf(out[1] + 1.2f) < 1e-6f,
	      "tensor: normalised");
	nw_image_tensor(in, &pre, 0, 0, true, out);
	check(fabsf(out[0] + 0.4f) < 1e-6f && fabsf(out[2] + 2) < 1e-6f, "tensor: mirrored");
	nw_image_tensor(in, &pre, 1, -1, false, out);
	check(out[0] == 0 && fabsf(out[1] - 0.4f) < 1e-6f && out[3] == 0 && out[5] == 0,
	      "tensor: moved");
}

/* Check that equal constants are one tensor. */
static void
test_constants(void)
{
	NwStates states = {0};
	NwGraph *g = nw_graph_new(NW_FOR_TRAINING, false, &states, 0);
	NwT a = nw_scalar(g, 0.5);
	bool same = true;

	for (int i = 0; i < 500; i++)
		nw_scalar(g, i);
	for (int i = 0; i < 500; i++)
		same &= nw_scalar(g, i) == nw_scalar(g, i);
	check(same && nw_scalar(g, 0.5) == a, "graph: equal constants are one tensor");
	check(nw_int64s(g, 1, (int64_t[]) {1}) != nw_int64s(g, 2, (int64_t[]) {1, 1}),
	      "graph: other constants are another");
	nw_graph_free(g);
}

/* Check that states survive a file, bit for bit, and that a cut file is refused. */
static void
test_states(void)
{
	NwStates a = {0};
	NwStates b = {0};
	NwMetas meta = {0};
	NwMetas back = {0};
	float v[3] = {1.5f, -0.0f, 1e-42f};
	NwBuf bytes;
	Onnx__ModelProto *m;

	nw_state_add(&a, "x", NW_SHAPE(3), v);
	nw_meta_set(&meta, "key", "%s", "a \"value\"");
	nw_states_pack(&a, &meta, &bytes);
	m = nw_model_parse("memory", &bytes);
	nw_model_metas(m, &back);
	nw_states_unpack(m, "memory", &b);
	check(memcmp(b.item[0].data, v, sizeof(v)) == 0 &&
	          strcmp(nw_meta_get(&back, "key"), "a \"value\"") == 0,
	      "states: a file keeps every bit");
	check(onnx__model_proto__unpack(NULL, bytes.len - 5, (uint8_t *) bytes.data) == NULL,
	      "states: a cut file is refused");
}

static char *
fill(void *arg, int64_t seq, void *slot)
{
	(void) arg;
	if (seq % 5 == 0) /* so that others overtake */
		usleep(200);
	*(int64_t *) slot = seq;
	return seq == 1000 ? nw_strdup("end") : NULL;
}

/* Check that batches come in order and slots are not reused too early, by so many threads. */
static void
test_queue(int threads)
{
	int64_t memory[3];
	void *slots[3] = {&memory[0], &memory[1], &memory[2]};
	NwBatchQueue *q = nw_batch_queue_start(fill, NULL, 5, 1000, slots, 3, threads);
	bool order = true;

	for (int64_t i = 5; i < 1000; i++)
	{
		int64_t *s = nw_batch_queue_take(q);

		order &= *s == i;
		nw_batch_queue_return(q);
	}
	nw_batch_queue_stop(q);
	check(order, "queue: batches come in order");
	q = nw_batch_queue_start(fill, NULL, 0, 1000, slots, 3, threads);
	nw_batch_queue_take(q);
	nw_batch_queue_stop(q);
	check(true, "queue: it can be stopped half-way");
}

/* Check the generator's range and evenness. */
static void
test_random(void)
{
	NwRandom r = nw_random(1, 2, 3);
	int count[7] = {0};
	double sum = 0;
	double square = 0;
	bool even = true;

	for (int i = 0; i < 70000; i++)
	{
		double v = nw_random_normal(&r);

		count[nw_random_below(&r, 7)]++;
		sum += v;
		square += v * v;
	}
	for (int i = 0; i < 7; i++)
		even &= abs(count[i] - 10000) < 500;
	check(even, "random: whole numbers are even");
	check(fabs(sum / 70000) < 0.02 && fabs(square / 70000 - 1) < 0.03,
	      "random: normal numbers have mean 0 and variance 1");
}

static void *
fail(void *arg)
{
	nw_fatal("last words of %s", (const char *) arg);
}

/* Fail in one thread while another turns stderr away again and again. */
static void
fail_while_hushed(void)
{
	pthread_t thread;

	alarm(10);
	nw_thread_start(&thread, fail, "a thread");
	for (;;)
	{
		nw_hush();
		fputs("noise\n", stderr);
		nw_unhush();
	}
}

/* Check that the error of one thread is heard, whatever another keeps aside. */
static void
test_hush(void)
{
	const char *words = "nwhead: error: last words of a thread\n";
	int heard = 0;

	fflush(stdout); /* which a child would write too */
	for (int i = 0; i < 200; i++)
	{
		char said[256];
		size_t len = 0;
		ssize_t n;
		int ends[2];
		int status;
		pid_t pid;

		if (pipe(ends) != 0 || (pid = fork()) < 0)
			break;
		if (pid == 0)
		{
			dup2(ends[1], STDERR_FILENO);
			close(ends[0]);
			close(ends[1]);
			fail_while_hushed();
		}
		close(ends[1]);
		while (len < sizeof(said) && (n = read(ends[0], said + len, sizeof(said) - len)) > 0)
			len += (size_t) n;
		close(ends[0]);
		waitpid(pid, &status, 0);
		heard += memmem(said, len, words, strlen(words)) != NULL && WIFEXITED(status) &&
		         WEXITSTATUS(status) == NW_EXIT_FAILED;
	}
	check(heard == 200, "an error of one thread is heard while another keeps noise aside");
}

/* Digests of FIPS 180-4's examples, and of lengths around the end of a block. */
static void
test_sha256(void)
{
	static const struct
	{
		int len;
		const char *text;
		const char *hex;
	} known[] = {
		{0, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{3, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{56, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
		{112,
	     "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
	     "lmnopqrsmnopqrstnopqrstu",
	     "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
	};
	char hex[NW_SHA256_HEX + 1];
	char *million = nw_alloc(1000000);
	bool same = true;

	for (int i = 0; i < NW_LENGTH(known); i++)
	{
		nw_sha256(known[i].text, (size_t) known[i].len, hex);
		same &= strcmp(hex, known[i].hex) == 0;
	}
	check(same, "SHA-256 of the standard's examples");
	memset(million, 'a', 1000000);
	nw_sha256(million, 1000000, hex);
	check(strcmp(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0") == 0,
	      "SHA-256 of a million bytes");
	free(million);
}

/* Say whether text is as wanted, and free it. */
static bool
is(char *text, const char *wanted)
{
	bool same = wanted == NULL ? text == NULL : text != NULL && strcmp(text, wanted) == 0;

	free(text);
	return same;
}

static void
test_model_note(void)
{
	char *a = nw_model_identity("bird\ns", "abc", 3);
	char *b = nw_model_identity("other name", "abc", 3);
	char *c = nw_model_identity("birds", "abd", 3);
	char *two;

	check(strcmp(a, "bird s sha256:"
	                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") == 0,
	      "a model's name is one line");
	check(nw_model_same(a, b) && !nw_model_same(a, c), "bytes decide, not names");
	check(is(nw_note_set(NULL, "m sha256:1", true), "nwhead model: m sha256:1"), "a first note");
	check(is(nw_note_set("by hand", "m sha256:1", true), "by hand\nnwhead model: m sha256:1"),
	      "beside other text");
	check(is(nw_note_set("\n\nby hand\n", "m sha256:1", true),
	         "\n\nby hand\nnwhead model: m sha256:1"),
	      "beside empty lines");
	check(is(nw_note_set("x\nnwhead model: m sha256:1\ny", "n sha256:1", true),
	         "x\nnwhead model: m sha256:1\ny"),
	      "a note that is there");
	two = nw_note_set("x\nnwhead model: m sha256:1\ny", "n sha256:2", true);
	check(strcmp(two, "x\nnwhead model: m sha256:1\ny\nnwhead model: n sha256:2") == 0,
	      "two models");
	check(is(nw_note_set(two, "o sha256:3", false), "x\ny\nnwhead model: o sha256:3"),
	      "one in their place");
	check(is(nw_note_find(two, NULL), "m sha256:1") &&
	          is(nw_note_find(two, "z sha256:1"), "n sha256:2") &&
	          is(nw_note_find("x\nnwhead model: m sha256:1\r\n", "z sha256:1"), NULL) &&
	          is(nw_note_find("", NULL), NULL),
	      "notes are found");
	free(two);
	free(a);
	free(b);
	free(c);
}

static void
test_utf8(void)
{
	check(is(nw_valid_utf8("a\xc3\xa9\xf0\x9f\x90\xa6"), "a\xc3\xa9\xf0\x9f\x90\xa6"),
	      "UTF-8 stays as it is");
	check(is(nw_valid_utf8("\xe9t\xff\xc3"), "\xef\xbf\xbdt\xef\xbf\xbd\xef\xbf\xbd"),
	      "other bytes do not");
	check(is(nw_valid_utf8("\xc0\x80"), "\xef\xbf\xbd\xef\xbf\xbd") &&
	          is(nw_valid_utf8("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"),
	      "nor do long forms and halves of pairs");
}

static void
test_short_text(void)
{
	char *longer = nw_printf("%0199d\xc3\xa9", 1);

	check(is(nw_short_text("a\xc3\xa9\n\x1b[0m\x7f\xc2\x9b\xff"), "a\xc3\xa9??[0m???"),
	      "control characters are not shown");
	check(strlen(nw_short_text(longer)) == 199, "nor is half a character at the end");
	free(longer);
}

/* Add a weight [n] to a model. */
static void
add_weight(Onnx__GraphProto *g, const char *name, int n, const float *v)
{
	Onnx__TensorProto *t = nw_alloc(sizeof(*t));

	*t = (Onnx__TensorProto) ONNX__TENSOR_PROTO__INIT;
	t->name = nw_strdup(name);
	t->has_data_type = 1;
	t->data_type = NW_FLOAT;
	t->n_dims = 1;
	t->dims = nw_alloc(sizeof(int64_t));
	t->dims[0] = n;
	t->n_float_data = (size_t) n;
	t->float_data = nw_alloc((size_t) n * sizeof(float));
	memcpy(t->float_data, v, (size_t) n * sizeof(float));
	g->initializer = nw_realloc(g->initializer, (g->n_initializer + 1) * sizeof(*g->initializer));
	g->initializer[g->n_initializer++] = t;
}

/* Add a node "TYPE OUTPUT INPUT..." to a model. */
static void
add_node(Onnx__GraphProto *g, const char *text)
{
	Onnx__NodeProto *n = nw_alloc(sizeof(*n));
	char *words = nw_strdup(text);
	char *rest = NULL;

	*n = (Onnx__NodeProto) ONNX__NODE_PROTO__INIT;
	n->op_type = nw_strdup(strtok_r(words, " ", &rest));
	n->n_output = 1;
	n->output = nw_alloc(sizeof(char *));
	n->output[0] = nw_strdup(strtok_r(NULL, " ", &rest));
	n->input = nw_alloc(5 * sizeof(char *));
	for (const char *word; (word = strtok_r(NULL, " ", &rest)) != NULL;)
		n->input[n->n_input++] = nw_strdup(word);
	free(words);
	g->node = nw_realloc(g->node, (g->n_node + 1) * sizeof(*g->node));
	g->node[g->n_node++] = n;
}

/* Make a model of nodes. */
static Onnx__ModelProto *
new_model(const char *const *nodes)
{
	Onnx__ModelProto *m = nw_alloc(sizeof(*m));

	*m = (Onnx__ModelProto) ONNX__MODEL_PROTO__INIT;
	m->graph = nw_alloc(sizeof(*m->graph));
	*m->graph = (Onnx__GraphProto) ONNX__GRAPH_PROTO__INIT;
	for (int i = 0; nodes[i] != NULL; i++)
		add_node(m->graph, nodes[i]);
	return m;
}

/* Separate the weights of a model of these nodes: what they read then, and how many are new. */
static void
check_separated(const char *const *nodes, bool freeze, int want_added, const char *want,
                const char *what)
{
	Onnx__ModelProto *m = new_model(nodes);
	NwBuf reads = {0};
	int added;

	add_weight(m->graph, "zero", 2, (float[]) {0, 0});
	add_weight(m->graph, "w", 2, (float[]) {1, 2});
	add_weight(m->graph, "zero.2", 2, (float[]) {3, 4}); /* a name to stay clear of */
	added = nw_separate_weights(m, "test", freeze);
	for (size_t i = 0; i < m->graph->n_node; i++)
		for (size_t j = 0; j < m->graph->node[i]->n_input; j++)
			nw_buf_printf(&reads, " %s", m->graph->node[i]->input[j]);
	check(added == want_added && m->graph->n_initializer == (size_t) (3 + added) &&
	          strcmp(reads.data, want) == 0,
	      what);
	nw_buf_free(&reads);
	onnx__model_proto__free_unpacked(m, NULL);
}

#define NODES(...) ((const char *const[]) {__VA_ARGS__, NULL})

/* A value that is used several times is one weight or several. */
static void
test_separate(void)
{
	check_separated(NODES("Conv a x k zero", "Conv b a l zero", "Add c b zero"), false, 2,
	                " x k zero a l zero.3 b zero.4", "equal biases are separated");
	check_separated(NODES("MatMul a x w", "MatMul b a w"), false, 0, " x w a w",
	                "a matrix used twice is one");
	check_separated(NODES("MatMul a x w", "Add b a zero", "Transpose t w", "MatMul c b t"), false,
	                0, " x w a zero w b t", "a matrix used both ways is one");
	check_separated(NODES("Conv a x w zero", "Conv b a w zero", "Conv c b k zero"), false, 1,
	                " x w zero a w zero b k zero.3", "layers with one matrix keep one bias");
	check_separated(NODES("BatchNormalization a x w w zero w", "BatchNormalization b a w w zero w"),
	                false, 6, " x w w.2 zero w.3 a w.4 w.5 zero.3 w.6",
	                "statistics, scales and biases are separated");
	check_separated(NODES("BatchNormalization a x w w zero w", "BatchNormalization b a w w zero w"),
	                true, 0, " x w w zero w a w w zero w", "frozen ones stay together");
	check_separated(NODES("Conv a x k zero", "BatchNormalization b a w w zero w"), true, 1,
	                " x k zero a w w zero.3 w", "but not with what is trained");
	check_separated(NODES("Mul a x zero", "Sub b a zero"), false, 0, " x zero a zero",
	                "a value that is computed with is one");
	check_separated(NODES("Identity own zero", "Conv a x k own", "Conv b a l zero"), false, 1,
	                " x k own a l zero", "another name becomes a weight's");
	check_separated(
		NODES("Identity own zero", "Identity two own", "Conv a x k two", "Conv b a l two"), false,
		1, " x k zero a l two", "a name is given once");
}

/* Find the values of a model of these nodes that are no weights: they become its first nodes. */
static void
check_fixed(const char *const *nodes, const char *want, const char *what)
{
	Onnx__ModelProto *m = new_model(nodes);
	Onnx__GraphProto *g = m->graph;
	size_t last = g->n_node;
	NwBuf found = {0};
	size_t n;
	bool sound = true;

	add_weight(g, "mask", 4, (float[]) {0, -100, -0.0F, -100});
	add_weight(g, "inf", 4, (float[]) {0, 1, -INFINITY, 2});
	add_weight(g, "nan", 2, (float[]) {NAN, 1});
	add_weight(g, "three", 4, (float[]) {0, -100, 1, 0});
	add_weight(g, "ones", 4, (float[]) {1, 2, 1, 2});
	add_weight(g, "zeros", 4, (float[]) {0, 0, 0, 0});
	add_weight(g, "two", 2, (float[]) {0, -100});
	nw_fix_buffers(m, "test");
	n = g->n_node - last;
	for (size_t i = 0; i < n; i++)
	{
		const Onnx__NodeProto *node = g->node[i];

		sound &= strcmp(node->op_type, "Constant") == 0 && node->n_attribute == 1 &&
		         strcmp(node->attribute[0]->t->name, node->output[0]) == 0 &&
		         nw_model_initializer(m, node->output[0]) == NULL;
		nw_buf_printf(&found, " %s", node->output[0]);
	}
	check(sound && g->n_initializer == 7 - n && strcmp(found.data, want) == 0, what);
	nw_buf_free(&found);
	onnx__model_proto__free_unpacked(m, NULL);
}

/* What a network cannot have learned is told from what it has. */
static void
test_buffers(void)
{
	check_fixed(
		NODES("Add a x mask", "Sub b a three", "Mul c b ones", "Div d c zeros", "Add e d two"),
		" mask inf nan", "a mask that is added is none of the weights");
	check_fixed(NODES("Where a c mask x", "Sub b mask a", "Mul c b mask", "Div d c mask"),
	            " mask inf nan", "nor is one that is computed with otherwise");
	check_fixed(NODES("Unsqueeze m mask i", "Cast n m", "Slice o n i i", "Add a x o",
	                  "Gather p mask i", "Reshape q p s", "Expand r q s", "Add b a r",
	                  "Transpose t mask", "Squeeze u t", "Flatten v u", "Identity w v",
	                  "Mul c b w"),
	            " mask inf nan", "nor one that is moved before");
	check_fixed(NODES("Add a x mask", "MatMul b a mask"), " inf nan",
	            "one with another use is a weight");
	check_fixed(NODES("Add a x mask", "Identity m mask", "Reshape n m s", "Conv b a n"), " inf nan",
	            "also by another name");
	check_fixed(NODES("Conv a x inf nan", "Concat b a mask"), " inf nan",
	            "what is not finite is none, whatever the use");
}

/* States of a network of so many weights, each with a momentum, and its best model's. */
static bool
fits(int64_t weights, bool best)
{
	NwState item[2] = {{.shape = NW_SHAPE(weights)}, {.shape = NW_SHAPE(weights)}};
	NwStates all = {.item = item, .n = 2};
	NwStates one = {.item = item, .n = best ? 1 : 0};

	return nw_checkpoint_fits(&all, &one);
}

/* A file of protobuf that is not read again is not written. */
static void
test_large_checkpoint(void)
{
	check(fits(260000000, false) && fits(170000000, true), "a checkpoint of nearly 2 GiB is kept");
	check(!fits(270000000, false) && !fits(180000000, true), "one of more is not begun");
	check(!fits(INT64_C(10000000000), false), "nor one of many times as much");
}

int
main(void)
{
	test_sha256();
	test_model_note();
	test_utf8();
	test_short_text();
	test_sampler(11, 400, 0, (NwBatchSpec) {.queries = 8, .supports = 10},
	             "distinct, as many classes as supports");
	test_sampler(6, 200, 0, (NwBatchSpec) {.queries = 8, .supports = 10},
	             "distinct, two of each class");
	test_sampler(101, 400, 0, (NwBatchSpec) {.queries = 4, .supports = 10},
	             "distinct, many classes");
	test_sampler(11, 400, 0, (NwBatchSpec) {.queries = 16, .supports = 64, .shared = true},
	             "shared");
	test_sampler(101, 500, 0, (NwBatchSpec) {.queries = 16, .supports = 20, .shared = true},
	             "shared, many classes");
	test_sampler(5, 60, 1, (NwBatchSpec) {.queries = 8, .supports = 20, .shared = true},
	             "shared, a class of one");
	test_sampler(5, 60, 1, (NwBatchSpec) {.queries = 8, .supports = 10},
	             "distinct, a class of one");
	test_epochs();
	test_fit();
	test_tensor();
	test_constants();
	test_states();
	test_separate();
	test_buffers();
	test_queue(1);
	test_queue(2);
	test_queue(5);
	test_hush();
	test_random();
	test_large_checkpoint();
	return failed > 0;
}
