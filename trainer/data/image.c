/*
 * data/image.c: decoding, fitting and normalising images.
 */
#include <stdio.h> /* before jpeglib.h, which needs it */

#include <jpeglib.h>
#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/exif.h"
#include "data/image.h"

/* larger than any photograph, small enough that sizes cannot overflow */
#define MAX_SIDE 32768
#define MAX_PIXELS (INT64_C(1) << 28)

/*
 * What a file can hold at most, for each of its bytes: a PNG a thousandfold by
 * deflate, eight pixels a byte; a JPEG, which has at least a bit for each block,
 * blocks of 64 pixels, or of 128 where no component has full resolution.  Files of
 * arithmetic codes need less, so small images are not judged.
 */
#define PNG_PIXELS 8256
#define JPEG_PIXELS 1024
#define JPEG_SMALL (1 << 22)

/* Say why an image of such a size is not to be decoded; NULL where it is. */
static const char *
refuse_size(unsigned width, unsigned height, size_t len, int64_t pixels_of_byte)
{
	if (width == 0 || height == 0)
		return "image is empty";
	if (width > MAX_SIDE || height > MAX_SIDE || (int64_t) width * height > MAX_PIXELS)
		return "image is too large";
	if ((int64_t) width * height / pixels_of_byte > (int64_t) len)
		return "the file is too short for the image's size";
	return NULL;
}

/* libjpeg's errors come back here */
typedef struct JpegError
{
	struct jpeg_error_mgr mgr;
	jmp_buf back;
	char text[JMSG_LENGTH_MAX];
} JpegError;

static void
jpeg_failed(j_common_ptr info)
{
	JpegError *e = (JpegError *) info->err;

	info->err->format_message(info, e->text);
	longjmp(e->back, 1);
}

/* Take libjpeg's warnings as failures: a truncated file is not an image. */
static void
jpeg_warned(j_common_ptr info, int level)
{
	if (level < 0)
		jpeg_failed(info);
}

/* Turn a line of inverted CMYK, as Adobe writes it, into RGB. */
static void
cmyk_to_rgb(const uint8_t *in, uint8_t *out, int width)
{
	for (int x = 0; x < width; x++, in += 4, out += 3)
		for (int c = 0; c < 3; c++)
			out[c] = (uint8_t) (in[c] * in[3] / 255);
}

/*
 * Decode a JPEG.  The decoder itself reduces by 2, 4 or 8 as long as the shorter
 * side stays at least `enough`.
 */
static char *
decode_jpeg(const uint8_t *data, size_t len, int channels, int enough, NwImage *out)
{
	struct jpeg_decompress_struct info;
	JpegError error;
	const char *why;
	uint8_t *volatile line = NULL;

	out->pixels = NULL;
	info.err = jpeg_std_error(&error.mgr);
	error.mgr.error_exit = jpeg_failed;
	error.mgr.emit_message = jpeg_warned;
	if (setjmp(error.back))
	{
		jpeg_destroy_decompress(&info);
		free(line);
		nw_image_free(out);
		return nw_strdup(error.text);
	}
	jpeg_create_decompress(&info);
	jpeg_mem_src(&info, data, len);
	jpeg_read_header(&info, TRUE);
	why = refuse_size(info.image_width, info.image_height,
	                  len > JPEG_SMALL / JPEG_PIXELS ? len : JPEG_SMALL / JPEG_PIXELS, JPEG_PIXELS);
	if (why != NULL)
	{
		jpeg_destroy_decompress(&info);
		return nw_strdup(why);
	}
	if (info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK)
		info.out_color_space = JCS_CMYK;
	else
		info.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
	info.scale_num = 1;
	for (info.scale_denom = 8; info.scale_denom > 1; info.scale_denom /= 2)
	{
		unsigned side = info.image_width < info.image_height ? info.image_width : info.image_height;

		if (side / info.scale_denom >= (unsigned) enough)
			break;
	}
	jpeg_start_decompress(&info);
	out->height = (int) info.output_height;
	out->width = (int) info.output_width;
	out->channels = info.out_color_space == JCS_CMYK ? 3 : channels;
	out->pixels = nw_alloc((size_t) out->height * (size_t) out->width * (size_t) out->channels);
	line = nw_alloc((size_t) out->width * 4);
	while (info.output_scanline < info.output_height)
	{
		uint8_t *row = out->pixels +
		               (size_t) info.output_scanline * (size_t) out->width * (size_t) out->channels;
		uint8_t *into = info.out_color_space == JCS_CMYK ? line : row;

		jpeg_read_scanlines(&info, &into, 1);
		if (info.out_color_space == JCS_CMYK)
			cmyk_to_rgb(line, row, out->width);
	}
	jpeg_finish_decompress(&info);
	jpeg_destroy_decompress(&info);
	free(line);
	return NULL;
}

