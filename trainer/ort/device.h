/*
 * ort/device.h: the names of devices.
 */
#ifndef NW_DEVICE_H
#define NW_DEVICE_H

typedef enum NwDevice
{
	NW_DEVICE_AUTO,
	NW_DEVICE_CPU,
	NW_DEVICE_WEBGPU,
	NW_DEVICE_CUDA
} NwDevice;

const char *nw_device_name(int device);

#endif
