/*
 * modeldiff.c: compare the weights of two ONNX files of nwhead.
 *
 *   modeldiff A.onnx B.onnx TOLERANCE
 *   modeldiff A.onnx B.onnx same|other NAME_IN_A NAME_IN_B
 *
 * Prints the largest difference relative to the largest weight of its tensor; or tells
 * whether one tensor has the same bits in both files.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
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

int
main(int argc, char **argv)
{
	Onnx__ModelProto *m[2];
	double worst = 0;
	int compared = 0;

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
	for (size_t i = 0; i < m[0]->graph->n_initializer; i++)
	{
		const Onnx__TensorProto *t = m[0]->graph->initializer[i];
		const Onnx__TensorProto *u = nw_model_initializer(m[1], t->name);
		NwShape shape;
		float *a;
		float *b;
		double most = 0;
		double diff = 0;

		if (t->data_type != NW_FLOAT)
			continue;
		if (u == NULL)
			nw_fatal("\"%s\" is not in both files", t->name);
		a = nw_tensor_floats(t, argv[1], &shape);
		b = nw_tensor_floats(u, argv[2], &shape);
		for (int64_t j = 0; j < nw_shape_size(&shape); j++)
		{
			most = worse(most, fabs(a[j]));
			diff = worse(diff, fabs(a[j] - b[j]));
		}
		if (!(most <= 1e-3 && diff <= 1e-3)) /* biases that only rounding has moved have no scale */
			worst = worse(worst, diff / most);
		compared++;
	}
	printf("%d tensors, largest relative difference %.1e\n", compared, worst);
	return !(worst < atof(argv[3]) && compared > 0);
}
