/*
 * base/finite.h: whether floats are numbers.
 */
#ifndef NW_FINITE_H
#define NW_FINITE_H

#include <stdbool.h>
#include <stdint.h>

bool nw_all_finite(const float *v, int64_t n);

#endif
