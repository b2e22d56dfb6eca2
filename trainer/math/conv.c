/*
 * math/conv.c: convolutions and their derivatives on the CPU, for training.
 *
 * Both the convolution and its derivative by the input are a stencil: each place
 * of a grid takes a weighted sum over taps, places of the input that lie at fixed
 * distances, and over channels.  (With stride s the derivative by the input is s x s
 * stencils, one for each residue of a place, each with the taps that reach it.)  A
 * stencil is cut into blocks of images and rows.  A block copies some channels of its
 * input with a border of zeros, so that one tap of a run of places is a run of
 * memory; lays them out for the tile loop; and multiplies by the packed weights.
 *
 * The derivative by the weights sums over all places.  It is cut into chunks of
 * channels and of places; each chunk of places has sums of its own, which are added
 * in order at the end.  How the work is cut follows from the shapes alone.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/message.h"
#include "math/conv.h"
#include "math/gemm.h"
#include "math/team.h"
#include "math/window.h"

#define DEPTH 192              /* about how far a tile sums before the next operands are packed */
#define COLUMNS 384            /* about how many places a block of a stencil has */
#define CHANNELS 64            /* at most so many in a chunk of the derivative by weights */
#define CHUNKS 32              /* about so many chunks of that */
#define CHUNK_BYTES (16 << 20) /* their sums take about this much at most */
#define SLACK 64               /* floats that may be read past an end */

#define ROUND_UP(x, to) (((x) + (to) - 1) / (to) * (to))
#define CEIL_DIV(x, by) (((x) + (by) - 1) / (by))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Allocate floats on a border that suits every vector. */
static float *
floats(int64_t n)
{
	float *p = aligned_alloc(64, ROUND_UP((size_t) (n + SLACK) * sizeof(float), 64));

	if (p == NULL)
		nw_fatal("out of memory");
	return p;
}

/* Some images, some of their rows. */
typedef struct Block
{
	int64_t image;
	int64_t images;
	int64_t row;
	int64_t rows;
} Block;

/* How a grid of places is cut into blocks. */
typedef struct Cut
{
	int64_t n;
	int64_t height;
	int64_t images; /* of a block */
	int64_t rows;
	int64_t row_blocks; /* in an image */
	int64_t blocks;
} Cut;

/* Cut a grid into blocks of about so many places, their number a multiple where it can be. */
static Cut
cut_grid(int64_t n, int64_t height, int64_t width, int64_t places, int64_t multiple)
{
	Cut c = {.n = n, .height = height, .images = 1, .rows = height, .row_blocks = 1};

	if (height * width > places)
	{
		c.rows = CEIL_DIV(height, MIN(height, CEIL_DIV(height * width, places)));
		c.row_blocks = CEIL_DIV(height, c.rows);
		c.blocks = n * c.row_blocks;
		return c;
	}
	c.blocks = CEIL_DIV(n, MAX(1, places / (height * width)));
	c.images = CEIL_DIV(n, MIN(n, ROUND_UP(c.blocks, multiple)));
	c.blocks = CEIL_DIV(n, c.images);
	return c;
}

static Block
block_at(const Cut *c, int64_t i)
{
	Block b = {.image = i / c->row_blocks * c->images, .row = i % c->row_blocks * c->rows};

	b.images = MIN(c->images, c->n - b.image);
	b.rows = MIN(c->rows, c->height - b.row);
	return b;
}

/* ------------------------------------------------------------------ stencils */

/* a place of the kernel */
typedef struct Tap
{
	int64_t at[2]; /* the input's place is step * the grid's + at */
	int64_t index; /* within the kernel */
} Tap;

