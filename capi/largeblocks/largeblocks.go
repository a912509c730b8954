package largeblocks

/*
#cgo CFLAGS: -std=c11 -D_GNU_SOURCE -I${SRCDIR}/../../include -fvisibility=hidden -O2 -Wall -Wextra -Wno-unused-parameter
#include "large.h"
#include "loan.h"
#include "pages.h"
#include "places.h"
*/
import "C"

import (
	"embed"
	"unsafe"

	"ferrum_mem/core/lending"
)

// Source is the text of the headers. A change of it gives the packages that include them a new build.
//
//go:embed *.h
var Source embed.FS

// Places has the C memory in which pools lend their tables.
type Places struct{}

// Both sides have the same layout.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(lending.State{})-unsafe.Sizeof(C.struct_fm_loan{})]
	_ = [1]struct{}{}[unsafe.Offsetof(lending.State{}.Segment)-unsafe.Offsetof(C.struct_fm_loan{}.segment)]
	_ = [1]struct{}{}[unsafe.Offsetof(lending.State{}.Places)-unsafe.Offsetof(C.struct_fm_loan{}.places)]
	_ = [1]struct{}{}[unsafe.Offsetof(lending.State{}.Pages)-unsafe.Offsetof(C.struct_fm_loan{}.pages)]
	_ = [1]struct{}{}[unsafe.Offsetof(lending.State{}.Counters)-unsafe.Offsetof(C.struct_fm_loan{}.books)]
	_ = [1]struct{}{}[unsafe.Offsetof(lending.State{}.Queue)-unsafe.Offsetof(C.struct_fm_loan{}.completed)]
	_ = [1]struct{}{}[unsafe.Offsetof(lending.State{}.Tags)-unsafe.Offsetof(C.struct_fm_loan{}.tags)]
	_ = [1]struct{}{}[unsafe.Offsetof(lending.Places{}.LiveCount)-unsafe.Offsetof(C.struct_fm_loan_places{}.live_count)]
	_ = [1]struct{}{}[unsafe.Offsetof(lending.Places{}.FewOrder)-unsafe.Offsetof(C.struct_fm_loan_places{}.few_order)]
	_ = [1]struct{}{}[unsafe.Offsetof(lending.Places{}.FewAt)-unsafe.Offsetof(C.struct_fm_loan_places{}.few_at)]
	_ = [1]struct{}{}[unsafe.Offsetof(lending.Counters{}.Frees)-unsafe.Offsetof(C.struct_fm_loan_books{}.frees)]
	_ = [1]struct{}{}[unsafe.Offsetof(lending.Pages{}.Entries)-unsafe.Offsetof(C.struct_fm_loan_pages{}.entries)]
	_ = [1]struct{}{}[unsafe.Offsetof(lending.Pages{}.Edges)-unsafe.Offsetof(C.struct_fm_loan_pages{}.edges)]
	_ = [1]struct{}{}[unsafe.Sizeof(lending.Page{})-unsafe.Sizeof(C.struct_fm_page{})]
	_ = [1]struct{}{}[unsafe.Offsetof(lending.Page{}.Blocks)-unsafe.Offsetof(C.struct_fm_page{}.blocks)]
	_ = [1]struct{}{}[unsafe.Offsetof(lending.Page{}.Large)-unsafe.Offsetof(C.struct_fm_page{}.large)]
	_ = [1]struct{}{}[lending.TagsMost-C.FM_LOAN_TAGS]
	_ = [1]struct{}{}[lending.FewMost-C.FM_LOAN_FEW]
	_ = [1]struct{}{}[lending.FewAgain-C.FM_LOAN_FEW_AGAIN]
	_ = [1]struct{}{}[lending.Working-C.FM_LOAN_WORKING]
)

// Of returns the place of a pool; no other pool has the slot of a valid handle. nil means
// that the pool has no place.
func (Places) Of(handle uint64) *lending.State {
	return (*lending.State)(unsafe.Pointer(C.fm_large_place(C.uint64_t(handle))))
}

// alloc, free and usableSize are the calls of large.h for tests, which may not use cgo.
func alloc(pool, sizeBytes, alignmentBytes uint64, tag uint32) (address uint64, done bool) {
	var out C.uint64_t
	done = bool(C.fm_large_alloc(C.uint64_t(pool), C.uint64_t(sizeBytes), C.uint64_t(alignmentBytes), C.uint32_t(tag), &out))
	return uint64(out), done
}

func free(pool, address, requestedBytes uint64) (done bool) {
	return bool(C.fm_large_free(C.uint64_t(pool), C.uint64_t(address), C.uint64_t(requestedBytes)))
}

func usableSize(pool, address uint64) (sizeBytes uint64, done bool) {
	var out C.uint64_t
	done = bool(C.fm_large_usable_size(C.uint64_t(pool), C.uint64_t(address), &out))
	return uint64(out), done
}

// take and give allocate and free in tables of rangealloc alone, for tests.
func take(p *lending.Places, granules uint64) (slot uint32, done bool) {
	places := (*C.struct_fm_loan_places)(unsafe.Pointer(p))
	run := C.fm_places_find(places, C.uint64_t(granules))
	if run == 0 {
		return 0, false
	}
	made := C.fm_places_slot(places, run, C.uint64_t(granules))
	if made != 0 {
		C.fm_places_take(places, run, made, C.uint64_t(granules))
	}
	return uint32(made), made != 0
}

// taken is take; it returns the granule at which the block starts.
func taken(p *lending.Places, granules uint64) (granule uint64, done bool) {
	slot, done := take(p, granules)
	if !done {
		return 0, false
	}
	records := unsafe.Slice(C.fm_records((*C.struct_fm_loan_places)(unsafe.Pointer(p))), p.RecordCount)
	return uint64(records[slot].start), true
}

func give(p *lending.Places, granule uint64) (runGranules uint64, done bool) {
	places := (*C.struct_fm_loan_places)(unsafe.Pointer(p))
	link := C.fm_places_link(places, C.uint64_t(granule))
	if *link == 0 || !C.fm_places_may_give(places, *link) {
		return 0, false
	}
	return uint64(C.fm_places_give(places, link)), true
}

// touch and release add and subtract a block in a table of pages alone, for tests.
func touch(p *lending.Pages, offset, sizeBytes uint64) (done bool) {
	pages := (*C.struct_fm_loan_pages)(unsafe.Pointer(p))
	return bool(C.fm_pages_touch(pages, C.uint64_t(offset), C.uint64_t(sizeBytes)))
}

func release(p *lending.Pages, offset, sizeBytes uint64) (done bool) {
	pages := (*C.struct_fm_loan_pages)(unsafe.Pointer(p))
	return bool(C.fm_pages_release(pages, C.uint64_t(offset), C.uint64_t(sizeBytes)))
}
