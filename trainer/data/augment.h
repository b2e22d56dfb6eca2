/*
 * data/augment.h: how training shows an image: never twice the same.
 */
#ifndef NW_AUGMENT_H
#define NW_AUGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"
#include "data/fitted.h"
#include "data/image.h"
#include "data/jitter.h"

typedef struct NwAugment
{
	int resize;      /* shorter side of images that the model's input is cut from; 0: none */
	double least;    /* share of the area of boxes that become the model's input; 0: none */
	NwJitter jitter; /* of colours */
} NwAugment;

/* where an image is moved by, in pixels, and whether it is mirrored */
typedef struct NwMove
{
	int dy;
	int dx;
	bool mirror;
} NwMove;

void nw_augment_keep(const NwAugment *a, NwFitted *f);
NwBox nw_draw_window(int height, int width, int side_y, int side_x, NwRandom *r);
NwBox nw_draw_box(int height, int width, double least, NwRandom *r);
char *nw_augmented_tensor(NwFitted *f, const NwAugment *a, int64_t i, NwMove move, NwRandom r,
                          float *out);

#endif
