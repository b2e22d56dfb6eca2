/*
 * base/limits.h: limits of others that the program keeps to.
 */
#ifndef NW_LIMITS_H
#define NW_LIMITS_H

/* The dimensions that a vector column of pgvector can have. */
#define NW_MAX_VECTOR_DIM 16000

#endif
