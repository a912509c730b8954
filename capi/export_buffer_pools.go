package main

/*
#include "bridge.h"
*/
import "C"

import (
	"math"
	"unicode/utf8"
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/core/fallback"
	"ferrum_mem/core/library"
)

//export fmgo_memory_config_preset
func fmgo_memory_config_preset(preset C.int32_t, out *C.ferrum_memory_config) (status C.int32_t) {
	defer guard(&status)
	c, err := fallback.Preset(preset).Config()
	if err != nil {
		return fail(err)
	}
	out.flags = 0
	if c.CPUFallbackEnabled {
		out.flags = C.FERRUM_MEMORY_CPU_FALLBACK
	}
	out.gpu_memory_fraction, out.min_free_bytes = C.double(c.GPUMemoryFraction), C.uint64_t(c.MinFreeBytes)
	out.max_pooled_per_bucket, out.max_pooled_bytes = C.uint64_t(c.MaxPooledPerBucket), C.uint64_t(c.MaxPooledBytes)
	return 0
}

//export fmgo_memory_config_check
func fmgo_memory_config_check(config *C.ferrum_memory_config) (status C.int32_t) {
	defer guard(&status)
	c, err := memoryConfigOf(config)
	if err != nil {
		return fail(err)
	}
	return done(c.Check())
}

func putMemoryStats(out *C.ferrum_memory_stats, s fallback.MemoryStats) {
	out.total_allocated_bytes, out.in_use_bytes = C.uint64_t(s.TotalAllocatedBytes), C.uint64_t(s.InUseBytes)
	out.pooled_bytes, out.peak_bytes = C.uint64_t(s.PooledBytes), C.uint64_t(s.PeakBytes)
	out.pool_hits, out.pool_misses = C.uint64_t(s.PoolHits), C.uint64_t(s.PoolMisses)
	out.cpu_fallbacks, out.active_buffers = C.uint64_t(s.CPUFallbacks), C.uint64_t(s.ActiveBuffers)
}

func memoryStatsOf(s *C.ferrum_memory_stats) (fallback.MemoryStats, error) {
	if s.reserved != 0 {
		return fallback.MemoryStats{}, device.Errorf(device.CodeInvalidStruct, "capi.memory_stats",
			"stats->reserved is %d, not 0", uint32(s.reserved))
	}
	return fallback.MemoryStats{
		TotalAllocatedBytes: uint64(s.total_allocated_bytes), InUseBytes: uint64(s.in_use_bytes),
		PooledBytes: uint64(s.pooled_bytes), PeakBytes: uint64(s.peak_bytes), PoolHits: uint64(s.pool_hits),
		PoolMisses: uint64(s.pool_misses), CPUFallbacks: uint64(s.cpu_fallbacks), ActiveBuffers: uint64(s.active_buffers),
	}, nil
}

//export fmgo_memory_stats_ratios
func fmgo_memory_stats_ratios(stats *C.ferrum_memory_stats, out *C.ferrum_memory_ratios) (status C.int32_t) {
	defer guard(&status)
	s, err := memoryStatsOf(stats)
	if err != nil {
		return fail(err)
	}
	out.hit_rate, out.utilization = C.double(s.HitRate()), C.double(s.Utilization())
	out.efficiency = C.double(s.Efficiency())
	return 0
}

//export fmgo_memory_stats_merge
func fmgo_memory_stats_merge(stats, other, out *C.ferrum_memory_stats) (status C.int32_t) {
	defer guard(&status)
	a, err := memoryStatsOf(stats)
	if err != nil {
		return fail(err)
	}
	b, err := memoryStatsOf(other)
	if err != nil {
		return fail(err)
	}
	putMemoryStats(out, a.Merge(b))
	return 0
}

//export fmgo_memory_stats_text
func fmgo_memory_stats_text(stats *C.ferrum_memory_stats, buffer *C.char, capacity C.size_t, length *C.size_t) (status C.int32_t) {
	defer guard(&status)
	s, err := memoryStatsOf(stats)
	return giveText(buffer, capacity, length, []byte(s.String()), err)
}

//export fmgo_buffer_id_new
func fmgo_buffer_id_new(out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return give(out, fallback.NewBufferID(), nil)
}

//export fmgo_buffer_id_text
func fmgo_buffer_id_text(id C.uint64_t, buffer *C.char, capacity C.size_t, length *C.size_t) (status C.int32_t) {
	defer guard(&status)
	return giveText(buffer, capacity, length, []byte(fallback.BufferID(id).String()), nil)
}