/*
 * Say whether a chunk before the pixels leads out of the file: libpng asks for as much
 * memory as a chunk says that it has, before it reads it.
 */
static bool
png_is_cut(const uint8_t *data, size_t len)
{
	size_t at = 8;

	while (len - at >= 8 && memcmp(data + at + 4, "IDAT", 4) != 0)
	{
		const uint8_t *p = data + at;
		size_t chunk = (size_t) p[0] << 24 | (size_t) p[1] << 16 | (size_t) p[2] << 8 | p[3];

		if (chunk + 12 > len - at)
			return true;
		at += chunk + 12;
	}
	return false;
}

/*
 * Lay pixels with alpha over white, in place, in the values of the file, as viewers do: light
 * itself would be mixed otherwise.
 */
static void
lay_over_white(uint8_t *pixels, size_t n, int channels)
{
	const uint8_t *in = pixels;

	for (size_t i = 0; i < n; i++, in += channels + 1)
	{
		unsigned alpha = in[channels];

		for (int c = 0; c < channels; c++)
			*pixels++ = (uint8_t) ((alpha * in[c] + (255 - alpha) * 255 + 127) / 255);
	}
}

/* Decode a PNG, transparent parts over white. */
static char *
decode_png(const uint8_t *data, size_t len, int channels, NwImage *out)
{
	png_image png = {.version = PNG_IMAGE_VERSION};
	const char *why;
	size_t n;

	if (png_is_cut(data, len))
		return nw_strdup("the file ends too early");
	if (!png_image_begin_read_from_memory(&png, data, len))
		return nw_strdup(png.message);
	why = refuse_size(png.width, png.height, len, PNG_PIXELS);
	if (why != NULL)
	{
		png_image_free(&png);
		return nw_strdup(why);
	}
	png.flags |= PNG_IMAGE_FLAG_16BIT_sRGB; /* libpng takes 16 bits for linear light unless told */
	png.format = (channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB) |
	             (png.format & PNG_FORMAT_FLAG_ALPHA); /* which tRNS is, too */
	out->height = (int) png.height;
	out->width = (int) png.width;
	out->channels = channels;
	out->pixels = nw_alloc(PNG_IMAGE_SIZE(png));
	if (!png_image_finish_read(&png, NULL, out->pixels, 0, NULL) || PNG_IMAGE_FAILED(png))
	{
		nw_image_free(out);
		return nw_strdup(png.message);
	}
	if (png.format & PNG_FORMAT_FLAG_ALPHA)
	{
		n = (size_t) out->height * (size_t) out->width;
		lay_over_white(out->pixels, n, channels);
		out->pixels = nw_realloc(out->pixels, n * (size_t) channels);
	}
	return NULL;
}

/* Turn an image by EXIF's number: from 5 on rows become columns, others are mirrored. */
static void
turn(NwImage *image, int orientation)
{
	ptrdiff_t col = image->channels;
	ptrdiff_t row = col * image->width;
	const uint8_t *from = image->pixels;
	NwImage turned = *image;
	uint8_t *to;

	if (orientation == 1)
		return;
	if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7)
	{
		from += (image->height - 1) * row;
		row = -row;
	}
	if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8)
	{
		from += (image->width - 1) * col;
		col = -col;
	}
	if (orientation >= 5)
	{
		ptrdiff_t was = row;

		row = col;
		col = was;
		turned.height = image->width;
		turned.width = image->height;
	}
	to = turned.pixels =
		nw_alloc((size_t) turned.height * (size_t) turned.width * (size_t) turned.channels);
	for (int y = 0; y < turned.height; y++)
		for (int x = 0; x < turned.width; x++)
			for (int c = 0; c < turned.channels; c++)
				*to++ = from[y * row + x * col + c];
	nw_image_free(image);
	*image = turned;
}

static bool
is_jpeg(const uint8_t *data, size_t len)
{
	return len > 2 && data[0] == 0xff && data[1] == 0xd8;
}

static bool
is_png(const uint8_t *data, size_t len)
{
	return len >= 8 && memcmp(data, "\x89PNG\r\n\x1a\n", 8) == 0;
}

