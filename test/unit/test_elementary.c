/*
 * test_elementary.c
 *		log, log1p and exp: their digits, their limits, and that they have the
 *		same bits whatever the compiler.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "math/elementary.h"

/* How far a result may be from the truth, in units of its last place. */
#define MOST 0.95

#define ROUNDS 300000

typedef double (*Function)(double);
typedef long double (*Reference)(long double);

/* An argument and the result, rounded correctly from 400 bits. */
typedef struct Point
{
	double x;
	double y;
} Point;

static const Point log_points[] = {{0x1p+0, 0x0p+0},
                                   {0x1p+1, 0x1.62e42fefa39efp-1},
                                   {0x1p-1, -0x1.62e42fefa39efp-1},
                                   {0x1.4p+3, 0x1.26bb1bbb55516p+1},
                                   {0x1.5bf0a8b145769p+1, 0x1p+0},
                                   {0x1.fffffffffffffp-1, -0x1p-53},
                                   {0x1.0000000000001p+0, 0x1.fffffffffffffp-53},
                                   {0x1.6a09e667f3bccp-1, -0x1.62e42fefa39f1p-2},
                                   {0x1.6a09e667f3bcdp-1, -0x1.62e42fefa39eep-2},
                                   {0x1.6a09e667f3bcdp+0, 0x1.62e42fefa39fp-2},
                                   {0x1.6a09e667f3bccp+0, 0x1.62e42fefa39eep-2},
                                   {0x0.0000000000001p-1022, -0x1.74385446d71c3p+9},
                                   {0x1p-1022, -0x1.6232bdd7abcd2p+9},
                                   {0x1.fffffffffffffp+1023, 0x1.62e42fefa39efp+9},
                                   {0x1.bff2ee48e053p-333, -0x1.cc845b54b54f2p+7},
                                   {0x1.249ad2594c37dp+332, 0x1.cc845b54b54f2p+7},
                                   {0x1.8p+1, 0x1.193ea7aad030bp+0},
                                   {0x1.999999999999ap-4, -0x1.26bb1bbb55515p+1}};

static const Point log1p_points[] = {{-0x1p-1, -0x1.62e42fefa39efp-1},
                                     {-0x1p-2, -0x1.269621134db92p-2},
                                     {-0x1.28f5c28f5c28fp-2, -0x1.5eb5c7907e4c8p-2},
                                     {-0x1.28f32378ab0c9p-2, -0x1.5eb216603577p-2},
                                     {0x1.a3d70a3d70a3dp-2, 0x1.5fd5fabe64085p-2},
                                     {0x1.a3bcd35a85879p-2, 0x1.5fc36314be4dcp-2},
                                     {-0x1.fffffffffffffp-1, -0x1.25e4f7b2737fap+5},
                                     {0x1p+0, 0x1.62e42fefa39efp-1},
                                     {0x1.79ca10c924223p-67, 0x1.79ca10c924223p-67},
                                     {-0x1.79ca10c924223p-67, -0x1.79ca10c924223p-67},
                                     {0x1.5798ee2308c3ap-27, 0x1.5798ee0636111p-27},
                                     {-0x1.5798ee2308c3ap-27, -0x1.5798ee3fdb764p-27},
                                     {0x1p-54, 0x1p-54},
                                     {-0x1p-53, -0x1p-53},
                                     {0x0.0000000000001p-1022, 0x0.0000000000001p-1022},
                                     {0x1.1c37937e08p+53, 0x1.26bb1bbb55516p+5},
                                     {0x1.fffffffffffffp+1023, 0x1.62e42fefa39efp+9},
                                     {0x1p+53, 0x1.25e4f7b2737fap+5},
                                     {0x1.ffffffaa19c47p-1, 0x1.62e42fc4b0813p-1},
                                     {0x1.8p+1, 0x1.62e42fefa39efp+0}};