typedef struct Stencil
{
	const NwGemm *gemm;
	const float *in; /* [n,c,size] */
	int64_t n;
	int64_t c;
	int64_t size[2];
	int64_t step[2];
	Tap *tap;
	int64_t taps;
	int64_t low[2];  /* the taps' smallest distances */
	int64_t span[2]; /* from the smallest to the largest */

	const float *w;    /* weights; those of the taps lie together */
	int64_t w_row;     /* floats from one channel of the result to the next */
	int64_t w_channel; /* floats from one channel of the input to the next */
	bool forward;      /* all taps of the kernel, in its order */
	float *a;          /* packed: [channel block, row block, channel and tap, row] */

	int64_t m; /* channels of the result [n,m,out_size] */
	int64_t padded_m;
	const float *bias;
	float *out;
	int64_t out_size[2];
	int64_t out_step[2]; /* the result's place is out_step * the grid's + out_at */
	int64_t out_at[2];
	int64_t grid[2];

	Cut cut;
	int64_t depth;        /* channels that are packed together */
	int64_t columns;      /* of the largest block */
	int64_t row_floats;   /* of a bordered copy's row */
	int64_t phase_floats; /* places of a row that are `step` apart lie together */
	int64_t copy_floats;  /* of a bordered copy */
	atomic_long next;     /* block to compute */
	float *scratch;       /* of all threads */
	int64_t slot_floats;  /* of one */
	int64_t *offsets;     /* of all threads */
	int64_t slot_offsets; /* of one */
} Stencil;

/* Pack the weights of a block of channels, in the order in which they lie in memory. */
static void
pack_weights(void *arg, size_t i)
{
	Stencil *s = arg;
	int rows = s->gemm->rows;
	int64_t c0 = (int64_t) i * s->depth;
	int64_t channels = MIN(s->depth, s->c - c0);
	int64_t k = channels * s->taps;
	float *a = s->a + c0 * s->taps * s->padded_m;

	if (s->m < s->padded_m)
		memset(a + (s->padded_m - rows) * k, 0, (size_t) (rows * k) * sizeof(float));
	if (s->forward) /* channels and taps of a row are one run */
	{
		for (int64_t m = 0; m < s->m; m += rows)
			s->gemm->transpose((int) MIN(rows, s->m - m), k,
			                   s->w + m * s->w_row + c0 * s->w_channel, s->w_row, a + m * k, rows);
		return;
	}
	for (int64_t c = 0; c < channels; c++)
		for (int64_t m = 0; m < s->m; m++)
		{
			const float *w = s->w + (c0 + c) * s->w_channel + m * s->w_row;
			float *to = a + m / rows * rows * k + c * s->taps * rows + m % rows;

			for (int64_t t = 0; t < s->taps; t++)
				to[t * rows] = w[s->tap[t].index];
		}
}

/* Say which places of a bordered copy's phase come from the input; the rest is border. */
static void
inside(const Stencil *s, int64_t phase, int64_t *begin, int64_t *end)
{
	int64_t step = s->step[1];
	int64_t first = s->low[1] + phase; /* the place that comes to 0 */

	*begin = first < 0 ? MIN(CEIL_DIV(-first, step), s->phase_floats) : 0;
	*end = first < s->size[1] ? MIN(CEIL_DIV(s->size[1] - first, step), s->phase_floats) : 0;
	*end = MAX(*begin, *end);
}

/*
 * Copy what a block reads of some channels: [channel, image, row, phase, place].
 * Border is zero already.
 */
static void
copy_input(const Stencil *s, const Block *b, int64_t channel, int64_t channels, float *to)
{
	int64_t step = s->step[1];
	int64_t rows = s->step[0] * (b->rows - 1) + s->span[0] + 1;
	int64_t first = s->step[0] * b->row + s->low[0];

	for (int64_t p = 0; p < step; p++)
	{
		float *row = to + p * s->phase_floats;
		int64_t begin;
		int64_t end;

		inside(s, p, &begin, &end);
		for (int64_t c = channel; c < channel + channels; c++)
			for (int64_t i = b->image; i < b->image + b->images; i++)
			{
				const float *from =
					s->in + (i * s->c + c) * s->size[0] * s->size[1] + s->low[1] + p;

				for (int64_t y = first; y < first + rows; y++, row += s->row_floats)
				{
					if (y < 0 || y >= s->size[0])
						continue;
					if (step == 1)
						memcpy(row + begin, from + y * s->size[1] + begin,
						       (size_t) (end - begin) * sizeof(float));
					else
						for (int64_t q = begin; q < end; q++)
							row[q] = from[y * s->size[1] + step * q];
				}
			}
	}
}

/* Say whether runs of so many columns are runs of memory. */
static bool
runs_of(int length, int lanes, const int64_t *place)
{
	for (int i = 0; i < lanes; i += length)
		for (int j = 1; j < length; j++)
			if (place[i + j] != place[i] + j)
				return false;
	return true;
}

