package mirrors

/*
#cgo CFLAGS: -std=c11 -D_GNU_SOURCE -I${SRCDIR}/../../include -fvisibility=hidden -O2 -Wall -Wextra -Wno-unused-parameter
#include "mirror.h"
*/
import "C"

import (
	"unsafe"

	// Its C counts what the caches of a pool hold.
	_ "ferrum_mem/capi/threadcache"
	"ferrum_mem/core/mirror"
	"ferrum_mem/core/track"
)

// Mirrors are the places in memory of C where the books are shown.
type Mirrors struct{}

// Both sides have the same layout.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(mirror.Device{})-unsafe.Sizeof(C.struct_fm_mirror{})]
	_ = [1]struct{}{}[unsafe.Sizeof(mirror.Pool{})-unsafe.Sizeof(C.struct_fm_mirror_pool{})]
	_ = [1]struct{}{}[unsafe.Offsetof(mirror.Device{}.Pool)-unsafe.Offsetof(C.struct_fm_mirror{}.pool)]
	_ = [1]struct{}{}[unsafe.Offsetof(mirror.Device{}.Books)-unsafe.Offsetof(C.struct_fm_mirror{}.handle)]
	_ = [1]struct{}{}[unsafe.Offsetof(mirror.Device{}.Books)+unsafe.Offsetof(mirror.DeviceBooks{}.Partial)-unsafe.Offsetof(C.struct_fm_mirror{}.partial)]
	_ = [1]struct{}{}[unsafe.Offsetof(mirror.Device{}.Books)+unsafe.Offsetof(mirror.DeviceBooks{}.TakenAt)-unsafe.Offsetof(C.struct_fm_mirror{}.taken_at)]
	_ = [1]struct{}{}[unsafe.Offsetof(mirror.Pool{}.Books)+unsafe.Offsetof(mirror.PoolBooks{}.ReturnedBytes)-unsafe.Offsetof(C.struct_fm_mirror_pool{}.returned_bytes)]
	_ = [1]struct{}{}[unsafe.Offsetof(mirror.Pool{}.Books)+unsafe.Offsetof(mirror.PoolBooks{}.LargestFreeBytes)-unsafe.Offsetof(C.struct_fm_mirror_pool{}.largest_free_bytes)]
	_ = [1]struct{}{}[mirror.BandwidthKnown-C.FM_MIRROR_BANDWIDTH_KNOWN]
)

// Of gives a device its place: the handle's slot is nobody else's while it is good.
func (Mirrors) Of(handle uint64) *mirror.Device {
	return (*mirror.Device)(unsafe.Pointer(C.fm_mirror_of(C.uint64_t(handle))))
}

// Running says whether anything may be read.
func (Mirrors) Running(on bool) { C.fm_mirror_running(C.bool(on)) }

// clockLooks is how often the two clocks are compared: a look may be interrupted.
const clockLooks = 8

// The clock of C has to be that of the core: of each look the time between the two
// readings is what it is off by, so that an age is never too low.
func init() {
	since := C.uint64_t(0)
	for range clockLooks {
		now := C.fm_clock_ns()
		since = max(since, now-C.uint64_t(track.Now()))
	}
	C.fm_mirror_since(since)
}
