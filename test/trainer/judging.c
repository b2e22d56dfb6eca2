/*
 * judging.c: tests of what judges a network in training: held-out images, predictions,
 * their figures, the best model; and of the usual number of supports.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/held_out.h"
#include "data/sampler.h"
#include "graph/meta.h"
#include "math/judgement.h"
#include "math/kernel.h"
#include "math/predict.h"
#include "report.h"
#include "run/best.h"

/* Make a dataset whose class k has size[k] images, one class after another. */
static NwDataset *
make_sizes(int classes, const int *size)
{
	NwDataset *d = nw_alloc0(sizeof(NwDataset));
	char **names;

	for (int c = 0; c < classes; c++)
		d->n += size[c];
	names = nw_alloc((size_t) d->n * sizeof(char *));
	d->path = nw_alloc((size_t) d->n * sizeof(char *));
	d->name = nw_strdup("test");
	d->n = 0;
	for (int c = 0; c < classes; c++)
		for (int i = 0; i < size[c]; i++, d->n++)
		{
			names[d->n] = nw_printf("c%03d", c);
			d->path[d->n] = nw_printf("%d/%d", c, i);
		}
	nw_dataset_set_labels(d, names);
	return d;
}

/* Count the images of a class, and check that their paths are of that class. */
static int
count_class(const NwDataset *d, int c, bool *sound)
{
	int n = 0;

	for (int64_t i = 0; i < d->n; i++)
		if (d->label[i] == c)
		{
			*sound &= atoi(d->path[i]) == c;
			n++;
		}
	return n;
}

/* Say whether two datasets have no image in common. */
static bool
disjoint(const NwDataset *a, const NwDataset *b)
{
	for (int64_t i = 0; i < a->n; i++)
		for (int64_t j = 0; j < b->n; j++)
			if (strcmp(a->path[i], b->path[j]) == 0)
				return false;
	return true;
}

static void
test_split(void)
{
	const int size[6] = {40, 41, 10, 4, 3, 1};
	const int held[6] = {10, 10, 3, 1, 1, 0}; /* a quarter; two images of a class stay */
	NwDataset *train[3];
	NwDataset *part[3];
	bool sound = true;
	bool sizes = true;
	bool same = true;
	bool other = false;

	for (int k = 0; k < 3; k++)
	{
		train[k] = make_sizes(6, size);
		part[k] = nw_held_out_split(train[k], 0.25, k == 2 ? 9 : 4);
	}
	for (int c = 0; c < 6; c++)
	{
		sizes &= count_class(part[0], c, &sound) == held[c];
		sizes &= count_class(train[0], c, &sound) == size[c] - held[c];
	}
	check(sizes && sound && part[0]->n_classes == 6, "a quarter of each class is held out");
	check(disjoint(part[0], train[0]), "no image is both held out and trained on");
	for (int64_t i = 0; i < part[0]->n; i++)
	{
		same &= strcmp(part[0]->path[i], part[1]->path[i]) == 0;
		other |= strcmp(part[0]->path[i], part[2]->path[i]) != 0;
	}
	check(same && other, "which ones depends on the seed");
	for (int k = 0; k < 3; k++)
	{
		nw_dataset_free(part[k]);
		nw_dataset_free(train[k]);
	}
}

static void
test_sample(void)
{
	const int size[4] = {600, 300, 99, 1};
	const int drawn[4] = {60, 30, 9, 1};
	int equal[50];
	NwDataset *d = make_sizes(4, size);
	int64_t n;
	int64_t *all = nw_stratified_sample(d, 0, &n);
	bool sound = n == 1000;
	int count[4] = {0};
	int64_t *some;

	for (int64_t i = 0; i < n; i++)
		sound &= all[i] == i;
	check(sound, "a sample without a bound is all");
	some = nw_stratified_sample(d, 100, &n);
	sound = n == 100;
	for (int64_t i = 0; i < n; i++)
	{
		sound &= i == 0 || some[i] > some[i - 1];
		count[d->label[some[i]]]++;
	}
	check(sound && memcmp(count, drawn, sizeof(count)) == 0, "a sample has each class's share");
	free(all);
	free(some);
	nw_dataset_free(d);

	/* 98 * (100 / 4900.0) is less than 2 */
	for (int c = 0; c < 50; c++)
		equal[c] = 98;
	d = make_sizes(50, equal);
	free(nw_stratified_sample(d, 100, &n));
	check(n == 100, "a share that is a whole number is taken whole");
	nw_dataset_free(d);
}

