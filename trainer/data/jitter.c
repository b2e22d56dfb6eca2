/*
 * data/jitter.c: colours of an image, changed at random.
 *
 * As torchvision's ColorJitter does it on tensors of floats: each change mixes the image
 * with another one (black for brightness, its mean grey for contrast, its grey version
 * for saturation), or turns its hues; what leaves [0, 1] is cut there, after each.  The
 * grey of a colour is the luma of ITU-R 601-2.
 */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "data/jitter.h"

/* Say whether colours are changed at all. */
bool
nw_jitter_any(const NwJitter *j)
{
	for (int i = 0; i < NW_JITTERS; i++)
		if (j->most[i] > 0)
			return true;
	return false;
}

/* Draw what becomes of an image; always as many numbers, whatever is changed. */
NwJitterDraw
nw_jitter_draw(const NwJitter *j, NwRandom *r)
{
	NwJitterDraw d;

	for (int i = 0; i < NW_JITTERS; i++)
		d.order[i] = i;
	for (int i = NW_JITTERS - 1; i > 0; i--)
	{
		int k = (int) nw_random_below(r, (uint32_t) i + 1);
		int t = d.order[k];

		d.order[k] = d.order[i];
		d.order[i] = t;
	}
	for (int i = 0; i < NW_JITTERS; i++)
	{
		double most = j->most[i];
		double low = i == NW_HUE ? -most : fmax(0, 1 - most);
		double high = i == NW_HUE ? most : 1 + most;

		d.by[i] = low + (high - low) * nw_random_double(r);
	}
	return d;
}

static float
clamp(float v)
{
	return v < 0 ? 0 : v > 1 ? 1 : v;
}

static float
grey(const float *p, int channels)
{
	return channels == 1 ? p[0] : 0.299f * p[0] + 0.587f * p[1] + 0.114f * p[2];
}

/* Average the grey of all pixels. */
static float
mean_grey(const float *v, size_t n, int channels)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += grey(v + i * (size_t) channels, channels);
	return (float) (sum / (double) n);
}

/* Mix pixels with one value. */
static void
mix(float *v, size_t n, float by, float with)
{
	for (size_t i = 0; i < n; i++)
		v[i] = clamp(by * v[i] + (1 - by) * with);
}

/* Turn the hue of a colour, by way of hue, saturation and value. */
static void
turn_hue(float *p, float by)
{
	float most = fmaxf(p[0], fmaxf(p[1], p[2]));
	float range = most - fminf(p[0], fminf(p[1], p[2]));
	float hue;
	float saturation;
	float within;
	float low;
	float falling;
	float rising;
	int sixth;

	if (range <= 0) /* grey has no hue */
		return;
	if (most == p[0])
		hue = (p[1] - p[2]) / range;
	else if (most == p[1])
		hue = 2 + (p[2] - p[0]) / range;
	else
		hue = 4 + (p[0] - p[1]) / range;
	hue = hue / 6 + by;
	hue = (hue - floorf(hue)) * 6;
	saturation = range / most;
	sixth = (int) hue;
	within = hue - (float) sixth;
	low = clamp(most * (1 - saturation));
	falling = clamp(most * (1 - saturation * within));
	rising = clamp(most * (1 - saturation * (1 - within)));
	switch (sixth % 6)
	{
		case 0:
			p[0] = most, p[1] = rising, p[2] = low;
			break;
		case 1:
			p[0] = falling, p[1] = most, p[2] = low;
			break;
		case 2:
			p[0] = low, p[1] = most, p[2] = rising;
			break;
		case 3:
			p[0] = low, p[1] = falling, p[2] = most;
			break;
		case 4:
			p[0] = rising, p[1] = low, p[2] = most;
			break;
		case 5:
			p[0] = most, p[1] = low, p[2] = falling;
			break;
	}
}

/* Make one of the changes; grey pixels have neither saturation nor hue. */
static void
change(float *v, size_t n, int channels, int what, float by)
{
	if (what == NW_BRIGHTNESS)
		mix(v, n * (size_t) channels, by, 0);
	else if (what == NW_CONTRAST)
		mix(v, n * (size_t) channels, by, mean_grey(v, n, channels));
	else if (channels == 3 && what == NW_SATURATION)
		for (size_t i = 0; i < n; i++)
			mix(v + 3 * i, 3, by, grey(v + 3 * i, 3));
	else if (channels == 3)
		for (size_t i = 0; i < n; i++)
			turn_hue(v + 3 * i, by);
}

/* Change n pixels of so many channels in place; what is drawn as no change is left out. */
void
nw_jitter_apply(const NwJitterDraw *d, uint8_t *pixels, size_t n, int channels)
{
	size_t all = n * (size_t) channels;
	float *v = nw_alloc(all * sizeof(float));

	for (size_t i = 0; i < all; i++)
		v[i] = (float) pixels[i] / 255;
	for (int i = 0; i < NW_JITTERS; i++)
	{
		int what = d->order[i];

		if (d->by[what] != (what == NW_HUE ? 0 : 1))
			change(v, n, channels, what, (float) d->by[what]);
	}
	for (size_t i = 0; i < all; i++)
		pixels[i] = (uint8_t) (v[i] * 255 + 0.5f);
	free(v);
}
