/*
 * math/simd/codes_body.h
 *		Codes of one byte a dimension: see code.h.
 *
 * The result bounds scores that are computed elsewhere, so here, unlike in the
 * sums over rows, the implementations need not agree to the last bit.  All
 * keep to NW_LANES lanes, which the bound on their rounding counts on.
 */

#define FLOAT_GROUPS (NW_LANES / VF)

static TARGET void
code_query(const double *q, const float *centre, int dim, double scale, float *t)
{
	int j = 0;

	for (; MORE(j, dim, VD); j += VD)
	{
		int k = LEFT(j, dim, VD);
		vd v = vd_load_upto(q + j, k, 0);

		if (centre)
			v = v - vd_load_floats_upto(centre + j, k);
		vd_store_floats_upto(t + j, v * scale, k);
	}
	if (!VEC_MASKS)
		nw_simd_scalar.code_query(q + j, centre ? centre + j : NULL, dim - j, scale, t + j);
}

/* Accumulate the first k of sixteen dimensions of some rows. */
static INLINE void
code_step(vf acc[][FLOAT_GROUPS], const float *t, const int8_t *const *code, int j, int k)
{
	UNROLL
	for (int g = 0; g < FLOAT_GROUPS; g++)
	{
		if (k > g * VF)
		{
			vf part = vf_load_upto(t + g * VF, k - g * VF);

			vf_keep(part);
			UNROLL
			for (int r = 0; r < VEC_CODE_ROWS; r++)
				acc[r][g] = vf_mul_add(part, vf_load_bytes_upto(code[r] + j + g * VF, k - g * VF),
				                       acc[r][g]);
		}
	}
}

/* Fold twice so many groups to half of them. */
static INLINE void
fold_floats(vf *acc, const int half)
{
	UNROLL
	for (int g = 0; g < half; g++)
		acc[g] = acc[g] + acc[g + half];
}

/* One call after the other: see fold_onto(). */
static INLINE vf
fold_float_groups(vf *acc)
{
	fold_floats(acc, FLOAT_GROUPS / 2);
	fold_floats(acc, FLOAT_GROUPS / 4);
	fold_floats(acc, FLOAT_GROUPS / 8);
	fold_floats(acc, FLOAT_GROUPS / 16);
	return acc[0];
}

static TARGET void
code_dot(const float *t, const int8_t *code, int dim, int n, float *out)
{
	int whole = dim - dim % NW_LANES;
#if !VEC_MASKS
	float last[NW_LANES] = {0};
	int8_t padded[VEC_CODE_ROWS][NW_LANES] = {{0}};

	/*
	 * The last dimensions of a row are read together with some before them,
	 * sixteen in all, which count nothing there; of a shorter row, with zeros
	 * behind them.
	 */
	for (int j = whole; j < dim; j++)
		last[dim < NW_LANES ? j : j - dim + NW_LANES] = t[j];
#endif

	/* some rows side by side, at the end the first of them several times */
	for (int i = 0; i < n; i += VEC_CODE_ROWS)
	{
		int rows = n - i < VEC_CODE_ROWS ? n - i : VEC_CODE_ROWS;
		const int8_t *row[VEC_CODE_ROWS];
		vf acc[VEC_CODE_ROWS][FLOAT_GROUPS];
		vf sum[VEC_CODE_ROWS];

		UNROLL
		for (int r = 0; r < VEC_CODE_ROWS; r++)
		{
			row[r] = code + (int64_t) (r < rows ? i + r : i) * dim;
			UNROLL
			for (int g = 0; g < FLOAT_GROUPS; g++)
				acc[r][g] = vf_all(0);
		}
		for (int j = 0; j < whole; j += NW_LANES)
		{
			if (j % 64 == 0)
			{
				UNROLL
				for (int r = 0; r < VEC_CODE_ROWS; r++)
					prefetch((uintptr_t) (row[r] + j) + nw_simd_ahead);
			}
			code_step(acc, t + j, row, j, NW_LANES);
		}
		if (whole < dim)
		{
#if VEC_MASKS
			code_step(acc, t + whole, row, whole, dim - whole);
#else
			for (int r = 0; dim < NW_LANES && r < VEC_CODE_ROWS; r++)
				row[r] = memcpy(padded[r], row[r], dim);
			code_step(acc, last, row, dim < NW_LANES ? 0 : dim - NW_LANES, NW_LANES);
#endif
		}
		UNROLL
		for (int r = 0; r < VEC_CODE_ROWS; r++)
			sum[r] = fold_float_groups(acc[r]);
		if (VEC_CODE_ROWS == 1 || rows == VEC_CODE_ROWS)
			vf_fold_codes(sum, out + i);
		else
		{
			float rest[VEC_CODE_ROWS];

			vf_fold_codes(sum, rest);
			memcpy(out + i, rest, sizeof(float) * rows);
		}
	}
}