/* Copy runs of a length that the compiler knows. */
static inline __attribute__((always_inline)) void
copy_runs(const int length, int64_t k, const int64_t *offset, const float *from,
          const int64_t *place, int lanes, int stride, float *b)
{
	for (int64_t i = 0; i < k; i++, b += stride)
		for (int j = 0; j < lanes; j += length)
			memcpy(b + j, from + offset[i] + place[j], (size_t) length * sizeof(float));
}

/* Lay out a vector of places that are no single run of memory. */
static void
gather_places(int64_t k, const int64_t *offset, const float *from, const int64_t *place, int lanes,
              int stride, float *b)
{
	if (runs_of(8, lanes, place))
		copy_runs(8, k, offset, from, place, lanes, stride, b);
	else if (runs_of(4, lanes, place))
		copy_runs(4, k, offset, from, place, lanes, stride, b);
	else
		copy_runs(1, k, offset, from, place, lanes, stride, b);
}

/* Lay out some vectors of columns for the tile loop: b [k, 3 * lanes]. */
static void
gather_columns(const NwGemm *gemm, int64_t k, const int64_t *offset, const float *from,
               const int64_t *place, int vectors, float *b)
{
	int lanes = gemm->lanes;
	const float *source[NW_GEMM_VECTORS];
	bool straight = true;

	for (int v = 0; v < vectors; v++)
	{
		source[v] = from + place[v * lanes];
		straight &= runs_of(lanes, lanes, place + v * lanes);
	}
	if (straight)
		gemm->gather(k, offset, source, vectors, b);
	else
		for (int v = 0; v < vectors; v++)
			gather_places(k, offset, from, place + v * lanes, lanes, NW_GEMM_VECTORS * lanes,
			              b + v * lanes);
}

/* Put a block's sums [m, ld] where they belong. */
static void
put_out(const Stencil *s, const Block *b, const float *sums, int64_t ld)
{
	int64_t plane = s->out_size[0] * s->out_size[1];
	int64_t places = b->rows * s->grid[1];
	bool dense = s->out_step[0] == 1 && s->out_step[1] == 1 && s->grid[1] == s->out_size[1];

	for (int64_t m = 0; m < s->m; m++)
		for (int64_t i = 0; i < b->images; i++)
		{
			const float *from = sums + m * ld + i * places;
			float *to = s->out + ((b->image + i) * s->m + m) * plane;

			if (dense)
				memcpy(to + b->row * s->out_size[1], from, (size_t) places * sizeof(float));
			else
				for (int64_t y = 0; y < b->rows; y++)
				{
					float *row = to +
					             ((b->row + y) * s->out_step[0] + s->out_at[0]) * s->out_size[1] +
					             s->out_at[1];

					for (int64_t x = 0; x < s->grid[1]; x++)
						row[x * s->out_step[1]] = from[y * s->grid[1] + x];
				}
		}
}

static void
stencil_block(const Stencil *s, const Block *b, float *scratch, int64_t *offset)
{
	const NwGemm *gemm = s->gemm;
	int width = NW_GEMM_VECTORS * gemm->lanes;
	int64_t rows = s->step[0] * (b->rows - 1) + s->span[0] + 1;
	int64_t plane = b->images * rows * s->row_floats;
	int64_t columns = b->images * b->rows * s->grid[1];
	int64_t ld = ROUND_UP(columns, width);
	int64_t *place = offset + s->depth * s->taps;
	float *packed = scratch;
	float *sums = packed + s->depth * s->taps * width;
	float *copy = sums + s->padded_m * ROUND_UP(s->columns, width);
	int64_t n = 0;

	for (int64_t c = 0; c < s->depth; c++)
		for (int64_t t = 0; t < s->taps; t++)
		{
			int64_t y = s->tap[t].at[0] - s->low[0];
			int64_t x = s->tap[t].at[1] - s->low[1];

			offset[c * s->taps + t] =
				c * plane + y * s->row_floats + x % s->step[1] * s->phase_floats + x / s->step[1];
		}
	for (int64_t i = 0; i < b->images; i++)
		for (int64_t y = 0; y < b->rows; y++)
			for (int64_t x = 0; x < s->grid[1]; x++)
				place[n++] = (i * rows + y * s->step[0]) * s->row_floats + x;
	for (; n < ld; n++) /* columns that nobody reads */
		place[n] = n % gemm->lanes ? place[n - 1] + 1 : 0;
	memset(copy, 0, (size_t) (s->depth * plane) * sizeof(float));
	memset(sums, 0, (size_t) (s->padded_m * ld) * sizeof(float));
	for (int64_t m = 0; s->bias != NULL && m < s->m; m++)
		for (int64_t j = 0; j < ld; j++)
			sums[m * ld + j] = s->bias[m];
	for (int64_t c0 = 0; c0 < s->c; c0 += s->depth)
	{
		int64_t channels = MIN(s->depth, s->c - c0);
		int64_t k = channels * s->taps;
		const float *a = s->a + c0 * s->taps * s->padded_m;

		copy_input(s, b, c0, channels, copy);
		for (int64_t j = 0; j < columns; j += width)
		{
			int vectors = (int) CEIL_DIV(MIN(width, columns - j), gemm->lanes);

			gather_columns(gemm, k, offset, copy, place + j, vectors, packed);
			for (int64_t m = 0; m < s->padded_m; m += gemm->rows)
				gemm->tile(k, a + m * k, packed, sums + m * ld + j, ld, vectors);
		}
	}
	put_out(s, b, sums, ld);
}

