package mappedfiles

/*
#cgo CFLAGS: -std=c11 -D_GNU_SOURCE -I${SRCDIR}/../../include -fvisibility=hidden -O2 -Wall -Wextra -Wno-unused-parameter
#include "mapped.h"
*/
import "C"

import (
	"embed"
	"unsafe"

	"ferrum_mem/core/weights/diskfile"
)

// Source is the text of the headers. A change of it gives the packages that include them a new build.
//
//go:embed *.h
var Source embed.FS

// Watch watches a mapping; diskfile.OnMap takes it.
func Watch(mapping []byte, fd int) (diskfile.Watch, error) {
	start := uintptr(unsafe.Pointer(unsafe.SliceData(mapping)))
	at, err := C.fm_mapped_watch(C.uintptr_t(start), C.size_t(len(mapping)), C.int(fd))
	if at == nil {
		return nil, err
	}
	return watched{at}, nil
}

// watched is a range in the list of the handler.
type watched struct{ at *C.struct_fm_mapped }

func (w watched) IsDamaged() bool { return bool(C.fm_mapped_is_damaged(w.at)) }

func (w watched) End() { C.fm_mapped_end(w.at) }
