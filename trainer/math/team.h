/*
 * math/team.h: who shares a computation's work.
 */
#ifndef NW_TEAM_H
#define NW_TEAM_H

#include <stddef.h>

/* run() calls fn(arg, i) for each i below n, on as many threads as it has */
typedef struct NwTeam
{
	int threads;
	void (*run)(void *state, void (*fn)(void *arg, size_t i), size_t n, void *arg);
	void *state;
} NwTeam;

#endif
