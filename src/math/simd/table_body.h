/*
 * math/simd/table_body.h
 *		All loops for one instruction set, and the table of them.
 *
 * Included once for each set, behind its vectors: see vec_scalar.h.
 */

/* Loops that leave what does not fill a vector to plain C, without masks. */
#if VEC_MASKS
#define MORE(i, n, lanes) ((i) < (n))
#define LEFT(i, n, lanes) ((n) - (i))
#else
#define MORE(i, n, lanes) ((i) + (lanes) <= (n))
#define LEFT(i, n, lanes) (lanes)
#endif

#include "math/simd/rows_body.h"

#include "math/simd/exp_body.h"

#include "math/simd/codes_body.h"

#include "math/simd/copies_body.h"

#if VEC_EXP_BINS
#define EXP_BINS exp_bins
#else
#define EXP_BINS NULL
#endif

/* What the table of the set holds. */
#define LOOPS                                            \
	{.name = VEC_NAME,                                   \
	 .sqdist = sqdist,                                   \
	 .sqdist_scaled = sqdist_scaled,                     \
	 .dot = dot,                                         \
	 .sqnorm = sqnorm,                                   \
	 .dot_sqnorm = dot_sqnorm,                           \
	 .close_sqdist = close_sqdist,                       \
	 .root_scores = root_scores,                         \
	 .exp_split = exp_split,                             \
	 .sqdist_block = BLOCKS(sqdist_block),               \
	 .sqdist_scaled_block = BLOCKS(sqdist_scaled_block), \
	 .dot_block = BLOCKS(dot_block),                     \
	 .exp_sum = exp_sum,                                 \
	 .exp_moments = exp_moments,                         \
	 .max = max,                                         \
	 .bin_sum = bin_sum,                                 \
	 .copies_copy = copies_copy,                         \
	 .copies_sqdist = copies_sqdist,                     \
	 .code_query = code_query,                           \
	 .code_dot = code_dot,                               \
	 .code_middles = code_middles,                       \
	 .code_ranges = code_ranges,                         \
	 .code_scores = code_scores,                         \
	 .code_cosines = code_cosines,                       \
	 .half_to_float = half_to_float,                     \
	 .exp_bins = EXP_BINS}
