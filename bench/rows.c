/*
 * rows.c
 *		Write labelled random vectors in PostgreSQL's binary COPY format.
 *
 * usage: rows N DIM CLASSES SPREAD SEED [KIND]
 *
 * Each class has a centre of standard normal coordinates.  A row is some place
 * plus SPREAD times standard normal noise; the place is, by KIND:
 *
 *	centres	(default) the centre of its class
 *	between	on the way from that centre to the centre of a class it resembles,
 *			of which each has four: mostly near its own, one row in ten nearer
 *			the other, as a trained network leaves what it has not learned
 *	origin	the origin for all: labels mean nothing
 *
 * Columns: id int4, label text, embedding vector.
 */
#include <arpa/inet.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

/* Draw 64 bits (splitmix64). */
static uint64_t
draw(void)
{
	uint64_t z = (state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Draw from the standard normal distribution, nearly: twelve uniforms less 6. */
static float
normal(void)
{
	float sum = -6;

	for (int i = 0; i < 3; i++)
	{
		uint64_t bits = draw();

		for (int k = 0; k < 4; k++, bits >>= 16)
			sum += (float) (bits & 0xffff) / 65536;
	}
	return sum;
}

/* Write integers in network order. */
static void
put16(int16_t value)
{
	uint16_t net = htons((uint16_t) value);

	fwrite(&net, 2, 1, stdout);
}

static void
put32(int32_t value)
{
	uint32_t net = htonl((uint32_t) value);

	fwrite(&net, 4, 1, stdout);
}

/* Draw how far a row is from its class: mostly little, past half one in ten. */
static float
stray(void)
{
	float u = (float) (draw() >> 40) / (1 << 24);

	return 0.7f * u * u * u;
}

int
main(int argc, char **argv)
{
	int n, dim, classes;
	float spread;
	float *centre;
	const char *kind = argc > 6 ? argv[6] : "centres";
	int between = strcmp(kind, "between") == 0;
	int origin = strcmp(kind, "origin") == 0;

	if (argc < 6 || argc > 7 || (!between && !origin && strcmp(kind, "centres") != 0))
	{
		fprintf(stderr, "usage: rows N DIM CLASSES SPREAD SEED [centres|between|origin]\n");
		return 2;
	}
	n = atoi(argv[1]);
	dim = atoi(argv[2]);
	classes = atoi(argv[3]);
	spread = strtof(argv[4], NULL);

	/* the centres are the same for every seed */
	state = 1;
	centre = malloc(sizeof(float) * classes * dim);
	if (centre == NULL)
		return 1;
	for (int i = 0; i < classes * dim; i++)
		centre[i] = origin ? 0 : normal();
	state = strtoull(argv[5], NULL, 10) * 0x632be59bd9b4e019u;

	fwrite("PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19, 1, stdout);
	for (int i = 0; i < n; i++)
	{
		int class = (int) (draw() % (uint64_t) classes);
		char label[16];
		int len = snprintf(label, sizeof(label), "class%02d", class);
		int other = class;
		float way = 0;

		if (between)
		{
			/* one or two before or after: so each resembles those like it */
			static const int step[] = {1, 2, -1, -2};

			other = (class + classes + step[draw() % 4]) % classes;
			way = stray();
		}

		put16(3);
		put32(4);
		put32(i + 1);
		put32(len);
		fwrite(label, len, 1, stdout);
		put32(4 + 4 * dim);
		put16((int16_t) dim);
		put16(0);
		for (int j = 0; j < dim; j++)
		{
			float from = centre[class * dim + j];
			float to = centre[other * dim + j];
			float x = from + way * (to - from) + spread * normal();
			int32_t bits;

			memcpy(&bits, &x, 4);
			put32(bits);
		}
	}
	put16(-1);
	free(centre);
	return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
