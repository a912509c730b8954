package main

/*
#include "bridge.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"ferrum_mem/core/device"
)

// textsOf reads a list of texts of the caller, each as textOf does. It checks the count
// first, so that an invalid count does not size an allocation.
func textsOf(argument string, list **C.char, count C.uint64_t) ([]string, error) {
	if count > C.FERRUM_BATCH_MAX {
		return nil, device.Errorf(device.CodeInvalidArgument, "capi.texts",
			"count is %d: %s has at most %d", uint64(count), argument, uint64(C.FERRUM_BATCH_MAX))
	}
	texts := make([]string, 0, count)
	for i, text := range unsafe.Slice(list, int(count)) {
		if text == nil {
			return nil, device.Errorf(device.CodeNullPointer, "capi.texts", "%s[%d] is NULL", argument, i)
		}
		read, err := textOf(fmt.Sprintf("%s[%d]", argument, i), text)
		if err != nil {
			return nil, err
		}
		texts = append(texts, read)
	}
	return texts, nil
}