// tagOf reads the fixed field of a tag.
func tagOf(field []C.char) (string, error) {
	text := make([]byte, 0, len(field))
	for _, c := range field {
		if c == 0 {
			if !utf8.Valid(text) {
				return "", device.Errorf(device.CodeInvalidArgument, "capi.metadata", "metadata->tag is not UTF-8: %q", text)
			}
			return string(text), nil
		}
		text = append(text, byte(c))
	}
	return "", device.Errorf(device.CodeInvalidArgument, "capi.metadata", "metadata->tag has no NUL in its %d bytes", len(field))
}

//export fmgo_tracker_track
func fmgo_tracker_track(handle C.uint64_t, metadata *C.ferrum_buffer_metadata) (status C.int32_t) {
	defer guard(&status)
	if metadata.reserved != 0 {
		return fail(device.Errorf(device.CodeInvalidStruct, "capi.metadata", "metadata->reserved is %d, not 0", uint32(metadata.reserved)))
	}
	tag, err := tagOf(metadata.tag[:])
	if err != nil {
		return fail(err)
	}
	return done(lib.TrackerTrack(uint64(handle), library.BufferRecord{
		ID: fallback.BufferID(metadata.buffer_id), SizeBytes: uint64(metadata.size_bytes),
		NumElements: uint64(metadata.num_elements), Age: ageOf(metadata.age_ns), Side: fallback.Side(metadata.location),
		Device: uint64(metadata.device.id), Tag: tag,
	}))
}

func putMetadata(out *C.ferrum_buffer_metadata, r library.BufferRecord) {
	*out = C.ferrum_buffer_metadata{
		buffer_id: C.uint64_t(r.ID), size_bytes: C.uint64_t(r.SizeBytes), num_elements: C.uint64_t(r.NumElements),
		age_ns: C.uint64_t(r.Age), device: C.ferrum_device{id: C.uint64_t(r.Device)}, location: C.int32_t(r.Side),
	}
	putText(out.tag[:], r.Tag)
}

//export fmgo_tracker_untrack
func fmgo_tracker_untrack(handle, buffer C.uint64_t, out *C.ferrum_buffer_metadata) (status C.int32_t) {
	defer guard(&status)
	r, err := lib.TrackerUntrack(uint64(handle), fallback.BufferID(buffer))
	if err != nil {
		return fail(err)
	}
	putMetadata(out, r)
	return 0
}

//export fmgo_tracker_get
func fmgo_tracker_get(handle, buffer C.uint64_t, out *C.ferrum_buffer_metadata) (status C.int32_t) {
	defer guard(&status)
	r, err := lib.TrackerGet(uint64(handle), fallback.BufferID(buffer))
	if err != nil {
		return fail(err)
	}
	putMetadata(out, r)
	return 0
}

// giveRecords writes records into the caller's array.
func giveRecords(out *C.ferrum_buffer_metadata, capacity C.size_t, count *C.size_t, records []library.BufferRecord, err error) C.int32_t {
	if err != nil {
		return fail(err)
	}
	*count = C.size_t(len(records))
	if capacity == 0 {
		return 0
	}
	if uint64(len(records)) > uint64(capacity) {
		return fail(device.Errorf(device.CodeBufferTooSmall, "capi.tracker", "capacity is %d: there are %d buffers",
			uint64(capacity), len(records)))
	}
	to := unsafe.Slice(out, len(records))
	for i, r := range records {
		putMetadata(&to[i], r)
	}
	return 0
}

//export fmgo_tracker_get_all
func fmgo_tracker_get_all(handle C.uint64_t, out *C.ferrum_buffer_metadata, capacity C.size_t, count *C.size_t) (status C.int32_t) {
	defer guard(&status)
	records, err := lib.TrackerGetAll(uint64(handle))
	return giveRecords(out, capacity, count, records, err)
}

//export fmgo_tracker_find_old
func fmgo_tracker_find_old(handle, ageNS C.uint64_t, out *C.ferrum_buffer_metadata, capacity C.size_t, count *C.size_t) (status C.int32_t) {
	defer guard(&status)
	records, err := lib.TrackerFindOld(uint64(handle), ageOf(ageNS))
	return giveRecords(out, capacity, count, records, err)
}

