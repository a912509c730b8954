// Code generated from include/ferrum_mem/fallback.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/fallback"
	"ferrum_mem/core/library"
)

// memoryConfigOf reads a ferrum_memory_config.
func memoryConfigOf(argument string, from *C.ferrum_memory_config) (to fallback.MemoryConfig, err error) {
	f := fields{argument: argument}
	f.known(from.flags, C.FERRUM_MEMORY_CPU_FALLBACK|C.FERRUM_MEMORY_TRACK_ALLOCATIONS|C.FERRUM_MEMORY_PRE_ALLOCATE, "only FERRUM_MEMORY_CPU_FALLBACK (0x1), FERRUM_MEMORY_TRACK_ALLOCATIONS (0x2) and FERRUM_MEMORY_PRE_ALLOCATE (0x4) are")
	to.CPUFallback = from.flags&C.FERRUM_MEMORY_CPU_FALLBACK != 0
	to.TrackAllocations = from.flags&C.FERRUM_MEMORY_TRACK_ALLOCATIONS != 0
	to.PreAllocate = from.flags&C.FERRUM_MEMORY_PRE_ALLOCATE != 0
	set(&to.GPUMemoryFraction, from.gpu_memory_fraction)
	read(&to.MinFreeBytes, from.min_free_bytes)
	read(&to.MaxPooledPerBucket, from.max_pooled_per_bucket)
	read(&to.MaxPooledBytes, from.max_pooled_bytes)
	readList(&f, &to.PreAllocSizes, from.pre_allocate_sizes, listLength{uint64(from.pre_allocate_count), C.FERRUM_PRE_ALLOCATE_MAX, "pre_allocate_count", device.CodeInvalidConfig}, "pre_allocate_sizes")
	return to, f.err
}

// putMemoryConfig fills a ferrum_memory_config.
func putMemoryConfig(to *C.ferrum_memory_config, from *fallback.MemoryConfig) {
	to.flags = 0
	setFlag(&to.flags, C.FERRUM_MEMORY_CPU_FALLBACK, from.CPUFallback)
	setFlag(&to.flags, C.FERRUM_MEMORY_TRACK_ALLOCATIONS, from.TrackAllocations)
	setFlag(&to.flags, C.FERRUM_MEMORY_PRE_ALLOCATE, from.PreAllocate)
	set(&to.gpu_memory_fraction, from.GPUMemoryFraction)
	set(&to.min_free_bytes, from.MinFreeBytes)
	set(&to.max_pooled_per_bucket, from.MaxPooledPerBucket)
	set(&to.max_pooled_bytes, from.MaxPooledBytes)
}

// memoryStatsOf reads a ferrum_memory_stats.
func memoryStatsOf(argument string, from *C.ferrum_memory_stats) (to fallback.MemoryStats, err error) {
	f := fields{argument: argument}
	f.reserved(uint64(from.reserved), "reserved")
	read(&to.TotalAllocatedBytes, from.total_allocated_bytes)
	read(&to.InUseBytes, from.in_use_bytes)
	read(&to.PooledBytes, from.pooled_bytes)
	read(&to.PeakBytes, from.peak_bytes)
	read(&to.PoolHits, from.pool_hits)
	read(&to.PoolMisses, from.pool_misses)
	read(&to.CPUFallbacks, from.cpu_fallbacks)
	read(&to.ActiveBuffers, from.active_buffers)
	return to, f.err
}

// putMemoryStats fills a ferrum_memory_stats.
func putMemoryStats(to *C.ferrum_memory_stats, from *fallback.MemoryStats) {
	set(&to.total_allocated_bytes, from.TotalAllocatedBytes)
	set(&to.in_use_bytes, from.InUseBytes)
	set(&to.pooled_bytes, from.PooledBytes)
	set(&to.peak_bytes, from.PeakBytes)
	set(&to.pool_hits, from.PoolHits)
	set(&to.pool_misses, from.PoolMisses)
	set(&to.cpu_fallbacks, from.CPUFallbacks)
	set(&to.active_buffers, from.ActiveBuffers)
}

// putMemoryRatios fills a ferrum_memory_ratios.
func putMemoryRatios(to *C.ferrum_memory_ratios, from *fallback.MemoryRatios) {
	set(&to.hit_rate, from.HitRate)
	set(&to.utilization, from.Utilization)
	set(&to.efficiency, from.Efficiency)
}

