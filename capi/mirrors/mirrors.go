package mirrors

/*
#cgo CFLAGS: -std=c11 -D_GNU_SOURCE -I${SRCDIR}/../../include -fvisibility=hidden -O2 -Wall -Wextra -Wno-unused-parameter
#include "mirror.h"
*/
import "C"

import (
	"embed"
	"unsafe"

	// The C code of package threadcache counts the blocks of the caches.
	_ "ferrum_mem/capi/threadcache"
	"ferrum_mem/core/mirror"
	"ferrum_mem/core/track"
	// A change of a header gives this package a new build.
	_ "ferrum_mem/include"
)

// Source is the text of the headers. A change of it gives the packages that include them a new build.
//
//go:embed *.h
var Source embed.FS

// Mirrors are the places in C memory where the counters are published.
type Mirrors struct{}

// Both sides have the same layout.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(mirror.Device{})-unsafe.Sizeof(C.struct_fm_mirror{})]
	_ = [1]struct{}{}[unsafe.Sizeof(mirror.Pool{})-unsafe.Sizeof(C.struct_fm_mirror_pool{})]
	_ = [1]struct{}{}[unsafe.Offsetof(mirror.Device{}.Pool)-unsafe.Offsetof(C.struct_fm_mirror{}.pool)]
	_ = [1]struct{}{}[unsafe.Offsetof(mirror.Device{}.Counters)-unsafe.Offsetof(C.struct_fm_mirror{}.handle)]
	_ = [1]struct{}{}[unsafe.Offsetof(mirror.Device{}.Counters)+unsafe.Offsetof(mirror.DeviceCounters{}.Partial)-unsafe.Offsetof(C.struct_fm_mirror{}.partial)]
	_ = [1]struct{}{}[unsafe.Offsetof(mirror.Device{}.Counters)+unsafe.Offsetof(mirror.DeviceCounters{}.TakenAt)-unsafe.Offsetof(C.struct_fm_mirror{}.taken_at)]
	_ = [1]struct{}{}[unsafe.Offsetof(mirror.Pool{}.Counters)+unsafe.Offsetof(mirror.PoolCounters{}.ReturnedBytes)-unsafe.Offsetof(C.struct_fm_mirror_pool{}.returned_bytes)]
	_ = [1]struct{}{}[unsafe.Offsetof(mirror.Pool{}.Counters)+unsafe.Offsetof(mirror.PoolCounters{}.LargestFreeBytes)-unsafe.Offsetof(C.struct_fm_mirror_pool{}.largest_free_bytes)]
	_ = [1]struct{}{}[mirror.BandwidthKnown-C.FM_MIRROR_BANDWIDTH_KNOWN]
)

// Of returns the place of a device; no other device has the slot of a valid handle.
func (Mirrors) Of(handle uint64) *mirror.Device {
	return (*mirror.Device)(unsafe.Pointer(C.fm_mirror_of(C.uint64_t(handle))))
}

// Running states whether the counters may be read.
func (Mirrors) Running(on bool) { C.fm_mirror_running(C.bool(on)) }

// clockLooks is the number of comparisons of the two clocks. There are several, because
// one comparison may be interrupted.
const clockLooks = 8

// init computes the offset between the clock of C and the clock of the core. The longest
// measured offset is used, so that an age is never too low.
func init() {
	since := C.uint64_t(0)
	for range clockLooks {
		now := C.fm_clock_ns()
		since = max(since, now-C.uint64_t(track.Now()))
	}
	C.fm_mirror_since(since)
}