/* Compute blocks until none is left. */
static void
stencil_worker(void *arg, size_t slot)
{
	Stencil *s = arg;
	long i;

	while ((i = atomic_fetch_add(&s->next, 1)) < s->cut.blocks)
	{
		Block b = block_at(&s->cut, i);

		stencil_block(s, &b, s->scratch + (int64_t) slot * s->slot_floats,
		              s->offsets + (int64_t) slot * s->slot_offsets);
	}
}

/* Compute a stencil whose taps, weights and grid are set. */
static void
run_stencil(Stencil *s, const NwTeam *team)
{
	int width = NW_GEMM_VECTORS * s->gemm->lanes;

	for (int i = 0; i < 2; i++)
	{
		int64_t high = s->tap[0].at[i];

		s->low[i] = high;
		for (int64_t t = 1; t < s->taps; t++)
		{
			s->low[i] = MIN(s->low[i], s->tap[t].at[i]);
			high = MAX(high, s->tap[t].at[i]);
		}
		s->span[i] = high - s->low[i];
	}
	s->padded_m = ROUND_UP(s->m, s->gemm->rows);
	s->depth = MAX(1, DEPTH / s->taps);
	s->depth = CEIL_DIV(s->c, CEIL_DIV(s->c, s->depth));
	s->cut = cut_grid(s->n, s->grid[0], s->grid[1], COLUMNS, team->threads);
	s->columns = s->cut.images * s->cut.rows * s->grid[1];
	s->phase_floats = s->grid[1] + s->span[1] / s->step[1];
	s->row_floats = s->step[1] * s->phase_floats;
	s->copy_floats = s->depth * s->cut.images * (s->step[0] * (s->cut.rows - 1) + s->span[0] + 1) *
	                 s->row_floats;
	s->slot_floats =
		ROUND_UP(s->depth * s->taps * width + s->padded_m * ROUND_UP(s->columns, width) +
	                 s->copy_floats + SLACK,
	             16);
	s->slot_offsets = s->depth * s->taps + ROUND_UP(s->columns, width);
	s->a = floats(s->padded_m * s->c * s->taps);
	s->scratch = floats(s->slot_floats * team->threads);
	s->offsets = nw_alloc((size_t) (s->slot_offsets * team->threads) * sizeof(int64_t));
	atomic_init(&s->next, 0);
	team->run(team->state, pack_weights, (size_t) CEIL_DIV(s->c, s->depth), s);
	team->run(team->state, stencil_worker, (size_t) team->threads, s);
	free(s->a);
	free(s->scratch);
	free(s->offsets);
}