// bufferMetadataOf reads a ferrum_buffer_metadata.
func bufferMetadataOf(argument string, from *C.ferrum_buffer_metadata) (to library.BufferRecord, err error) {
	f := fields{argument: argument}
	read(&to.ID, from.buffer_id)
	read(&to.SizeBytes, from.size_bytes)
	read(&to.NumElements, from.num_elements)
	read(&to.Age, from.age_ns)
	read(&to.Device, from.device.id)
	read(&to.Side, from.location)
	f.reserved(uint64(from.reserved), "reserved")
	f.fixedText(&to.Tag, from.tag[:], "tag")
	return to, f.err
}

// putBufferMetadata fills a ferrum_buffer_metadata.
func putBufferMetadata(to *C.ferrum_buffer_metadata, from *library.BufferRecord) {
	*to = C.ferrum_buffer_metadata{}
	set(&to.buffer_id, from.ID)
	set(&to.size_bytes, from.SizeBytes)
	set(&to.num_elements, from.NumElements)
	set(&to.age_ns, from.Age)
	set(&to.device.id, from.Device)
	set(&to.location, from.Side)
	putText(to.tag[:], from.Tag)
}

// putTrackerTotals fills a ferrum_tracker_totals.
func putTrackerTotals(to *C.ferrum_tracker_totals, from *library.TrackerTotals) {
	set(&to.count, from.Count)
	set(&to.total_bytes, from.TotalBytes)
	set(&to.peak_bytes, from.PeakBytes)
}

// bufferUseOf reads a ferrum_buffer_use.
func bufferUseOf(argument string, from *C.ferrum_buffer_use) (to fallback.Use, err error) {
	f := fields{argument: argument}
	read(&to.Location.Side, from.location)
	read(&to.NumElements, from.num_elements)
	f.text(&to.Tag, from.tag, "tag")
	return to, f.err
}

// bufferLeaseOf reads a ferrum_buffer_lease.
func bufferLeaseOf(_ string, from *C.ferrum_buffer_lease) (to library.Lease, err error) {
	read(&to.Buffer, from.buffer)
	read(&to.Bytes, from.size_bytes)
	read(&to.ID, from.buffer_id)
	return to, nil
}

// putBufferLease fills a ferrum_buffer_lease.
func putBufferLease(to *C.ferrum_buffer_lease, from *library.Lease) {
	*to = C.ferrum_buffer_lease{}
	set(&to.buffer, from.Buffer)
	set(&to.size_bytes, from.Bytes)
	set(&to.buffer_id, from.ID)
}

// putFallbackStats fills a ferrum_fallback_stats.
func putFallbackStats(to *C.ferrum_fallback_stats, from *fallback.Stats) {
	set(&to.cpu_bytes, from.CPUBytes)
	set(&to.cpu_buffers, from.CPUBuffers)
	set(&to.moved_to_cpu, from.MovedToCPU)
	set(&to.moved_to_gpu, from.MovedToGPU)
}

// bufferRequestOf reads a ferrum_buffer_request.
func bufferRequestOf(argument string, from *C.ferrum_buffer_request) (to library.BufferRequest, err error) {
	f := fields{argument: argument}
	read(&to.DType, from.dtype)
	read(&to.Len, from.num_elements)
	read(&to.Place, from.place)
	f.known(from.flags, C.FERRUM_BUFFER_MOVABLE, "only FERRUM_BUFFER_MOVABLE (0x1) is")
	to.Movable = from.flags&C.FERRUM_BUFFER_MOVABLE != 0
	read(&to.StreamHandle, from.stream.id)
	f.text(&to.Tag, from.tag, "tag")
	return to, f.err
}

// putFallbackBufferInfo fills a ferrum_fallback_buffer_info.
func putFallbackBufferInfo(to *C.ferrum_fallback_buffer_info, from *library.BufferInfo) {
	set(&to.dtype, from.DType)
	set(&to.buffer_id, from.ID)
	set(&to.num_elements, from.Len)
	set(&to.size_bytes, from.SizeBytes)
	set(&to.address, from.Addr)
	set(&to.manager.id, from.Manager)
	set(&to.device.id, from.Device)
	set(&to.location, from.Side)
	set(&to.pins, from.Pins)
	to.flags = 0
	setFlag(&to.flags, C.FERRUM_BUFFER_MOVABLE, from.Movable)
}
