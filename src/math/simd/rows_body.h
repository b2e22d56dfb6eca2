/*
 * math/simd/rows_body.h
 *		Sums over the dimensions of rows, and what turns them into scores.
 *
 * The NW_LANES lanes of a row are GROUPS vectors.  VEC_ROWS rows are added up
 * side by side: their chains of fused operations are independent, and each
 * part of the query is loaded once for all.
 */

#define GROUPS (NW_LANES / VD)

/*
 * Fold n vectors to so many: the upper half onto the lower, again and again.
 * One flat loop, since compilers keep no array in registers that two loops
 * within each other go over.
 */
static INLINE void
fold_onto(vd *v, const int n, const int rest)
{
	UNROLL
	for (int i = n - 1; i >= rest; i--)
	{
		int half = rest << (31 - __builtin_clz(i / rest));

		v[i - half] = v[i - half] + v[i];
	}
}

/* Accumulate one dimension in each lane. */
static INLINE vd
sum_step(SumKind kind, vd acc, vd q, vd x, vd scale)
{
	switch (kind)
	{
		case SUM_SQDIST:
			q = q - x;
			return vd_fma(q, q, acc);
		case SUM_SQDIST_SCALED:
			q = vd_fnma(scale, x, q);
			return vd_fma(q, q, acc);
		case SUM_DOT:
			return vd_fma(q, x, acc);
		case SUM_SQNORM:
			break;
	}
	return vd_fma(x, x, acc);
}

/* Add up VEC_ROWS rows, or one. */
static INLINE void
sum_rows(SumKind kind, const int rows, const double *q, const float *x, const double *scale,
         int dim, double *out)
{
	vd acc[VEC_ROWS * GROUPS];
	vd s[VEC_ROWS];
	vd part = vd_all(0);
	int rest = dim % NW_LANES;

	UNROLL
	for (int r = 0; r < rows; r++)
		s[r] = vd_all(kind == SUM_SQDIST_SCALED ? scale[r] : 0);
	UNROLL
	for (int a = 0; a < rows * GROUPS; a++)
		acc[a] = vd_all(0);

	for (int j = 0; j < dim - rest; j += NW_LANES)
	{
		UNROLL
		for (int r = 0; r < rows && rows > 1; r++)
			prefetch((uintptr_t) (x + r * dim) + nw_simd_ahead);
		UNROLL
		for (int a = 0; a < rows * GROUPS; a++)
		{
			int r = a % rows;
			int g = a / rows;

			if (r == 0 && kind != SUM_SQNORM)
			{
				part = vd_load(q + g * VD);
				vd_keep(part);
			}
			acc[a] =
				sum_step(kind, acc[a], part, vd_load_floats_upto(x + r * dim + g * VD, VD), s[r]);
		}
		q += kind == SUM_SQNORM ? 0 : NW_LANES;
		x += NW_LANES;
	}

	/* lanes beyond the last dimension stay as they are */
	UNROLL
	for (int a = 0; a < rows * GROUPS; a++)
	{
		int r = a % rows;
		int g = a / rows;
		int k = rest - g * VD;

		if (k > 0)
		{
			vd v = vd_load_floats_upto(x + r * dim + g * VD, k);

			if (r == 0 && kind != SUM_SQNORM)
				part = vd_load_upto(q + g * VD, k, 0);
			acc[a] = vd_pick(vm_first(k), sum_step(kind, acc[a], part, v, s[r]), acc[a]);
		}
	}

	fold_onto(acc, rows * GROUPS, rows);
	if (rows == VEC_ROWS)
		vd_fold_rows(acc, out);
	else
		*out = vd_fold(acc[0]);
}

/* Add up n rows. */
static INLINE void
sum_all(SumKind kind, const double *q, const float *x, const double *scale, int dim, int n,
        double *out)
{
	int i = 0;

	for (; i + VEC_ROWS <= n; i += VEC_ROWS)
		sum_rows(kind, VEC_ROWS, q, x + (int64_t) i * dim, scale ? scale + i : NULL, dim, out + i);
	for (; VEC_ROWS > 1 && i < n; i++)
		sum_rows(kind, 1, q, x + (int64_t) i * dim, scale ? scale + i : NULL, dim, out + i);
}

static TARGET void
sqdist(const double *q, const float *x, int dim, int n, double *out)
{
	sum_all(SUM_SQDIST, q, x, NULL, dim, n, out);
}

static TARGET void
sqdist_scaled(const double *q, const float *x, const double *scale, int dim, int n, double *out)
{
	sum_all(SUM_SQDIST_SCALED, q, x, scale, dim, n, out);
}

static TARGET void
dot(const double *q, const float *x, int dim, int n, double *out)
{
	sum_all(SUM_DOT, q, x, NULL, dim, n, out);
}

static TARGET void
sqnorm(const float *x, int dim, int n, double *out)
{
	sum_all(SUM_SQNORM, NULL, x, NULL, dim, n, out);
}