static void
test_classes(void)
{
	const int size[3] = {2, 2, 2};
	NwDataset *d = make_sizes(3, size);
	NwDataset *other = make_sizes(3, (int[]) {0, 0, 3});
	NwDataset *more = make_sizes(4, (int[]) {1, 0, 0, 1});

	check(nw_dataset_use_classes(other, d) == NULL && other->label[2] == 2 && other->n_classes == 3,
	      "held-out images have the numbers of the training classes");
	check(strcmp(nw_dataset_use_classes(more, d), "c003") == 0, "an unknown class is named");
	nw_dataset_free(d);
	nw_dataset_free(other);
	nw_dataset_free(more);
}

/* Return the usual number of shared supports of so many classes of so many images. */
static int
supports(int classes, int images, int least)
{
	int *size = nw_alloc((size_t) classes * sizeof(int));
	NwDataset *d;
	int n;

	for (int c = 0; c < classes; c++)
		size[c] = images;
	d = make_sizes(classes, size);
	n = nw_usual_shared_supports(d, least);
	nw_dataset_free(d);
	free(size);
	return n;
}

static void
test_supports(void)
{
	check(supports(10, 20, 64) == 64 && supports(10, 600, 250) == 250 && supports(32, 9, 64) == 64,
	      "few classes have as many supports as ever");
	check(supports(33, 9, 64) == 66 && supports(102, 20, 64) == 204 &&
	          supports(200, 20, 250) == 400,
	      "many classes have two each");
	check(supports(256, 3, 64) == 512 && supports(1000, 3, 64) == 512, "up to a bound");
	check(supports(10, 5, 64) == 40 && supports(102, 2, 64) == 102 && supports(3, 1, 64) == 3,
	      "and no more than leave an image of each class to ask about");
}

/* Score a support for a query by the definition of a kernel. */
static long double
score(NwKernel kernel, long double tau, const float *q, const float *x, int dim)
{
	long double qq = 0;
	long double xx = 0;
	long double qx = 0;
	long double diff = 0;
	long double nq;
	long double nx;

	for (int j = 0; j < dim; j++)
	{
		qq += (long double) q[j] * q[j];
		xx += (long double) x[j] * x[j];
		qx += (long double) q[j] * x[j];
	}
	nq = qq > 0 ? sqrtl(qq) : 1;
	nx = xx > 0 ? sqrtl(xx) : 1;
	for (int j = 0; j < dim; j++)
	{
		long double d =
			kernel == NW_HYPERSPHERE ? q[j] / nq - x[j] / nx : (long double) q[j] - x[j];

		diff += d * d;
	}
	switch (kernel)
	{
		case NW_EUCLIDEAN:
		case NW_HYPERSPHERE:
			return -sqrtl(diff) / tau;
		case NW_GAUSSIAN:
			return -diff / tau;
		case NW_COSINE:
			return qx / nq / nx / tau;
		case NW_DOT:
			break;
	}
	return qx / tau;
}

/* Check predictions against sums of exponentials, which long doubles have room for. */
static void
test_predict(NwKernel kernel, const char *name)
{
	enum
	{
		N = 50,
		DIM = 7,
		CLASSES = 5,
		QUERIES = 13
	};
	NwRandom r = nw_random(11, 0, 0);
	float x[N * DIM];
	float q[QUERIES * DIM];
	int label[N];
	double log_p[QUERIES * CLASSES];
	NwSupports s = {kernel, 0.35, x, label, N, DIM, CLASSES};
	double worst = 0;
	bool absent = true;

	for (int i = 0; i < N * DIM; i++)
		x[i] = i < DIM ? 0 : (float) (3 * nw_random_normal(&r)); /* the first has no direction */
	for (int i = 0; i < QUERIES * DIM; i++)
		q[i] = i < DIM ? 0 : (float) (3 * nw_random_normal(&r));
	memcpy(q + DIM, x + DIM, sizeof(float) * DIM); /* a query that is a support */
	for (int i = 0; i < N; i++)
		label[i] = i % (CLASSES - 1); /* the last class has none */
	nw_predict(&s, q, QUERIES, log_p);
	for (int k = 0; k < QUERIES; k++)
	{
		long double mass[CLASSES] = {0};
		long double total = 0;

		for (int i = 0; i < N; i++)
		{
			long double e = expl(score(kernel, 0.35L, q + k * DIM, x + i * DIM, DIM));

			mass[label[i]] += e;
			total += e;
		}
		for (int c = 0; c < CLASSES - 1; c++)
		{
			double want = (double) logl(mass[c] / total);

			worst = worse(worst, fabs(log_p[k * CLASSES + c] - want) / (1 + fabs(want)));
		}
		absent &= log_p[(k + 1) * CLASSES - 1] == -INFINITY;
	}
	printf("# %s: %.1e\n", name, worst);
	check(worst < 1e-12 && absent, name);
}

