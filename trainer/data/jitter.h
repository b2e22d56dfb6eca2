/*
 * data/jitter.h: colours of an image, changed at random.
 */
#ifndef NW_JITTER_H
#define NW_JITTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"

/* what is changed, in the order of NwJitter's and the command line's numbers */
enum
{
	NW_BRIGHTNESS,
	NW_CONTRAST,
	NW_SATURATION,
	NW_HUE,
	NW_JITTERS
};

/* how far at most; all 0 leaves colours as they are */
typedef struct NwJitter
{
	double most[NW_JITTERS];
} NwJitter;

/* what becomes of one image */
typedef struct NwJitterDraw
{
	int order[NW_JITTERS];
	double by[NW_JITTERS]; /* factors; of the hue, turns */
} NwJitterDraw;

bool nw_jitter_any(const NwJitter *j);
NwJitterDraw nw_jitter_draw(const NwJitter *j, NwRandom *r);
void nw_jitter_apply(const NwJitterDraw *d, uint8_t *pixels, size_t n, int channels);

#endif
