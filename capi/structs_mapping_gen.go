// Code generated from include/ferrum_mem/mapping.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import (
	"ferrum_mem/core/library"
	"ferrum_mem/core/manager"
)

// mapRequestOf reads a ferrum_map_request.
func mapRequestOf(_ string, from *C.ferrum_map_request) (to manager.MapRequest, err error) {
	read(&to.Access, from.access)
	read(&to.Memory, from.memory.id)
	read(&to.OffsetBytes, from.offset_bytes)
	read(&to.SizeBytes, from.size_bytes)
	return to, nil
}

// putMapping fills a ferrum_mapping.
func putMapping(to *C.ferrum_mapping, from *manager.Mapping) {
	setTruth(&to.is_staged, from.Staged)
	set(&to.mapping_id, from.ID)
	setPointer(&to.host_pointer, from.HostAddr)
	set(&to.size_bytes, from.SizeBytes)
}

// linkRequestOf reads a ferrum_link_request.
func linkRequestOf(argument string, from *C.ferrum_link_request) (to manager.LinkRequest, err error) {
	f := fields{argument: argument}
	f.reserved(uint64(from.reserved), "reserved")
	read(&to.SizeBytes, from.size_bytes)
	read(&to.AlignmentBytes, from.alignment_bytes)
	f.text(&to.Tag, from.tag, "tag")
	return to, f.err
}

// putUsageHints fills a ferrum_usage_hints.
func putUsageHints(to *C.ferrum_usage_hints, from *manager.Hints) {
	set(&to.order, from.Order)
	set(&to.direction, from.Direction)
	set(&to.lifetime, from.Lifetime)
}

// putAccessStats fills a ferrum_access_stats.
func putAccessStats(to *C.ferrum_access_stats, from *library.AccessStats) {
	setTruth(&to.is_tracked, from.Tracked)
	setTruth(&to.is_accessed, from.Accessed)
	set(&to.pattern, from.Pattern)
	set(&to.read_count, from.ReadCount)
	set(&to.write_count, from.WriteCount)
	set(&to.average_read_bytes, from.AvgReadBytes)
	set(&to.average_write_bytes, from.AvgWriteBytes)
	set(&to.last_access_ns, from.LastAccess)
}

// adoptionOf reads a ferrum_adoption.
func adoptionOf(argument string, from *C.ferrum_adoption) (to manager.Adoption, err error) {
	f := fields{argument: argument}
	read(&to.Type, from.memory_type)
	read(&to.Addr, from.address)
	read(&to.SizeBytes, from.size_bytes)
	f.text(&to.Tag, from.tag, "tag")
	f.truth(&to.ReadOnly, from.is_read_only, "is_read_only")
	f.reserved(uint64(from.reserved), "reserved")
	return to, f.err
}
