/*
 * base/hush.h: keep aside what libraries write to stderr.
 */
#ifndef NW_HUSH_H
#define NW_HUSH_H

void nw_hush(void);
void nw_unhush(void);
void nw_hush_failed(void);

#endif
