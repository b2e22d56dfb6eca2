/*
 * modeldiff.c: compare the weights of two ONNX files of nwhead.
 *
 *   modeldiff A.onnx B.onnx TOLERANCE
 *   modeldiff A.onnx B.onnx same
 *   modeldiff A.onnx B.onnx same|other NAME_IN_A NAME_IN_B
 *
 * Prints the largest difference relative to the largest weight of its tensor; or tells
 * whether all tensors, or one tensor, have the same bits in both files.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/message.h"
#include "base/text.h"
#include "graph/onnx_read.h"
#include "graph/shape.h"
#include "onnx.pb-c.h"
#include "report.h"

/* Tell whether a tensor of one model has the bits of one of the other. */
static bool
same_bits(Onnx__ModelProto **m, char **name)
{
	float *v[2];
	NwShape shape[2];

	for (int i = 0; i < 2; i++)
	{
		const Onnx__TensorProto *t = nw_model_initializer(m[i], name[i]);

		if (t == NULL)
			nw_fatal("there is no \"%s\"", name[i]);
		v[i] = nw_tensor_floats(t, name[i], &shape[i]);
	}
	return nw_shape_size(&shape[0]) == nw_shape_size(&shape[1]) &&
	       memcmp(v[0], v[1], (size_t) nw_shape_size(&shape[0]) * sizeof(float)) == 0;
}

/* Write a tensor as files have it: name, type, shape and numbers. */
static void
pack(const Onnx__TensorProto *t, NwBuf *into)
{
	size_t len = onnx__tensor_proto__get_packed_size(t);
	uint8_t *bytes = nw_alloc(len);

	onnx__tensor_proto__pack(t, bytes);
	nw_buf_add(into, bytes, len);
	free(bytes);
}

/* Tell whether two files hold the same tensors: names, shapes and bits. */
static bool
same_tensors(Onnx__ModelProto **m)
{
	bool same = m[0]->graph->n_initializer == m[1]->graph->n_initializer;

	for (size_t i = 0; i < m[0]->graph->n_initializer; i++)
	{
		const Onnx__TensorProto *t = m[0]->graph->initializer[i];
		const Onnx__TensorProto *u = nw_model_initializer(m[1], t->name);
		NwBuf bytes[2] = {0};

		if (u == NULL)
		{
			printf("\"%s\" is not in both files\n", t->name);
			same = false;
			continue;
		}
		pack(t, &bytes[0]);
		pack(u, &bytes[1]);
		if (bytes[0].len != bytes[1].len || memcmp(bytes[0].data, bytes[1].data, bytes[0].len) != 0)
		{
			printf("\"%s\" differs\n", t->name);
			same = false;
		}
		nw_buf_free(&bytes[0]);
		nw_buf_free(&bytes[1]);
	}
	printf("%zu and %zu tensors\n", m[0]->graph->n_initializer, m[1]->graph->n_initializer);
	return same && m[0]->graph->n_initializer > 0;
}

/* Tell whether the tensors of one file have almost the same numbers in another. */
static bool
close_tensors(Onnx__ModelProto **m, char **path, double tolerance)
{
	double worst = 0;
	int compared = 0;

	for (size_t i = 0; i < m[0]->graph->n_initializer; i++)
	{
		const Onnx__TensorProto *t = m[0]->graph->initializer[i];
		const Onnx__TensorProto *u = nw_model_initializer(m[1], t->name);
		NwShape shape[2];
		float *a;
		float *b;
		double most = 0;
		double diff = 0;

		if (t->data_type != NW_FLOAT)
			continue;
		if (u == NULL)
			nw_fatal("\"%s\" is not in both files", t->name);
		a = nw_tensor_floats(t, path[0], &shape[0]);
		b = nw_tensor_floats(u, path[1], &shape[1]);
		if (!nw_shape_equal(&shape[0], &shape[1]))
			nw_fatal("\"%s\" has another shape in either file", t->name);
		for (int64_t j = 0; j < nw_shape_size(&shape[0]); j++)
		{
			most = worse(most, fabs(a[j]));
			diff = worse(diff, fabs(a[j] - b[j]));
		}
		if (!(most <= 1e-3 && diff <= 1e-3)) /* biases that only rounding has moved have no scale */
			worst = worse(worst, diff / most);
		compared++;
		free(a);
		free(b);
	}
	printf("%d tensors, largest relative difference %.1e\n", compared, worst);
	return worst < tolerance && compared > 0;
}

int
main(int argc, char **argv)
{
	Onnx__ModelProto *m[2];

	if (argc != 4 && argc != 6)
		return 2;
	for (int i = 0; i < 2; i++)
	{
		NwBuf b;

		nw_read_file(argv[i + 1], &b);
		m[i] = nw_model_parse(argv[i + 1], &b);
	}
	if (argc == 6)
		return same_bits(m, argv + 4) != (strcmp(argv[3], "same") == 0);
	if (strcmp(argv[3], "same") == 0)
		return !same_tensors(m);
	return !close_tensors(m, argv + 1, atof(argv[3]));
}
