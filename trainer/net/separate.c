/*
 * net/separate.c: a weight of its own for each use of a value that an ONNX file holds once.
 *
 * Exporters store equal values once.  In a network that is run, nobody can tell; in one
 * that is trained, layers that only began alike would stay alike.  A file does not say
 * what was one weight from the start, but its graph and its values do:
 *
 *   - Statistics, scales and biases of BatchNormalization belong to a place, so each has
 *     its own.  Frozen ones do not change, and may stay together.
 *   - Where all numbers of a value are the same, as first biases and scales are, and each
 *     use is one that layers have for a weight, each use has its own.  Layers with one
 *     matrix keep one bias.
 *   - Any other value that is used several times, such as a matrix of different numbers,
 *     is equal on purpose: it stays one weight, whose gradient is the sum over its uses.
 *
 * PyTorch reads a value that stands for others through Identity, under their names:
 * these name the weights that are added.  Otherwise they get numbers, in the order of
 * the nodes, so that a file always gives the same names.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/message.h"
#include "base/text.h"
#include "graph/onnx_read.h"
#include "graph/shape.h"
#include "net/import_node.h"
#include "net/separate.h"
#include "onnx.pb-c.h"

/* more bytes than equal weights of any network take */
#define MAX_ADDED (INT64_C(1) << 30)

/* another name of a weight: the output of an Identity */
typedef struct Alias
{
	size_t node;
	int weight;
} Alias;

/* which uses of a weight belong together */
typedef struct Group
{
	enum
	{
		ALL_OTHERS,
		FROZEN_NORM,
		SAME_MATRIX, /* its number */
		OWN          /* the node's number */
	} kind;
	size_t number;
	size_t input; /* of a node that has several kinds of weights, all vectors */
} Group;

/* a node's input that is a weight */
typedef struct Use
{
	size_t node;
	size_t input;
	int alias; /* -1: by its own name */
	int weight;
	Group group;
} Use;

typedef struct Separation
{
	const char *path;
	bool freeze_norm;
	Onnx__GraphProto *graph;
	int n_weights; /* of the file; those added come after them */
	bool *separated;
	Alias *alias;
	int n_aliases;
	int cap_aliases;
	Use *use;
	int n_uses;
	int cap_uses;
	int64_t added_bytes;
} Separation;

/* Find the weight that a name stands for; -1 where it is none. */
static int
find_weight(const Separation *s, const char *name, int *alias)
{
	*alias = -1;
	for (int i = 0; i < s->n_weights; i++)
		if (strcmp(s->graph->initializer[i]->name, name) == 0)
			return nw_import_is_weight(s->graph->initializer[i]) ? i : -1;
	for (int i = 0; i < s->n_aliases; i++)
		if (strcmp(s->graph->node[s->alias[i].node]->output[0], name) == 0)
		{
			*alias = i;
			return s->alias[i].weight;
		}
	return -1;
}

static bool
is_type(const Onnx__NodeProto *node, const char *type)
{
	return strcmp(node->op_type, type) == 0;
}

/* List which inputs of which nodes are weights; nodes come after what they read. */
static void
list_uses(Separation *s)
{
	for (size_t i = 0; i < s->graph->n_node; i++)
	{
		const Onnx__NodeProto *node = s->graph->node[i];
		bool renames = is_type(node, "Identity") && node->n_input == 1 && node->n_output == 1;

		for (size_t j = 0; j < node->n_input; j++)
		{
			int alias;
			int weight = find_weight(s, node->input[j], &alias);

			if (weight >= 0 && renames)
			{
				NW_GROW(s->alias, s->n_aliases, s->cap_aliases);
				s->alias[s->n_aliases++] = (Alias) {i, weight};
			}
			else if (weight >= 0)
			{
				NW_GROW(s->use, s->n_uses, s->cap_uses);
				s->use[s->n_uses++] = (Use) {i, j, alias, weight, {ALL_OTHERS, 0, 0}};
			}
		}
	}
}

/* Say whether layers have a weight at this input. */
static bool
is_place_of_weight(const Onnx__NodeProto *node, size_t input)
{
	static const struct
	{
		const char *type;
		size_t first;
		size_t last;
	} places[] = {{"Add", 0, 1}, {"BatchNormalization", 1, 4}, {"Conv", 1, 2},  {"Gemm", 1, 2},
	              {"Mul", 0, 1}, {"LayerNormalization", 1, 2}, {"MatMul", 0, 1}};

	for (int i = 0; i < NW_LENGTH(places); i++)
		if (is_type(node, places[i].type))
			return input >= places[i].first && input <= places[i].last;
	return false;
}

