/*
 * ort/device.h: the names of devices.
 */
#ifndef NW_DEVICE_H
#define NW_DEVICE_H

#include <stdbool.h>

typedef enum NwDevice
{
	NW_DEVICE_AUTO,
	NW_DEVICE_CPU,
	NW_DEVICE_WEBGPU,
	NW_DEVICE_CUDA
} NwDevice;

bool nw_device_parse(const char *text, NwDevice *device);
const char *nw_device_name(int device);

#endif