/* Say whether there is a file that begins as a JPEG or PNG does; a pipe is not waited for. */
bool
nw_image_is_at(const char *path)
{
	struct stat st;
	bool regular = stat(path, &st) == 0 && S_ISREG(st.st_mode);
	FILE *f = regular ? fopen(path, "rbe") : NULL;
	uint8_t start[8];
	size_t n = f ? fread(start, 1, sizeof(start), f) : 0;

	if (f)
		fclose(f);
	return is_jpeg(start, n) || is_png(start, n);
}

/*
 * Decode a JPEG or PNG, told by its first bytes, and turn it as its EXIF block says;
 * why not (to be freed), else NULL.
 */
char *
nw_image_decode(const void *data, size_t len, int channels, int enough, NwImage *out)
{
	char *why;

	*out = (NwImage) {0};
	if (len == 0)
		return nw_strdup("the file is empty");
	if (is_jpeg(data, len))
		why = decode_jpeg(data, len, channels, enough, out);
	else if (is_png(data, len))
		why = decode_png(data, len, channels, out);
	else
		why = nw_strdup("neither JPEG nor PNG");
	if (why == NULL)
		turn(out, nw_exif_orientation(data, len));
	return why;
}

void
nw_image_free(NwImage *image)
{
	free(image->pixels);
	image->pixels = NULL;
}

/* The weights with which source pixels make one target pixel. */
typedef struct Taps
{
	int first;
	int n;
	float *weight;
} Taps;

/*
 * Work out the taps of one axis: a triangle filter as wide as the reduction, which
 * is bilinear interpolation when enlarging and smooth averaging when reducing.
 */
static Taps *
make_taps(int from, int to, double start, double length)
{
	Taps *taps = nw_alloc((size_t) to * sizeof(Taps));
	double scale = length / to;
	double support = scale > 1 ? scale : 1;

	for (int i = 0; i < to; i++)
	{
		double centre = start + (i + 0.5) * scale;
		int first = (int) floor(centre - support);
		int last = (int) ceil(centre + support);
		double sum = 0;
		Taps *t = &taps[i];

		first = first < 0 ? 0 : first;
		last = last > from ? from : last;
		t->first = first;
		t->n = last - first;
		t->weight = nw_alloc((size_t) t->n * sizeof(float));
		for (int j = 0; j < t->n; j++)
		{
			double w = 1 - fabs((first + j + 0.5 - centre) / support);

			t->weight[j] = (float) (w > 0 ? w : 0);
			sum += t->weight[j];
		}
		for (int j = 0; j < t->n; j++)
			t->weight[j] = (float) (t->weight[j] / sum);
	}
	return taps;
}

static void
free_taps(Taps *taps, int n)
{
	for (int i = 0; i < n; i++)
		free(taps[i].weight);
	free(taps);
}

/* Bring pixels to the number of channels a model wants. */
static void
copy_pixel(const float *in, int from, uint8_t *out, int to)
{
	float v[3] = {in[0], from == 3 ? in[1] : in[0], from == 3 ? in[2] : in[0]};

	if (to == 1 && from == 3)
		v[0] = 0.299f * v[0] + 0.587f * v[1] + 0.114f * v[2];
	for (int c = 0; c < to; c++)
	{
		float x = v[c] + 0.5f;

		out[c] = (uint8_t) (x < 0 ? 0 : x > 255 ? 255 : x);
	}
}

/* Make [height, width, channels] of an image by the taps of its rows and columns. */
static void
resample(const NwImage *image, const Taps *rows, const Taps *cols, int height, int width,
         int channels, uint8_t *out)
{
	int ch = image->channels;
	int top = rows[0].first;
	int bottom = rows[height - 1].first + rows[height - 1].n;
	float *mid = nw_alloc((size_t) (bottom - top) * (size_t) width * (size_t) ch * sizeof(float));

	for (int y = top; y < bottom; y++)
		for (int x = 0; x < width; x++)
			for (int c = 0; c < ch; c++)
			{
				const uint8_t *p =
					image->pixels +
					((size_t) y * (size_t) image->width + (size_t) cols[x].first) * (size_t) ch + c;
				float sum = 0;

				for (int j = 0; j < cols[x].n; j++)
					sum += cols[x].weight[j] * p[j * ch];
				mid[((size_t) (y - top) * (size_t) width + (size_t) x) * (size_t) ch + (size_t) c] =
					sum;
			}
	for (int y = 0; y < height; y++)
		for (int x = 0; x < width; x++)
		{
			float v[3] = {0, 0, 0};

			for (int j = 0; j < rows[y].n; j++)
				for (int c = 0; c < ch; c++)
					v[c] += rows[y].weight[j] *
					        mid[((size_t) (rows[y].first + j - top) * (size_t) width + (size_t) x) *
					                (size_t) ch +
					            (size_t) c];
			copy_pixel(v, ch, out + ((size_t) y * (size_t) width + (size_t) x) * (size_t) channels,
			           channels);
		}
	free(mid);
}

