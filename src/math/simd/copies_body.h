/*
 * math/simd/copies_body.h
 *		Distances to half-size copies: see copies.h.
 *
 * The result decides how much is computed, never what: so here, unlike in the
 * sums over rows, the implementations need not agree to the last bit.  All
 * keep to NW_LANES lanes, which the bound on their rounding counts on.
 */

static TARGET double
copies_copy(const float *x, int dim, double scale, double step, int16_t *copy)
{
	double inverse = 1 / step;
	vd acc = vd_all(0);
	double rest = 0;
	int j = 0;

	for (; MORE(j, dim, VD); j += VD)
	{
		int k = LEFT(j, dim, VD);
		vd value = vd_load_floats_upto(x + j, k) * scale;
		vd number = vd_min(value * inverse, vd_all(NW_COPY_MAX));
		vd missed;

		number = (vd_max(number, vd_all(-NW_COPY_MAX)) + ROUND) - ROUND;
		missed = vd_mul_sub(number, vd_all(step), value);
		acc = vd_mul_add(missed, missed, acc);
		vd_store_shorts_upto(copy + j, number, k);
	}
	if (!VEC_MASKS)
		rest = nw_simd_scalar.copies_copy(x + j, dim - j, scale, step, copy + j);
	return vd_add_lanes(rest, acc);
}

/* Accumulate the first k of sixteen dimensions of some rows. */
static INLINE void
copy_step(vf acc[][FLOAT_GROUPS], const float *t, const int16_t *const *copy, int j, int k)
{
	UNROLL
	for (int g = 0; g < FLOAT_GROUPS; g++)
	{
		if (k > g * VF)
		{
			vf part = vf_load_upto(t + j + g * VF, k - g * VF);

			vf_keep(part);
			UNROLL
			for (int r = 0; r < VEC_COPY_ROWS; r++)
			{
				vf diff = part - vf_load_shorts_upto(copy[r] + j + g * VF, k - g * VF);

				acc[r][g] = vf_mul_add(diff, diff, acc[r][g]);
			}
		}
	}
}

static TARGET void
copies_sqdist(const float *t, const int16_t *copy, int dim, int n, float *out)
{
	int whole = dim - dim % NW_LANES;

	/* some rows side by side, at the end the first of them several times */
	for (int i = 0; i < n; i += VEC_COPY_ROWS)
	{
		int rows = n - i < VEC_COPY_ROWS ? n - i : VEC_COPY_ROWS;
		const int16_t *row[VEC_COPY_ROWS];
		vf acc[VEC_COPY_ROWS][FLOAT_GROUPS];
		vf sum[VEC_COPY_ROWS];
		float rest[VEC_COPY_ROWS] = {0};

		UNROLL
		for (int r = 0; r < VEC_COPY_ROWS; r++)
		{
			row[r] = copy + (int64_t) (r < rows ? i + r : i) * dim;
			UNROLL
			for (int g = 0; g < FLOAT_GROUPS; g++)
				acc[r][g] = vf_all(0);
		}
		for (int j = 0; j < whole; j += NW_LANES)
		{
			if (j % 32 == 0)
			{
				UNROLL
				for (int r = 0; r < VEC_COPY_ROWS; r++)
					prefetch((uintptr_t) (row[r] + j) + NW_PREFETCH_BYTES);
			}
			copy_step(acc, t, row, j, NW_LANES);
		}
		if (VEC_MASKS && whole < dim)
			copy_step(acc, t, row, whole, dim - whole);
		UNROLL
		for (int r = 0; r < VEC_COPY_ROWS; r++)
		{
			for (int j = whole; !VEC_MASKS && j < dim; j++)
			{
				float diff = t[j] - row[r][j];

				rest[r] += diff * diff;
			}
			sum[r] = fold_float_groups(acc[r]);
		}
		if (VEC_MASKS && rows == VEC_COPY_ROWS)
			vf_fold_copies(sum, out + i);
		else
		{
			float folded[VEC_COPY_ROWS];

			vf_fold_copies(sum, folded);
			for (int r = 0; r < rows; r++)
				out[i + r] = folded[r] + rest[r];
		}
	}
}
