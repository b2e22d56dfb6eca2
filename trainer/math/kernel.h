/*
 * math/kernel.h: the ways to compare a query with a support, those of the extension.
 */
#ifndef NW_MATH_KERNEL_H
#define NW_MATH_KERNEL_H

typedef enum NwKernel
{
	NW_EUCLIDEAN,   /* -|q - x| */
	NW_GAUSSIAN,    /* -|q - x|^2 */
	NW_HYPERSPHERE, /* -|q' - x'|, of vectors scaled to length 1 */
	NW_COSINE,      /* q' . x' */
	NW_DOT          /* q . x */
} NwKernel;

#endif