/* Check probabilities that no double can hold, but whose logarithms one can. */
static void
test_far(void)
{
	float x[2] = {0, 5000};
	float q[1] = {1};
	int label[2] = {0, 1};
	NwSupports s = {NW_EUCLIDEAN, 1, x, label, 2, 1, 2};
	double log_p[2];

	nw_predict(&s, q, 1, log_p);
	check(log_p[0] == 0 && log_p[1] == -4998, "classes that are far away keep a likelihood");
}

/*
 * Check supports of one coordinate, whose products with a query a double holds exactly, against
 * sums that begin at the largest of them.
 */
static void
test_large(float q, const float *x, int n, double tolerance, const char *name)
{
	enum
	{
		CLASSES = 7
	};
	int label[2 * CLASSES];
	double log_p[CLASSES];
	NwSupports s = {NW_DOT, 1, x, label, n, 1, CLASSES};
	NwJudgement j = {0};
	long double mass[CLASSES] = {0};
	long double total = 0;
	long double top = -INFINITY;
	long double nll = 0;
	double worst = 0;

	for (int i = 0; i < n; i++)
	{
		label[i] = i % CLASSES;
		top = fmaxl(top, (long double) q * x[i]);
	}
	for (int i = 0; i < n; i++)
	{
		long double e = expl((long double) q * x[i] - top);

		mass[i % CLASSES] += e;
		total += e;
	}
	nw_predict(&s, &q, 1, log_p);
	for (int c = 0; c < CLASSES; c++)
		if (mass[c] > 0)
		{
			worst = worse(worst, fabs(log_p[c] - (double) logl(mass[c] / total)));
			nw_judgement_add(&j, log_p, CLASSES, c);
			nll -= logl(mass[c] / total);
		}
	worst = worse(worst, fabs(nw_judgement_figures(&j).nll - (double) nll / (double) j.n));
	printf("# %s: %.1e\n", name, worst);
	check(j.n > 1 && worst < tolerance, name);
}

/* Check scores beside which the logarithm of a sum is nothing. */
static void
test_large_scores(void)
{
	float tied[14];
	float three[14];
	float near[14];
	float next = nextafterf(1e20F, 2e20F);

	for (int i = 0; i < 14; i++)
	{
		tied[i] = 1e20F;
		three[i] = i % 7 < 3 ? next : 1e20F;    /* the others are as good as impossible */
		near[i] = 1000 + (float) i / (1 << 14); /* products some hundredths apart */
	}
	test_large(1e20F, tied, 7, 1e-15, "seven equal scores of 1e40: ln 7");
	test_large(1e20F, tied, 10, 1e-15, "ten, of which some share a class");
	test_large(1e20F, three, 14, 1e-15, "three a little above the others");
	test_large(1000, near, 14, 1e-14, "scores of a million, hundredths apart");
}

static void
test_judgement(void)
{
	NwJudgement j = {0};
	NwFigures f;

	/* confidences .9 (right), .9 (wrong), .6 (right, by being first of equals below) */
	nw_judgement_add(&j, (double[]) {log(0.9), log(0.1)}, 2, 0);
	nw_judgement_add(&j, (double[]) {log(0.9), log(0.1)}, 2, 1);
	nw_judgement_add(&j, (double[]) {log(0.4), log(0.6)}, 2, 1);
	nw_judgement_add(&j, (double[]) {log(0.5), log(0.5)}, 2, 0);
	f = nw_judgement_figures(&j);
	check(f.error == 0.25, "an error in four; of equal classes the first is the label");
	check(fabs(f.ece - (0.8 + 0.4 + 0.5) / 4) < 1e-12, "the calibration error of three bins");
	check(fabs(f.nll + (log(0.9) + log(0.1) + log(0.6) + log(0.5)) / 4) < 1e-12, "the likelihood");

	/* 0.2 ends bin 3 of 15, and does not begin bin 4, where 0.21 is */
	j = (NwJudgement) {0};
	nw_judgement_add(&j, (double[]) {log(0.2), log(0.2), log(0.2), log(0.2), log(0.2)}, 5, 0);
	nw_judgement_add(&j, (double[]) {log(0.21), log(0.2), log(0.2), log(0.2), log(0.19)}, 5, 1);
	f = nw_judgement_figures(&j);
	check(fabs(f.ece - (0.8 + 0.21) / 2) < 1e-12, "a border belongs to the bin below");
}

