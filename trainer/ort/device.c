/*
 * ort/device.c: the names of devices.
 */
#include <string.h>

#include "base/memory.h"
#include "ort/device.h"

static const char *const device_names[] = {"auto", "cpu", "webgpu", "cuda"};

bool
nw_device_parse(const char *text, NwDevice *device)
{
	for (int i = 0; i < NW_LENGTH(device_names); i++)
		if (strcmp(text, device_names[i]) == 0)
		{
			*device = (NwDevice) i;
			return true;
		}
	return false;
}

/* The name of a device; NULL past the last one. */
const char *
nw_device_name(int device)
{
	return device < NW_LENGTH(device_names) ? device_names[device] : NULL;
}
