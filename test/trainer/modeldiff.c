/*
 * modeldiff.c: compare the weights of two ONNX files of nwhead.
 *
 *   modeldiff A.onnx B.onnx TOLERANCE
 *
 * Prints the largest difference relative to the largest weight of its tensor.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../trainer/model.h"

int
main(int argc, char **argv)
{
	Onnx__ModelProto *m[2];
	double		worst = 0;
	int			compared = 0;

	if (argc != 4)
		return 2;
	for (int i = 0; i < 2; i++)
	{
		NwBuf		b;

		nw_read_file(argv[i + 1], &b);
		m[i] = nw_model_parse(argv[i + 1], &b);
	}
	for (size_t i = 0; i < m[0]->graph->n_initializer; i++)
	{
		const Onnx__TensorProto *t = m[0]->graph->initializer[i];
		const Onnx__TensorProto *u = nw_model_initializer(m[1], t->name);
		NwShape		shape;
		float	   *a;
		float	   *b;
		double		most = 0;
		double		diff = 0;

		if (t->data_type != NW_FLOAT)
			continue;
		if (u == NULL)
			nw_fatal("\"%s\" is not in both files", t->name);
		a = nw_tensor_floats(t, argv[1], &shape);
		b = nw_tensor_floats(u, argv[2], &shape);
		for (int64_t j = 0; j < nw_shape_size(&shape); j++)
		{
			most = fmax(most, fabs(a[j]));
			diff = fmax(diff, fabs(a[j] - b[j]));
		}
		if (most > 1e-3)		/* biases that only rounding has moved have no scale */
			worst = fmax(worst, diff / most);
		compared++;
	}
	printf("%d tensors, largest relative difference %.1e\n", compared, worst);
	return !(worst < atof(argv[3]) && compared > 0);
}
