// The runtime must not keep files open to follow the processors that a control group leaves
// to the process. The number of threads that run Go at once is set once below.
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

package main

/*
#cgo CFLAGS: -std=c11 -D_GNU_SOURCE -I${SRCDIR}/../include -ftls-model=initial-exec -fvisibility=hidden -O2 -Wall -Wextra -Wno-unused-parameter
#cgo LDFLAGS: -Wl,--wrap=pthread_create -Wl,--wrap=mmap
#include <stdlib.h>
#include "bridge.h"
*/
import "C"

import (
	"math"
	"runtime"
	"runtime/debug"
	"unsafe"

	"ferrum_mem/capi/largeblocks"
	"ferrum_mem/capi/mirrors"
	"ferrum_mem/capi/threadcache"
	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/drivers"
	"ferrum_mem/drivers/host"
	"ferrum_mem/engines"
	// A change of a header gives this package a new build.
	_ "ferrum_mem/include"
)

func main() {}

// lib is the process's library. It is created when the shared library is loaded, and
// started by ferrum_init.
var lib = library.New(library.Options{
	Drivers:        makeDrivers,
	Prepare:        needs.prepare,
	WatchHandlers:  watchHandlers,
	InsideCallback: insideCallback,
	MayNotWait:     mayNotWait,
	ThreadCaches:   threadcache.Caches{},
	Mirrors:        mirrors.Mirrors{},
	Lending:        largeblocks.Places{},
	Engines:        engines.List(),
	DLPack:         dlpackStructs{},
	Host:           hostInfo,
	Surveyors:      drivers.Surveyors(),
	ProbeHelpers:   probeHelpers(),
	Environ:        environ,
	Getenv:         getenv,
	CallSites:      callSites(),
})

// loader is the part of the library that opens files of weights.
var loader = &lib.Loader

// tensors is the part of the library that makes tensors.
var tensors = &lib.Tensors

// computes is the part of the library that opens backends.
var computes = &lib.Computes

// executors is the part of the library that builds models.
var executors = &lib.Executors

// kvCaches is the part of the library that makes KV caches.
var kvCaches = &lib.KVCaches

// layers is the part of the library that has the layer types of the program.
var layers = &lib.Layers

// The environment of the host process is not meant for the runtime of this library. A
// memory limit or a disabled collector would starve or flood the library, and an unset
// collector costs wake-ups. The limit on open files belongs to the host process.
func init() {
	C.fm_restore_file_limit()
	debug.SetGCPercent(100)
	debug.SetMemoryLimit(math.MaxInt64)
	runtime.GOMAXPROCS(max(runtime.NumCPU(), 2))
	device.OnWorkerPanic(func(name string, value any, stack []byte) {
		C.fm_poison()
		lib.ReportDefect("worker "+name, value, stack)
	})
}

func makeDrivers(s library.Settings) ([]device.Driver, error) {
	return drivers.New(drivers.Settings{
		Host:   host.Config{Devices: s.HostDevices, MemoryBytes: s.HostMemoryBytes, MemoryForced: s.HostMemoryForced},
		Getenv: getenv,
	})
}

// getenv reads the current environment of the process. Go's own copy is from the start of
// the process, and a host program may set variables before ferrum_init.
func getenv(name string) string {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	return C.GoString(C.secure_getenv(text))
}

// insideCallback states whether the calling thread runs the callback with that token or,
// for 0, any callback.
func insideCallback(token uint64) bool {
	if token == 0 {
		return C.fm_inside_now() != C.FM_INSIDE_NOTHING
	}
	return C.fm_is_inside(C.uint64_t(token)) != 0
}

// mayNotWait states whether the calling thread runs a reclaim callback or a host function.
// There an allocation must neither wait for streams nor call reclaim callbacks.
func mayNotWait() bool {
	inside := C.fm_inside_now()
	return inside == C.FM_INSIDE_RECLAIM || inside == C.FM_INSIDE_HOST_FUNCTION
}