/* Compute y = x * w + bias; the bias may be NULL. */
void
nw_conv_forward(const NwGemm *gemm, const NwTeam *team, const NwConv *cv, const float *x,
                const float *w, const float *bias, float *y)
{
	const NwWindow *win = &cv->window;
	int64_t taps = win->kernel[0] * win->kernel[1];
	Stencil s = {.gemm = gemm,
	             .in = x,
	             .n = cv->n,
	             .c = cv->c,
	             .taps = taps,
	             .w = w,
	             .w_row = cv->c * taps,
	             .w_channel = taps,
	             .forward = true,
	             .m = cv->out_c,
	             .bias = bias,
	             .out = y,
	             .out_step = {1, 1}};

	for (int i = 0; i < 2; i++)
	{
		s.size[i] = cv->size[i];
		s.step[i] = win->stride[i];
		s.out_size[i] = s.grid[i] = cv->out_size[i];
	}
	s.tap = nw_alloc((size_t) taps * sizeof(Tap));
	for (int64_t t = 0; t < taps; t++)
		s.tap[t] = (Tap) {{t / win->kernel[1] * win->dilation[0] - win->pad[0],
		                   t % win->kernel[1] * win->dilation[1] - win->pad[1]},
		                  t};
	run_stencil(&s, team);
	free(s.tap);
}

/* Say whether a tap of the kernel reaches places of a residue, and from how far. */
static bool
reaches(const NwWindow *win, int axis, int64_t residue, int64_t tap, int64_t *at)
{
	int64_t from = residue + win->pad[axis] - tap * win->dilation[axis];

	*at = from / win->stride[axis];
	return from % win->stride[axis] == 0;
}

/* Say whether every residue is reached by a tap. */
static bool
all_reached(const NwWindow *win)
{
	for (int i = 0; i < 2; i++)
		for (int64_t r = 0; r < win->stride[i]; r++)
		{
			bool found = false;
			int64_t at;

			for (int64_t t = 0; t < win->kernel[i]; t++)
				found |= reaches(win, i, r, t, &at);
			if (!found)
				return false;
		}
	return true;
}

/* Compute the derivative by the input: dx from dy and w. */
void
nw_conv_by_input(const NwGemm *gemm, const NwTeam *team, const NwConv *cv, const float *dy,
                 const float *w, float *dx)
{
	const NwWindow *win = &cv->window;
	int64_t taps = win->kernel[0] * win->kernel[1];
	Tap *tap = nw_alloc((size_t) taps * sizeof(Tap));

	if (!all_reached(win)) /* places that no tap reaches stay 0 */
		memset(dx, 0, (size_t) (cv->n * cv->c * cv->size[0] * cv->size[1]) * sizeof(float));
	for (int64_t r = 0; r < win->stride[0] * win->stride[1]; r++)
	{
		int64_t residue[2] = {r / win->stride[1], r % win->stride[1]};
		Stencil s = {.gemm = gemm,
		             .in = dy,
		             .n = cv->n,
		             .c = cv->out_c,
		             .step = {1, 1},
		             .tap = tap,
		             .w = w,
		             .w_row = taps,
		             .w_channel = cv->c * taps,
		             .m = cv->c,
		             .out = dx};

		for (int i = 0; i < 2; i++)
		{
			s.size[i] = cv->out_size[i];
			s.out_size[i] = cv->size[i];
			s.out_step[i] = win->stride[i];
			s.out_at[i] = residue[i];
			s.grid[i] =
				residue[i] < cv->size[i] ? CEIL_DIV(cv->size[i] - residue[i], win->stride[i]) : 0;
		}
		for (int64_t t = 0; t < taps; t++)
			if (reaches(win, 0, residue[0], t / win->kernel[1], &tap[s.taps].at[0]) &&
			    reaches(win, 1, residue[1], t % win->kernel[1], &tap[s.taps].at[1]))
				tap[s.taps++].index = t;
		if (s.taps > 0 && s.grid[0] > 0 && s.grid[1] > 0)
			run_stencil(&s, team);
	}
	free(tap);
}

/* ------------------------------------------------------------------ by weights */

typedef struct ByWeight
{
	const NwGemm *gemm;
	const NwConv *cv;
	const float *x;
	const float *dy;
	float *dw;
	Cut cut; /* of the places of y */
	int64_t taps;
	int64_t padded_m;
	int64_t depth;    /* places of the largest block */
	int64_t channels; /* of a chunk */
	int64_t channel_chunks;
	int64_t place_chunks;
	int64_t ld;           /* of a chunk's sums [padded_m, tap, channel] */
	float *sums;          /* [channel chunk, place chunk, padded_m, ld] */
	int64_t in_rows;      /* that the largest block reads of an image */
	int64_t in_width;     /* with the border */
	atomic_long next;     /* chunk to sum */
	float *scratch;       /* of all threads */
	int64_t slot_floats;  /* of one */
	int64_t *offsets;     /* of all threads */
	int64_t slot_offsets; /* of one */
} ByWeight;

