/*
 * ort/probe.h: the choice of a device.
 */
#ifndef NW_PROBE_H
#define NW_PROBE_H

#include "ort/device.h"
#include "ort/runtime.h"

NwDevice nw_device_choose(NwRuntime *rt, NwDevice wanted);

#endif
