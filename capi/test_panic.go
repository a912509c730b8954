//go:build ferrum_test_exports

package main

/*
#include "bridge.h"
*/
import "C"

import "ferrum_mem/core/device"

// fmgo_test_panic panics in the calling thread, or in a worker of the library, and waits
// for the end of that worker.
//
//export fmgo_test_panic
func fmgo_test_panic(inWorker C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	if inWorker != 0 {
		<-device.Go("test", func() { panic("provoked in a worker") })
		return 0
	}
	panic("provoked in a call")
}
