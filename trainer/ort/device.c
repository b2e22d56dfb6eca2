/*
 * ort/device.c: the names of devices.
 */
#include "ort/device.h"
#include "base/memory.h"

static const char *const device_names[] = {"auto", "cpu", "webgpu", "cuda"};

/* The name of a device; NULL past the last one. */
const char *
nw_device_name(int device)
{
	return device < NW_LENGTH(device_names) ? device_names[device] : NULL;
}