static TARGET double
code_middles(const NwCodeLine *line, const float *dots, const float *scale, const float *more,
             int n, double *out)
{
	vd least = vd_all(HUGE_VAL);
	double rest = HUGE_VAL;
	double first;
	int i = 0;

	for (; MORE(i, n, VD); i += VD)
	{
		int k = LEFT(i, n, VD);
		vd middle =
			vd_mul_add(vd_all(line->plus), vd_load_floats_upto(more + i, k), vd_all(line->base));

		middle = vd_triple(vd_all(line->times), vd_load_floats_upto(scale + i, k),
		                   vd_load_floats_upto(dots + i, k), middle);
		least = vd_min(VEC_MASKS ? vd_pick(vm_first(k), middle, least) : middle, least);
		vd_store_upto(out + i, middle, k);
	}
	if (!VEC_MASKS)
		rest = nw_simd_scalar.code_middles(line, dots + i, scale + i, more + i, n - i, out + i);
	first = vd_least(least);
	return first < rest ? first : rest;
}

static TARGET void
code_ranges(const NwCodeLine *line, const float *dots, const float *scale, const float *more, int n,
            double *low, double *high)
{
	int i = 0;

	for (; MORE(i, n, VD); i += VD)
	{
		int k = LEFT(i, n, VD);
		vd s = vd_load_floats_upto(scale + i, k);
		vd m = vd_load_floats_upto(more + i, k);
		vd middle = vd_mul_add(vd_all(line->plus), m, vd_all(line->base));
		vd slack = vd_mul_add(vd_all(line->share), m, vd_all(line->slack));

		middle = vd_triple(vd_all(line->times), s, vd_load_floats_upto(dots + i, k), middle);
		slack = vd_mul_add(vd_all(line->step), s, slack);

		/* of two numbers one of which is none, these give the second */
		vd_store_upto(low + i, vd_max(middle - slack, vd_all(line->least)), k);
		vd_store_upto(high + i, vd_min(middle + slack, vd_all(HUGE_VAL)), k);
	}
	if (!VEC_MASKS)
		nw_simd_scalar.code_ranges(line, dots + i, scale + i, more + i, n - i, low + i, high + i);
}

static TARGET void
code_scores(const float *error, int n, bool square, double near, double far, double *low,
            double *high)
{
	int i = 0;

	for (; MORE(i, n, VD); i += VD)
	{
		int k = LEFT(i, n, VD);
		vd e = vd_load_floats_upto(error + i, k);
		vd least = vd_max(vd_load_upto(low + i, k, 0) - e, vd_all(0));
		vd most = vd_load_upto(high + i, k, 0) + e;

		if (square)
		{
			least = least * least;
			most = most * most;
		}
		vd_store_upto(low + i, most * far, k);
		vd_store_upto(high + i, least * near, k);
	}
	if (!VEC_MASKS)
		nw_simd_scalar.code_scores(error + i, n - i, square, near, far, low + i, high + i);
}

static TARGET void
code_cosines(const float *norm, int n, float least, double share, double slack, double *low,
             double *high)
{
	int i = 0;

	for (; MORE(i, n, VD); i += VD)
	{
		int k = LEFT(i, n, VD);
		vd x = vd_load_floats_upto(norm + i, k);
		vd divisor = vd_divisor(x);
		vd a = vd_divide(vd_load_upto(low + i, k, 0), divisor);
		vd b = vd_divide(vd_load_upto(high + i, k, 0), divisor);
		vm small = vd_lt(x, vd_all(least));
		vd any = vd_if(vd_gt(x, vd_all(0)), vd_all(1));

		a = a - vd_mul_add(vd_abs(a), vd_all(share), vd_all(slack));
		b = b + vd_mul_add(vd_abs(b), vd_all(share), vd_all(slack));
		a = vd_pick(small, -any, a);
		b = vd_pick(small, any, b);

		/* of two numbers one of which is none, these give the second */
		vd_store_upto(low + i, vd_max(a, vd_all(-1)), k);
		vd_store_upto(high + i, vd_min(b, vd_all(1)), k);
	}
	if (!VEC_MASKS)
		nw_simd_scalar.code_cosines(norm + i, n - i, least, share, slack, low + i, high + i);
}