//export fmgo_tracker_get_totals
func fmgo_tracker_get_totals(handle C.uint64_t, out *C.ferrum_tracker_totals) (status C.int32_t) {
	defer guard(&status)
	totals, err := lib.TrackerGetTotals(uint64(handle))
	if err != nil {
		return fail(err)
	}
	out.count, out.total_bytes = C.uint64_t(totals.Count), C.uint64_t(totals.TotalBytes)
	out.peak_bytes = C.uint64_t(totals.PeakBytes)
	return 0
}

//export fmgo_generic_pool_create
func fmgo_generic_pool_create(config *C.ferrum_memory_config, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	c, err := memoryConfigOf(config)
	if err != nil {
		return fail(err)
	}
	handle, err := lib.GenericPoolCreate(c)
	return give(out, handle, err)
}

// useOf reads what a buffer is taken for.
func useOf(u *C.ferrum_buffer_use) (fallback.Use, error) {
	side := fallback.Side(u.location)
	if side != fallback.GPU && side != fallback.CPU {
		return fallback.Use{}, device.Errorf(device.CodeInvalidArgument, "capi.use",
			"use->location is %d: none of 0 and 1", int32(side))
	}
	tag, err := textOf("use->tag", u.tag)
	return fallback.Use{NumElements: uint64(u.num_elements), Location: fallback.BufferLocation{Side: side}, Tag: tag}, err
}

//export fmgo_generic_pool_record_allocation
func fmgo_generic_pool_record_allocation(handle, size C.uint64_t, use *C.ferrum_buffer_use, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	u, err := useOf(use)
	if err != nil {
		return fail(err)
	}
	id, err := lib.GenericPoolRecordAllocation(uint64(handle), uint64(size), u)
	return give(out, id, err)
}

func leaseOf(l *C.ferrum_buffer_lease) library.Lease {
	return library.Lease{Buffer: uint64(l.buffer), Bytes: uint64(l.size_bytes), ID: fallback.BufferID(l.buffer_id)}
}

func putLease(out *C.ferrum_buffer_lease, l library.Lease) {
	out.buffer, out.size_bytes, out.buffer_id = C.uint64_t(l.Buffer), C.uint64_t(l.Bytes), C.uint64_t(l.ID)
}

//export fmgo_generic_pool_try_get
func fmgo_generic_pool_try_get(handle, minBytes C.uint64_t, use *C.ferrum_buffer_use, out *C.ferrum_buffer_lease, found *C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	u, err := useOf(use)
	if err != nil {
		return fail(err)
	}
	lease, ok, err := lib.GenericPoolTryGet(uint64(handle), uint64(minBytes), u)
	if err != nil {
		return fail(err)
	}
	if ok {
		putLease(out, lease)
		*found = 1
	}
	return 0
}

//export fmgo_generic_pool_return
func fmgo_generic_pool_return(handle C.uint64_t, lease *C.ferrum_buffer_lease, kept *C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	ok, err := lib.GenericPoolReturn(uint64(handle), leaseOf(lease))
	if err != nil {
		return fail(err)
	}
	if ok {
		*kept = 1
	}
	return 0
}

//export fmgo_generic_pool_drain
func fmgo_generic_pool_drain(handle C.uint64_t, out *C.ferrum_buffer_lease, capacity C.size_t, count *C.size_t) (status C.int32_t) {
	defer guard(&status)
	leases, err := lib.GenericPoolDrain(uint64(handle), int(min(uint64(capacity), math.MaxInt32)))
	if err != nil {
		return fail(err)
	}
	*count = C.size_t(len(leases))
	if len(leases) == 0 {
		return 0
	}
	to := unsafe.Slice(out, len(leases))
	for i, l := range leases {
		putLease(&to[i], l)
	}
	return 0
}

//export fmgo_generic_pool_get_pooled_count
func fmgo_generic_pool_get_pooled_count(handle C.uint64_t, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	count, err := lib.GenericPoolGetPooledCount(uint64(handle))
	return give(out, uint64(count), err)
}

//export fmgo_generic_pool_get_stats
func fmgo_generic_pool_get_stats(handle C.uint64_t, out *C.ferrum_memory_stats) (status C.int32_t) {
	defer guard(&status)
	stats, err := lib.GenericPoolGetStats(uint64(handle))
	if err != nil {
		return fail(err)
	}
	putMemoryStats(out, stats)
	return 0
}