static const Point exp_points[] = {{0x0p+0, 0x1p+0},
                                   {0x1p+0, 0x1.5bf0a8b145769p+1},
                                   {-0x1p+0, 0x1.78b56362cef38p-2},
                                   {0x1.62e42fefa39efp-2, 0x1.6a09e667f3bccp+0},
                                   {-0x1.62e42fefa39efp-2, 0x1.6a09e667f3bcdp-1},
                                   {0x1.62e42fefa39fp-2, 0x1.6a09e667f3bcdp+0},
                                   {0x1.62e42fefa39efp+9, 0x1.fffffffffff2ap+1023},
                                   {-0x1.6232bdd7abcd2p+9, 0x1.000000000007cp-1022},
                                   {-0x1.74910d52d3051p+9, 0x0.0000000000001p-1022},
                                   {-0x1.7490a3d70a3d7p+9, 0x0.0000000000001p-1022},
                                   {-0x1.72p+9, 0x0.0000000000055p-1022},
                                   {0x1.79ca10c924223p-67, 0x1p+0},
                                   {0x1.9p+6, 0x1.3494a9b171bf5p+144},
                                   {-0x1.9p+6, 0x1.a8c1f14e2af5dp-145},
                                   {0x1.5ep+9, 0x1.d945df4f8ec8ep+1009}};

/* The unit in the last place of a number. */
static double
last_place(double y)
{
	int exponent;

	(void) frexp(y, &exponent);
	return fabs(y) < DBL_MIN ? 0x1p-1074 : ldexp(1, exponent - DBL_MANT_DIG);
}

/* Compare results with known ones. */
static void
check_points(const char *name, Function function, const Point *point, int n)
{
	for (int i = 0; i < n; i++)
	{
		double y = function(point[i].x);

		CHECK(fabs(y - point[i].y) <= last_place(point[i].y), "%s(%a): %a, not %a", name,
		      point[i].x, y, point[i].y);
	}
}

