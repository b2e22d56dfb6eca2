/*
 * math/simd/simd.c
 *		The choice of the inner loops.
 */
#include "math/simd/simd.h"

#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "math/simd/avx2.h"
#include "math/simd/avx512.h"
#include "math/simd/neon.h"
#include "math/simd/scalar.h"

/* The implementation in use; scalar until nw_simd_init() has been called. */
const NwSimd *nw_simd = &nw_simd_scalar;
int nw_simd_ahead = NW_PREFETCH_BYTES;

#if defined(__x86_64__)

/* What the CPU can do, and the system lets it do. */
typedef struct Features
{
	bool avx2;   /* with FMA and F16C */
	bool avx512; /* F, DQ, BW and VL besides */
} Features;

/* Registers that the system saves: YMM, and ZMM with the masks. */
#define SAVES_AVX 0x06
#define SAVES_AVX512 0xe6

/*
 * Ask the CPU.  __builtin_cpu_supports() would do, but it asks for everything,
 * whenever the module is loaded, and in a virtual machine each question is one
 * to the hypervisor.
 */
static Features
cpu_features(void)
{
	const unsigned int first = bit_FMA | bit_F16C | bit_OSXSAVE;
	const unsigned int wide = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
	Features features = {false, false};
	unsigned int eax, ebx, ecx, edx, saved, high;

	__cpuid(0, eax, ebx, ecx, edx);
	if (eax < 7)
		return features;
	__cpuid(1, eax, ebx, ecx, edx);
	if ((ecx & first) != first)
		return features;
	__asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
	__cpuid_count(7, 0, eax, ebx, ecx, edx);
	features.avx2 = (ebx & bit_AVX2) != 0 && (saved & SAVES_AVX) == SAVES_AVX;
	features.avx512 =
		features.avx2 && (ebx & wide) == wide && (saved & SAVES_AVX512) == SAVES_AVX512;
	return features;
}

#endif /* __x86_64__ */

/* The named implementation, or NULL where this machine cannot run it. */
const NwSimd *
nw_simd_find(const char *name)
{
#if defined(__x86_64__)
	if (strcmp(name, nw_simd_avx512.name) == 0)
		return cpu_features().avx512 ? &nw_simd_avx512 : NULL;
	if (strcmp(name, nw_simd_avx2.name) == 0)
		return cpu_features().avx2 ? &nw_simd_avx2 : NULL;
#endif
#if defined(__AARCH64EL__)
	if (strcmp(name, nw_simd_neon.name) == 0)
		return &nw_simd_neon;
#endif
	if (strcmp(name, nw_simd_scalar.name) == 0)
		return &nw_simd_scalar;
	return NULL;
}

/* Choose the fastest implementation for this machine. */
void
nw_simd_init(void)
{
	nw_simd = nw_simd_find("avx512");
	if (nw_simd == NULL)
		nw_simd = nw_simd_find("avx2");
	if (nw_simd == NULL)
		nw_simd = nw_simd_find("neon");
	if (nw_simd == NULL)
		nw_simd = &nw_simd_scalar;
}