/* Say whether all numbers of a weight are the same. */
static bool
is_uniform(const Separation *s, int weight)
{
	NwShape shape;
	float *v = nw_tensor_floats(s->graph->initializer[weight], s->path, &shape);
	int64_t n = nw_shape_size(&shape);
	int64_t same = 1;

	while (same < n && v[same] == v[0])
		same++;
	free(v);
	return same == n;
}

/* Find the node that computes a value; NULL where none does. */
static const Onnx__NodeProto *
find_producer(const Separation *s, const char *name)
{
	for (size_t i = 0; i < s->graph->n_node; i++)
		for (size_t j = 0; j < s->graph->node[i]->n_output; j++)
			if (strcmp(s->graph->node[i]->output[j], name) == 0)
				return s->graph->node[i];
	return NULL;
}

/* Find the matrix that a name stands for, transposed or not, if it cannot be separated. */
static int
find_matrix(const Separation *s, const char *name)
{
	int alias;
	int weight = find_weight(s, name, &alias);

	if (weight < 0)
	{
		const Onnx__NodeProto *node = find_producer(s, name);

		if (node != NULL && is_type(node, "Transpose") && node->n_input == 1)
			weight = find_weight(s, node->input[0], &alias);
	}
	return weight >= 0 && !is_uniform(s, weight) ? weight : -1;
}

/* Find the matrix of the layer that has a bias at this input; -1 where there is none. */
static int
find_matrix_of_bias(const Separation *s, const Onnx__NodeProto *node, size_t input)
{
	if ((is_type(node, "Conv") || is_type(node, "Gemm")) && input == 2)
		return find_matrix(s, node->input[1]);
	if (is_type(node, "Add") && node->n_input == 2)
	{
		const Onnx__NodeProto *product = find_producer(s, node->input[1 - input]);

		if (product != NULL && is_type(product, "MatMul") && product->n_input == 2)
			return find_matrix(s, product->input[1]);
	}
	return -1;
}

/* Say which uses of a weight belong together. */
static void
group_uses(Separation *s, int weight)
{
	bool only_weights = true;

	for (int i = 0; i < s->n_uses; i++)
		if (s->use[i].weight == weight)
			only_weights &= is_place_of_weight(s->graph->node[s->use[i].node], s->use[i].input);
	only_weights = only_weights && is_uniform(s, weight);
	for (int i = 0; i < s->n_uses; i++)
	{
		Use *u = &s->use[i];
		const Onnx__NodeProto *node = s->graph->node[u->node];
		int matrix;

		if (u->weight != weight)
			continue;
		if (is_type(node, "BatchNormalization") && u->input > 0)
			u->group =
				s->freeze_norm ? (Group) {FROZEN_NORM, 0, 0} : (Group) {OWN, u->node, u->input};
		else if (only_weights)
		{
			matrix = find_matrix_of_bias(s, node, u->input);
			u->group =
				matrix >= 0 ? (Group) {SAME_MATRIX, (size_t) matrix, 0} : (Group) {OWN, u->node, 0};
		}
	}
}

static bool
same_group(const Group *a, const Group *b)
{
	return a->kind == b->kind && a->number == b->number && a->input == b->input;
}

/* Say whether something has this name already, names that are given up left out. */
static bool
is_taken(const Separation *s, const char *name)
{
	const Onnx__GraphProto *g = s->graph;

	for (size_t i = 0; i < g->n_initializer; i++)
		if (strcmp(g->initializer[i]->name, name) == 0)
			return true;
	for (size_t i = 0; i < g->n_input; i++)
		if (strcmp(g->input[i]->name, name) == 0)
			return true;
	for (int i = 0; i < s->n_aliases; i++)
		if (strcmp(g->node[s->alias[i].node]->output[0], name) == 0)
			return !s->separated[s->alias[i].weight];
	return find_producer(s, name) != NULL;
}

/* Name the weight that a use is to have. */
static char *
choose_name(const Separation *s, const Use *u)
{
	const char *of = s->graph->initializer[u->weight]->name;

	if (u->alias >= 0)
	{
		const char *alias = s->graph->node[s->alias[u->alias].node]->output[0];

		if (!is_taken(s, alias))
			return nw_strdup(alias);
	}
	for (int i = 2;; i++)
	{
		char *name = nw_printf("%s.%d", of, i);

		if (!is_taken(s, name))
			return name;
		free(name);
	}
}

