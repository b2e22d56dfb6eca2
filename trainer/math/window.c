/*
 * math/window.c: windows that move over images.
 */
#include "math/window.h"

/* Make a square window. */
NwWindow
nw_window(int64_t kernel, int64_t stride, int64_t pad)
{
	return (NwWindow) {.kernel = {kernel, kernel},
	                   .stride = {stride, stride},
	                   .pad = {pad, pad, pad, pad},
	                   .dilation = {1, 1},
	                   .group = 1};
}

/* Count the places of a window along an axis (0 height, 1 width). */
int64_t
nw_window_out(int64_t size, const NwWindow *win, int axis)
{
	int64_t reach = win->dilation[axis] * (win->kernel[axis] - 1) + 1;

	return (size + win->pad[axis] + win->pad[axis + 2] - reach) / win->stride[axis] + 1;
}
