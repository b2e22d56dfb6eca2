/*
 * base/clock.h: time that only goes forward.
 */
#ifndef NW_CLOCK_H
#define NW_CLOCK_H

double nw_now(void);

#endif
