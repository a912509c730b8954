package main

/*
#include "bridge.h"
*/
import "C"

import "ferrum_mem/core/device"

// flagsOf reads a set of flags and rejects unknown flags.
func flagsOf(name string, flags, known C.uint32_t, names string) (uint32, error) {
	if flags&^known != 0 {
		return 0, device.Errorf(device.CodeInvalidArgument, "capi.flags", "%s is %#x: %s known", name, uint32(flags), names)
	}
	return uint32(flags), nil
}