/* Copy what a block reads of x, with zeros around it: [image, row, place, channel]. */
static void
copy_channels_last(const ByWeight *s, const Block *b, int64_t channel, int64_t channels, float *to)
{
	const NwConv *cv = s->cv;
	const NwWindow *win = &cv->window;
	int64_t rows = win->stride[0] * (b->rows - 1) + win->dilation[0] * (win->kernel[0] - 1) + 1;
	int64_t first = win->stride[0] * b->row - win->pad[0];
	int64_t plane = cv->size[0] * cv->size[1];
	int64_t width = MIN(cv->size[1], s->in_width - win->pad[1]);

	for (int64_t i = b->image; i < b->image + b->images; i++)
		for (int64_t y = first; y < first + rows; y++, to += s->in_width * channels)
		{
			if (y < 0 || y >= cv->size[0])
			{
				memset(to, 0, (size_t) (s->in_width * channels) * sizeof(float));
				continue;
			}
			memset(to, 0, (size_t) (win->pad[1] * channels) * sizeof(float));
			s->gemm->transpose((int) channels, width,
			                   s->x + (i * cv->c + channel) * plane + y * cv->size[1], plane,
			                   to + win->pad[1] * channels, channels);
			memset(to + (win->pad[1] + width) * channels, 0,
			       (size_t) ((s->in_width - win->pad[1] - width) * channels) * sizeof(float));
		}
}

/* Pack a block of dy: [row block, place, row]. */
static void
pack_dy(const ByWeight *s, const Block *b, int64_t k, float *a)
{
	const NwConv *cv = s->cv;
	int rows = s->gemm->rows;
	int64_t plane = cv->out_size[0] * cv->out_size[1];
	int64_t places = b->rows * cv->out_size[1];

	for (int64_t m = 0; m < s->padded_m; m += rows, a += k * rows)
	{
		int filled = (int) MIN(rows, cv->out_c - m);

		if (filled < rows)
			memset(a, 0, (size_t) (k * rows) * sizeof(float));
		for (int64_t i = 0; i < b->images; i++)
			s->gemm->transpose(filled, places,
			                   s->dy + ((b->image + i) * cv->out_c + m) * plane +
			                       b->row * cv->out_size[1],
			                   plane, a + i * places * rows, rows);
	}
}

/* Add what a block gives to a chunk's sums. */
static void
add_block(const ByWeight *s, const Block *b, int64_t channel, int64_t channels, float *sums,
          float *scratch, int64_t *offset)
{
	const NwGemm *gemm = s->gemm;
	const NwWindow *win = &s->cv->window;
	int width = NW_GEMM_VECTORS * gemm->lanes;
	int64_t in_rows = win->stride[0] * (b->rows - 1) + win->dilation[0] * (win->kernel[0] - 1) + 1;
	int64_t columns = s->taps * channels;
	int64_t *place = offset + s->depth;
	float *packed = scratch;
	float *a = packed + s->depth * width;
	float *copy = a + s->depth * s->padded_m;
	int64_t k = 0;
	int64_t n = 0;

	for (int64_t i = 0; i < b->images; i++)
		for (int64_t y = 0; y < b->rows; y++)
			for (int64_t x = 0; x < s->cv->out_size[1]; x++)
				offset[k++] =
					((i * in_rows + y * win->stride[0]) * s->in_width + x * win->stride[1]) *
					channels;
	for (int64_t t = 0; t < s->taps; t++)
		for (int64_t c = 0; c < channels; c++)
			place[n++] = (t / win->kernel[1] * win->dilation[0] * s->in_width +
			              t % win->kernel[1] * win->dilation[1]) *
			                 channels +
			             c;
	for (; n < s->ld; n++) /* columns that nobody reads */
		place[n] = n % gemm->lanes ? place[n - 1] + 1 : 0;
	copy_channels_last(s, b, channel, channels, copy);
	pack_dy(s, b, k, a);
	for (int64_t j = 0; j < columns; j += width)
	{
		int vectors = (int) CEIL_DIV(MIN(width, columns - j), gemm->lanes);

		gather_columns(gemm, k, offset, copy, place + j, vectors, packed);
		for (int64_t m = 0; m < s->padded_m; m += gemm->rows)
			gemm->tile(k, a + m * k, packed, sums + m * s->ld + j, s->ld, vectors);
	}
}

