package main

/*
#include "bridge.h"
*/
import "C"

import "ferrum_mem/core/device"

// recordsOf reads the structs of a caller's array.
func recordsOf[To, From any](name string, array *From, count C.uint64_t, read func(string, *From) (To, error)) ([]To, error) {
	given, err := structsOf(name, array, count)
	if err != nil {
		return nil, err
	}
	all := make([]To, len(given))
	for i := range given {
		if all[i], err = read(name, &given[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// flagsOf is a set of flags, of which none may be unknown.
func flagsOf(name string, flags, known C.uint32_t, names string) (uint32, error) {
	if flags&^known != 0 {
		return 0, device.Errorf(device.CodeInvalidArgument, "capi.flags", "%s is %#x: %s known", name, uint32(flags), names)
	}
	return uint32(flags), nil
}