/* Resize so that the target is covered, and cut the centre: into [height, width, channels]. */
void
nw_image_fit(const NwImage *image, const NwPreprocess *pre, uint8_t *out)
{
	double scale_h = (double) image->height / (pre->height * pre->zoom);
	double scale_w = (double) image->width / (pre->width * pre->zoom);
	double scale = scale_h < scale_w ? scale_h : scale_w;
	double box_h = pre->height * scale;
	double box_w = pre->width * scale;
	Taps *rows;
	Taps *cols;

	if (image->height == pre->height && image->width == pre->width &&
	    image->channels == pre->channels && pre->zoom == 1)
	{
		memcpy(out, image->pixels,
		       (size_t) image->height * (size_t) image->width * (size_t) image->channels);
		return;
	}
	rows = make_taps(image->height, pre->height, (image->height - box_h) / 2, box_h);
	cols = make_taps(image->width, pre->width, (image->width - box_w) / 2, box_w);
	resample(image, rows, cols, pre->height, pre->width, pre->channels, out);
	free_taps(rows, pre->height);
	free_taps(cols, pre->width);
}

/* Make the taps of a part of an axis, as if there were nothing around it. */
static Taps *
part_taps(int first, int length, int to)
{
	Taps *taps = make_taps(length, to, 0, length);

	for (int i = 0; i < to; i++)
		taps[i].first += first;
	return taps;
}

/* Cut a box out of an image, and resize it to the model's input: [height, width, channels]. */
void
nw_image_cut(const NwImage *image, NwBox box, const NwPreprocess *pre, uint8_t *out)
{
	size_t line = (size_t) pre->width * (size_t) pre->channels;
	Taps *rows;
	Taps *cols;

	if (box.height == pre->height && box.width == pre->width && image->channels == pre->channels)
	{
		for (int y = 0; y < box.height; y++)
			memcpy(out + (size_t) y * line,
			       image->pixels + ((size_t) (box.y + y) * (size_t) image->width + (size_t) box.x) *
			                           (size_t) image->channels,
			       line);
		return;
	}
	rows = part_taps(box.y, box.height, pre->height);
	cols = part_taps(box.x, box.width, pre->width);
	resample(image, rows, cols, pre->height, pre->width, pre->channels, out);
	free_taps(rows, pre->height);
	free_taps(cols, pre->width);
}

/*
 * Normalise a fitted image into [channels, height, width], moved by (dy, dx) and
 * mirrored if asked; what a move uncovers is the mean, that is 0.
 */
void
nw_image_tensor(const uint8_t *pixels, const NwPreprocess *pre, int dy, int dx, bool mirror,
                float *out)
{
	int ch = pre->channels;

	for (int c = 0; c < ch; c++)
	{
		float scale = (float) (1 / (255 * pre->std[c]));
		float shift = (float) (-pre->mean[c] / pre->std[c]);

		for (int y = 0; y < pre->height; y++)
		{
			bool inside = y + dy >= 0 && y + dy < pre->height;
			const uint8_t *row =
				pixels + (size_t) (inside ? y + dy : 0) * (size_t) pre->width * (size_t) ch + c;

			/* most are taken as they are; grey ones lie side by side, which makes vectors of the
			 * loop */
			if (inside && dx == 0 && !mirror)
			{
				if (ch == 1)
					for (int x = 0; x < pre->width; x++)
						out[x] = (float) row[x] * scale + shift;
				else
					for (int x = 0; x < pre->width; x++)
						out[x] = (float) row[x * ch] * scale + shift;
				out += pre->width;
				continue;
			}
			for (int x = 0; x < pre->width; x++)
			{
				int from = (mirror ? pre->width - 1 - x : x) + dx;

				*out++ = inside && from >= 0 && from < pre->width
				             ? (float) row[from * ch] * scale + shift
				             : 0;
			}
		}
	}
}