/* Add a weight with the value of another. */
static const char *
add_weight(Separation *s, int of, char *name)
{
	Onnx__GraphProto *g = s->graph;
	size_t bytes = onnx__tensor_proto__get_packed_size(g->initializer[of]);
	uint8_t *packed;
	Onnx__TensorProto *copy;

	s->added_bytes += (int64_t) bytes;
	if (s->added_bytes > MAX_ADDED)
		nw_fatal("\"%s\" uses its weight \"%s\" in too many places", s->path,
		         g->initializer[of]->name);
	packed = nw_alloc(bytes);
	onnx__tensor_proto__pack(g->initializer[of], packed);
	copy = onnx__tensor_proto__unpack(NULL, bytes, packed);
	free(packed);
	if (copy == NULL)
		nw_fatal("out of memory");
	free(copy->name);
	copy->name = name;
	g->initializer = nw_realloc(g->initializer, (g->n_initializer + 1) * sizeof(*g->initializer));
	g->initializer[g->n_initializer++] = copy;
	return name;
}

/* Let a use read a weight of this name. */
static void
redirect(const Separation *s, const Use *u, const char *name)
{
	char **input = &s->graph->node[u->node]->input[u->input];

	free(*input);
	*input = nw_strdup(name);
}

/* Give each group of a weight's uses a weight of its own; the number of those added. */
static int
separate(Separation *s, int weight)
{
	const Use *keeps = NULL; /* the weight that is there */
	bool several = false;
	int added = 0;

	for (int i = 0; i < s->n_uses; i++)
		if (s->use[i].weight == weight &&
		    (keeps == NULL || (keeps->alias >= 0 && s->use[i].alias < 0)))
			keeps = &s->use[i];
	for (int i = 0; i < s->n_uses; i++)
		several |= s->use[i].weight == weight && !same_group(&s->use[i].group, &keeps->group);
	if (!several)
		return 0;
	s->separated[weight] = true;
	for (int i = 0; i < s->n_uses; i++)
	{
		const char *name = s->graph->initializer[weight]->name;
		int first = 0;

		if (s->use[i].weight != weight)
			continue;
		while (s->use[first].weight != weight ||
		       !same_group(&s->use[first].group, &s->use[i].group))
			first++;
		if (first < i)
			name = s->graph->node[s->use[first].node]->input[s->use[first].input];
		else if (!same_group(&s->use[i].group, &keeps->group))
		{
			name = add_weight(s, weight, choose_name(s, &s->use[i]));
			added++;
		}
		redirect(s, &s->use[i], name);
	}
	return added;
}

/* Drop the other names of weights that were separated: nothing reads them any more. */
static void
drop_aliases(Separation *s)
{
	size_t kept = 0;

	for (int i = 0; i < s->n_aliases; i++)
		if (s->separated[s->alias[i].weight])
		{
			onnx__node_proto__free_unpacked(s->graph->node[s->alias[i].node], NULL);
			s->graph->node[s->alias[i].node] = NULL;
		}
	for (size_t i = 0; i < s->graph->n_node; i++)
		if (s->graph->node[i] != NULL)
			s->graph->node[kept++] = s->graph->node[i];
	s->graph->n_node = kept;
}

/* Give each use of a value that was merged a weight of its own; the number of those added. */
int
nw_separate_weights(Onnx__ModelProto *m, const char *path, bool freeze_norm)
{
	Separation s = {.path = path,
	                .freeze_norm = freeze_norm,
	                .graph = m->graph,
	                .n_weights = (int) m->graph->n_initializer};
	int *uses = nw_alloc0((size_t) s.n_weights * sizeof(int));
	int added = 0;

	s.separated = nw_alloc0((size_t) s.n_weights * sizeof(bool));
	list_uses(&s);
	for (int i = 0; i < s.n_uses; i++)
		uses[s.use[i].weight]++;
	for (int i = 0; i < s.n_weights; i++)
		if (uses[i] > 1)
			group_uses(&s, i);
	for (int i = 0; i < s.n_weights; i++)
		if (uses[i] > 1)
			added += separate(&s, i);
	drop_aliases(&s);
	free(s.separated);
	free(s.alias);
	free(s.use);
	free(uses);
	return added;
}
