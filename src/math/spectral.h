/*
 * math/spectral.h
 *		Bound the norm of a matrix that comes row by row.
 *
 * The norm is the largest |R v| over vectors v of length 1.  For rows that point
 * in all directions it is far below the root of the sum of their squares, which
 * any matrix obeys.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_MATH_SPECTRAL_H
#define NW_MATH_SPECTRAL_H

#include <stdbool.h>
#include <stddef.h>

/* A matrix of which at most so many rows or columns are multiplied. */
#define NW_SPECTRAL_SIDE 256

typedef struct NwSpectral
{
	int dim;         /* columns */
	int side;        /* of the products */
	int block;       /* rows gathered before they are multiplied */
	bool from_below; /* bound the norm from there, too */
	int n;           /* rows gathered */
	double slack;    /* sum of squares of what rows may be off */
	double most;     /* the squared norm of blocks done is not above */
	double least;    /* the squared norm of blocks done is not below */
	float *rows;     /* [block][dim], or [dim][block] */
	double *wide;    /* some of these as double */
	double *product; /* [side][side] */
	double *power;   /* [side][side]: the product, raised and scaled */
	float *narrow;   /* [side][side]: that power as float */
} NwSpectral;

extern size_t nw_spectral_memory(int dim);
extern void nw_spectral_init(NwSpectral *matrix, int dim, bool from_below, void *space);
extern void nw_spectral_add(NwSpectral *matrix, const float *row, double off);
extern void nw_spectral_norm(NwSpectral *matrix, double *most, double *least);

#endif /* NW_MATH_SPECTRAL_H */