/* Sum chunks until none is left. */
static void
by_weight_worker(void *arg, size_t slot)
{
	ByWeight *s = arg;
	long i;

	while ((i = atomic_fetch_add(&s->next, 1)) < s->channel_chunks * s->place_chunks)
	{
		int64_t channel = i / s->place_chunks * s->channels;
		int64_t chunk = i % s->place_chunks;
		float *sums = s->sums + i * s->padded_m * s->ld;

		memset(sums, 0, (size_t) (s->padded_m * s->ld) * sizeof(float));
		for (int64_t j = chunk * s->cut.blocks / s->place_chunks;
		     j < (chunk + 1) * s->cut.blocks / s->place_chunks; j++)
		{
			Block b = block_at(&s->cut, j);

			add_block(s, &b, channel, MIN(s->channels, s->cv->c - channel), sums,
			          s->scratch + (int64_t) slot * s->slot_floats,
			          s->offsets + (int64_t) slot * s->slot_offsets);
		}
	}
}

/* Add the chunks' sums of one row, in order. */
static void
finish_row(void *arg, size_t row)
{
	ByWeight *s = arg;
	int64_t chunk_floats = s->padded_m * s->ld;

	for (int64_t j = 0; j < s->channel_chunks; j++)
	{
		int64_t channels = MIN(s->channels, s->cv->c - j * s->channels);
		float *sum = s->sums + j * s->place_chunks * chunk_floats + (int64_t) row * s->ld;
		float *to = s->dw + ((int64_t) row * s->cv->c + j * s->channels) * s->taps;

		for (int64_t p = 1; p < s->place_chunks; p++)
			s->gemm->add(s->ld, sum + p * chunk_floats, sum);
		s->gemm->transpose((int) s->taps, channels, sum, channels, to, s->taps);
	}
}

/* Compute the derivative by the weights: dw from x and dy. */
void
nw_conv_by_weight(const NwGemm *gemm, const NwTeam *team, const NwConv *cv, const float *x,
                  const float *dy, float *dw)
{
	const NwWindow *win = &cv->window;
	ByWeight s = {.gemm = gemm,
	              .cv = cv,
	              .x = x,
	              .dy = dy,
	              .dw = dw,
	              .taps = win->kernel[0] * win->kernel[1],
	              .padded_m = ROUND_UP(cv->out_c, gemm->rows)};
	int width = NW_GEMM_VECTORS * gemm->lanes;

	s.cut = cut_grid(cv->n, cv->out_size[0], cv->out_size[1], DEPTH, 1);
	s.depth = s.cut.images * s.cut.rows * cv->out_size[1];
	s.channels = CEIL_DIV(cv->c, CEIL_DIV(cv->c, CHANNELS));
	s.channel_chunks = CEIL_DIV(cv->c, s.channels);
	s.ld = ROUND_UP(s.taps * s.channels, width);
	s.place_chunks = CHUNK_BYTES / (s.channel_chunks * s.padded_m * s.ld * (int64_t) sizeof(float));
	s.place_chunks = MAX(1, MIN(MIN(s.place_chunks, CHUNKS / s.channel_chunks), s.cut.blocks));
	s.in_rows = win->stride[0] * (s.cut.rows - 1) + win->dilation[0] * (win->kernel[0] - 1) + 1;
	s.in_width =
		win->stride[1] * (cv->out_size[1] - 1) + win->dilation[1] * (win->kernel[1] - 1) + 1;
	s.in_width = MAX(s.in_width, win->pad[1]);
	s.slot_floats = ROUND_UP(s.depth * (width + s.padded_m) +
	                             s.cut.images * s.in_rows * s.in_width * s.channels + SLACK,
	                         16);
	s.slot_offsets = s.depth + s.ld;
	s.sums = floats(s.channel_chunks * s.place_chunks * s.padded_m * s.ld);
	s.scratch = floats(s.slot_floats * team->threads);
	s.offsets = nw_alloc((size_t) (s.slot_offsets * team->threads) * sizeof(int64_t));
	atomic_init(&s.next, 0);
	team->run(team->state, by_weight_worker, (size_t) team->threads, &s);
	team->run(team->state, finish_row, (size_t) cv->out_c, &s);
	free(s.sums);
	free(s.scratch);
	free(s.offsets);
}