/* Draw any positive number. */
static double
draw_any(void)
{
	uint64_t bits = check_random() % UINT64_C(0x7ff0000000000000);
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* Compare results over a range with long double's. */
static void
check_range(const char *name, Function function, Reference reference, double low, double high)
{
	double worst = 0;
	double at = 0;

	/* where long double is double, there is nothing to compare with */
	if (LDBL_MANT_DIG <= DBL_MANT_DIG)
		return;
	for (int i = 0; i < ROUNDS; i++)
	{
		double x = low < high ? check_uniform(low, high)
		           : low == 0 ? draw_any()
		                      : low + ldexp(check_uniform(-1, 1), -check_below(60));
		long double y = reference(x);
		double error;

		if (!(x > -1) && reference == log1pl)
			continue;
		error = (double) (fabsl(function(x) - y) / last_place((double) y));
		if (error > worst)
		{
			worst = error;
			at = x;
		}
	}
	CHECK(worst < MOST, "%s in %g .. %g: off by %.3f at %a", name, low, high, worst, at);
}

/* Check zeros, infinities and what has no result. */
static void
check_limits(void)
{
	CHECK(nw_log(1) == 0 && !signbit(nw_log(1)), "log(1)");
	CHECK(nw_log(0) == -HUGE_VAL && nw_log(-0.0) == -HUGE_VAL, "log(0)");
	CHECK(nw_log(HUGE_VAL) == HUGE_VAL, "log(infinity)");
	CHECK(isnan(nw_log(-1)) && isnan(nw_log(-HUGE_VAL)) && isnan(nw_log(NAN)),
	      "log of no positive number");

	CHECK(nw_log1p(0) == 0 && !signbit(nw_log1p(0)), "log1p(0)");
	CHECK(nw_log1p(-0.0) == 0 && signbit(nw_log1p(-0.0)), "log1p(-0)");
	CHECK(nw_log1p(-1) == -HUGE_VAL, "log1p(-1)");
	CHECK(nw_log1p(HUGE_VAL) == HUGE_VAL, "log1p(infinity)");
	CHECK(isnan(nw_log1p(-1.5)) && isnan(nw_log1p(-HUGE_VAL)) && isnan(nw_log1p(NAN)),
	      "log1p below -1");

	CHECK(nw_exp(0) == 1 && nw_exp(-0.0) == 1, "exp(0)");
	CHECK(nw_exp(HUGE_VAL) == HUGE_VAL && nw_exp(710) == HUGE_VAL && nw_exp(709.79) == HUGE_VAL,
	      "exp overflows");
	CHECK(nw_exp(-HUGE_VAL) == 0 && nw_exp(-745.2) == 0 && nw_exp(-DBL_MAX) == 0, "exp underflows");
	CHECK(isnan(nw_exp(NAN)), "exp of none");
}

/* Check that a larger argument has no smaller result, across the seams. */
static void
check_order(const char *name, Function function, double from)
{
	double before = function(from);

	for (int i = 0; i < 2000; i++)
	{
		double y;

		from = nextafter(from, HUGE_VAL);
		y = function(from);
		CHECK(y >= before - last_place(before), "%s(%a): %a after %a", name, from, y, before);
		before = y;
	}
}

/*
 * Check the bits of many results: no compiler and no processor may have others.
 * The sum of their hashes was taken once.
 */
static void
check_bits(void)
{
	uint64_t hash = 0;

	for (int i = 0; i < 20000; i++)
	{
		double x;
		double y[3];
		uint64_t bits[3];

		y[0] = nw_log(draw_any());
		x = check_uniform(-1, 3);
		y[1] = nw_log1p(i % 2 ? x : ldexp(x, -check_below(60)));
		y[2] = nw_exp(check_uniform(-750, 712));
		memcpy(bits, y, sizeof(bits));
		for (int k = 0; k < 3; k++)
			hash = (hash ^ bits[k]) * UINT64_C(0x9e3779b97f4a7c15) + (hash >> 29);
	}
	CHECK(hash == UINT64_C(0x119ebaf022c3a435), "%#llx", (unsigned long long) hash);
}

int
main(void)
{
	check_start("elementary");
	check_bits();
	check_points("log", nw_log, log_points, (int) (sizeof(log_points) / sizeof(Point)));
	check_points("log1p", nw_log1p, log1p_points, (int) (sizeof(log1p_points) / sizeof(Point)));
	check_points("exp", nw_exp, exp_points, (int) (sizeof(exp_points) / sizeof(Point)));

	check_range("log", nw_log, logl, 0.5, 2);
	check_range("log", nw_log, logl, 0.70, 0.7072);
	check_range("log", nw_log, logl, 1.41, 1.4143);
	check_range("log", nw_log, logl, 2, 1000);
	check_range("log", nw_log, logl, 1, 1);
	check_range("log", nw_log, logl, 0, 0);
	check_range("log1p", nw_log1p, log1pl, -1, -0.29);
	check_range("log1p", nw_log1p, log1pl, -0.29, 0.41);
	check_range("log1p", nw_log1p, log1pl, 0.41, 3);
	check_range("log1p", nw_log1p, log1pl, -1, -1);
	check_range("log1p", nw_log1p, log1pl, 0, 0);
	check_range("exp", nw_exp, expl, -1, 1);
	check_range("exp", nw_exp, expl, -708, 709.7);
	check_range("exp", nw_exp, expl, -745, -708);

	check_limits();
	check_order("log", nw_log, 0x1.6a09e667f3p-1);
	check_order("log", nw_log, 0x1.6a09e667f3p+0);
	check_order("log", nw_log, 0x1.fffffffffff00p-1);
	check_order("log1p", nw_log1p, nextafter(-0.29, -1) - 0x1p-45);
	check_order("log1p", nw_log1p, 0.41 - 0x1p-45);
	check_order("exp", nw_exp, 0x1.62e42fefa3p-2);
	check_order("exp", nw_exp, -0x1.62e42fefa4p-2);
	return check_finish();
}
