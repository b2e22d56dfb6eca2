/*
 * math/window.h: windows that move over images.
 */
#ifndef NW_WINDOW_H
#define NW_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

/* pairs are height and width */
typedef struct NwWindow
{
	int64_t kernel[2];
	int64_t stride[2];
	int64_t pad[4]; /* top, left, bottom, right */
	int64_t dilation[2];
	int64_t group;  /* channels are cut into so many groups, each with its own weights */
	bool count_pad; /* average pooling: padding counts */
} NwWindow;

NwWindow nw_window(int64_t kernel, int64_t stride, int64_t pad);
int64_t nw_window_out(int64_t size, const NwWindow *win, int axis);

#endif
