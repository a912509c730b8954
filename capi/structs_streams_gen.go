// Code generated from include/ferrum_mem/streams.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import "ferrum_mem/core/device"

// addressCopyOf reads a ferrum_address_copy.
func addressCopyOf(_ string, from *C.ferrum_address_copy) (to device.Move, err error) {
	read(&to.Src, from.source)
	read(&to.Dst, from.destination)
	read(&to.SizeBytes, from.size_bytes)
	return to, nil
}