/* Inner products and squared norms of a few rows whose lanes are full. */
static INLINE void
sum_both(const int rows, const double *q, const float *x, int dim, double *dots, double *sqnorms)
{
	vd d[VEC_BOTH_ROWS * GROUPS];
	vd s[VEC_BOTH_ROWS * GROUPS];

	UNROLL
	for (int a = 0; a < rows * GROUPS; a++)
		d[a] = s[a] = vd_all(0);
	for (int j = 0; j < dim; j += NW_LANES)
	{
		UNROLL
		for (int r = 0; r < rows; r++)
			prefetch((uintptr_t) (x + r * dim) + nw_simd_ahead);
		UNROLL
		for (int a = 0; a < rows * GROUPS; a++)
		{
			int r = a % rows;
			int g = a / rows;
			vd v = vd_load_floats_upto(x + r * dim + g * VD, VD);

			d[a] = vd_fma(vd_load(q + g * VD), v, d[a]);
			s[a] = vd_fma(v, v, s[a]);
		}
		q += NW_LANES;
		x += NW_LANES;
	}
	fold_onto(d, rows * GROUPS, rows);
	fold_onto(s, rows * GROUPS, rows);
	UNROLL
	for (int r = 0; r < rows; r++)
	{
		dots[r] = vd_fold(d[r]);
		sqnorms[r] = vd_fold(s[r]);
	}
}

static TARGET void
dot_sqnorm(const double *q, const float *x, int dim, int n, double *dots, double *sqnorms)
{
	int i = 0;

	if (VD == 1 || dim % NW_LANES != 0)
	{
		dot(q, x, dim, n, dots);
		sqnorm(x, dim, n, sqnorms);
		return;
	}
	for (; i + VEC_BOTH_ROWS <= n; i += VEC_BOTH_ROWS)
		sum_both(VEC_BOTH_ROWS, q, x + (int64_t) i * dim, dim, dots + i, sqnorms + i);
	if (VEC_BOTH_ROWS > 2 && n - i >= 2)
	{
		sum_both(2, q, x + (int64_t) i * dim, dim, dots + i, sqnorms + i);
		i += 2;
	}
	if (VEC_BOTH_ROWS > 1 && i < n)
		sum_both(1, q, x + (int64_t) i * dim, dim, dots + i, sqnorms + i);
}

/* A set with tiles for blocks has said so before. */
#ifndef BLOCKS

#define BLOCKS(name) name

static void
sqdist_block(const double *q, int nq, const float *x, int dim, int n, double *out)
{
	for (int i = 0; i < nq; i++)
		sqdist(q + (int64_t) i * dim, x, dim, n, out + (int64_t) i * n);
}

static void
sqdist_scaled_block(const double *q, int nq, const float *x, const double *scale, int dim, int n,
                    double *out)
{
	for (int i = 0; i < nq; i++)
		sqdist_scaled(q + (int64_t) i * dim, x, scale, dim, n, out + (int64_t) i * n);
}

static void
dot_block(const double *q, int nq, const float *x, int dim, int n, double *out)
{
	for (int i = 0; i < nq; i++)
		dot(q + (int64_t) i * dim, x, dim, n, out + (int64_t) i * n);
}

#endif

static TARGET bool
close_sqdist(double q2, const double *x2, double share, int n, double *value)
{
	vm low = vm_none();
	bool rest = false;
	int i = 0;

	for (; MORE(i, n, VD); i += VD)
	{
		int k = LEFT(i, n, VD);
		vd both = q2 + vd_load_upto(x2 + i, k, 0);
		vd product = vd_load_upto(value + i, k, 0);
		vd result = both - (product + product);
		vm is_low = vd_not_gt(result, both * share);

		low = vm_or(low, VEC_MASKS ? vm_and(vm_first(k), is_low) : is_low);
		vd_store_upto(value + i, result, k);
	}
	if (!VEC_MASKS)
		rest = nw_simd_scalar.close_sqdist(q2, x2 + i, share, n - i, value + i);
	return rest || vm_any(low);
}

static TARGET void
root_scores(const double *value, int n, double factor, double *out)
{
	int i = 0;

	for (; MORE(i, n, VD); i += VD)
	{
		int k = LEFT(i, n, VD);

		vd_store_upto(out + i, vd_sqrt(vd_load_upto(value + i, k, 0.5)) * -factor, k);
	}
	if (!VEC_MASKS)
		nw_simd_scalar.root_scores(value + i, n - i, factor, out + i);
}

static TARGET void
half_to_float(const uint16_t *half, int n, float *out)
{
	int i = 0;

	for (; MORE(i, n, VF); i += VF)
	{
		int k = LEFT(i, n, VF);

		vf_store_upto(out + i, vf_load_halves_upto(half + i, k), k);
	}
#if !VEC_MASKS
	for (; i < n; i++)
		out[i] = widen_half(half[i]);
#endif
}