/* Check what a checkpoint cannot say of a best model. */
static void
test_refused_bests(void)
{
	static const char *const good[] = {"20 0.5 0.1 1 10 0.25 0.1 0.5 1",
	                                   "20 1 0 inf 20 1 nan nan 0"};
	static const char *const bad[] = {"",
	                                  "nan",
	                                  "20 0.5 0.1 1 10 0.25 0.1 0.5",
	                                  "20 0.5 0.1 1 10 0.25 0.1 0.5 1x",
	                                  "20 0.5 0.1 1 10 0.25 0.1 0.5 1 1",
	                                  "20 0.5 0.1 1 21 0.25 0.1 0.5 1",
	                                  "20 0.5 0.1 1 0 0.25 0.1 0.5 1",
	                                  "20 0.5 0.1 1 10 0.25 0.1 0.5 -1",
	                                  "20 1.5 0.1 1 10 0.25 0.1 0.5 1",
	                                  "20 nan 0.1 1 10 0.25 0.1 0.5 1",
	                                  "20 0.5 0.1 1 10 0.25 7 0.5 1",
	                                  "20 0.5 0.1 1 10 0.25 0.1 -inf 1"};
	bool ok = true;

	for (int i = 0; i < NW_LENGTH(good) + NW_LENGTH(bad); i++)
	{
		bool is_good = i < NW_LENGTH(good);
		NwMetas m = {0};
		NwBest b = {0};

		nw_meta_set(&m, "nwhead.best", "%s", is_good ? good[i] : bad[i - NW_LENGTH(good)]);
		ok &= nw_best_load(&b, &m, 20) == is_good;
		nw_metas_free(&m);
	}
	check(ok, "numbers of a best model that are none");
}

static void
test_best(void)
{
	NwBest b = {0};
	NwBest c = {0};
	NwMetas m = {0};
	NwFigures f[4] = {{0.5, 0.1, 1}, {0.5, 0.2, 1}, {0.3, 0.3, 1.0 / 3}, {0.1, 0, 2}};
	bool first = nw_best_add(&b, NW_BEST_BY_NLL, 10, &f[0]);
	bool equal = nw_best_add(&b, NW_BEST_BY_NLL, 20, &f[1]);
	bool better = nw_best_add(&b, NW_BEST_BY_NLL, 30, &f[2]);
	bool poorer = nw_best_add(&b, NW_BEST_BY_NLL, 40, &f[3]);

	check(first && !equal && better && !poorer && b.step == 30 && b.since == 1 && b.seen == 40,
	      "the best model by likelihood");
	nw_best_save(&b, &m);
	check(nw_best_load(&c, &m, 40) && c.step == 30 && c.since == 1 && c.seen == 40 &&
	          c.best.nll == b.best.nll && c.last.error == 0.1,
	      "what a checkpoint keeps of it");
	c = (NwBest) {.step = 10, .best = {1, NAN, NAN}};
	check(nw_best_add(&c, NW_BEST_BY_NLL, 20, &f[3]), "any likelihood is better than none");
	check(!nw_best_load(&c, &m, 39), "a look at a step that was not reached");
	test_refused_bests();
	check(nw_best_add(&b, NW_BEST_BY_ERROR, 50, &f[3]) && b.step == 50, "by error");
	check(strcmp(nw_best_path("a/b.onnx"), "a/b.best.onnx") == 0 &&
	          strcmp(nw_best_path("model"), "model.best") == 0,
	      "the name of its file");
	nw_metas_free(&m);
}

int
main(void)
{
	test_split();
	test_sample();
	test_classes();
	test_supports();
	test_predict(NW_EUCLIDEAN, "predictions of kernel euclidean");
	test_predict(NW_GAUSSIAN, "predictions of kernel gaussian");
	test_predict(NW_HYPERSPHERE, "predictions of kernel hypersphere");
	test_predict(NW_COSINE, "predictions of kernel cosine");
	test_predict(NW_DOT, "predictions of kernel dot");
	test_far();
	test_large_scores();
	test_judgement();
	test_best();
	return failed > 0;
}
