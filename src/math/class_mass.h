/*
 * math/class_mass.h
 *		The masses of classes at any temperature, out of one query's scores.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.
 */
#ifndef NW_MATH_CLASS_MASS_H
#define NW_MATH_CLASS_MASS_H

#include <stdint.h>

/* A score that no query can have: such a row is left out. */
#define NW_SCORE_NONE (-1e290)

extern void nw_class_largest(const double *score, const int64_t *class_start, int nclasses,
                             double *largest);
extern void nw_class_log_masses(const double *score, const double *log_weight,
                                const int64_t *class_start, int nclasses, const double *largest,
                                double inverse_tau, double *scratch, double *mass);

#endif /* NW_MATH_CLASS_MASS_H */
