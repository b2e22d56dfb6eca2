/*
 * math/elementary.h
 *		log, log1p and exp of our own.
 *
 * The C library's have variants by processor, with and without fused
 * operations, which differ in the last digit.  These have one: they only add,
 * subtract, multiply and divide, each operation rounded as IEEE 754 says, and
 * are compiled without contraction.  Their errors are below 1 unit in the last
 * place (0.9 is the most that random numbers showed), subnormal results of exp
 * included; log(1), log1p(0) and exp(0) are exact.
 *
 * Pure C: no PostgreSQL, no C library, no errors.
 */
#ifndef NW_MATH_ELEMENTARY_H
#define NW_MATH_ELEMENTARY_H

extern double nw_log(double x);
extern double nw_log1p(double x);
extern double nw_exp(double x);

#endif /* NW_MATH_ELEMENTARY_H */
