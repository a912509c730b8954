package main

/*
#include "bridge.h"
*/
import "C"

import (
	"math"
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/core/fallback"
	"ferrum_mem/core/library"
)

// memoryConfigOf reads settings of the caller.
func memoryConfigOf(c *C.ferrum_memory_config) (fallback.MemoryConfig, error) {
	const op = "capi.memory_config"
	known := uint32(C.FERRUM_MEMORY_CPU_FALLBACK | C.FERRUM_MEMORY_TRACK_ALLOCATIONS | C.FERRUM_MEMORY_PRE_ALLOCATE)
	flags := uint32(c.flags)
	if flags&^known != 0 {
		return fallback.MemoryConfig{}, device.Errorf(device.CodeInvalidArgument, op,
			"config->flags is %#x: only %#x are known", flags, known)
	}
	if uint64(c.max_pooled_per_bucket) > math.MaxInt32 {
		return fallback.MemoryConfig{}, device.Errorf(device.CodeInvalidConfig, op,
			"max_pooled_per_bucket %d is more than %d", uint64(c.max_pooled_per_bucket), math.MaxInt32)
	}
	count := uint64(c.pre_allocate_count)
	if count > C.FERRUM_PRE_ALLOCATE_MAX {
		return fallback.MemoryConfig{}, device.Errorf(device.CodeInvalidConfig, op,
			"pre_allocate_count %d is more than %d", count, C.FERRUM_PRE_ALLOCATE_MAX)
	}
	if count > 0 && c.pre_allocate_sizes == nil {
		return fallback.MemoryConfig{}, device.Errorf(device.CodeNullPointer, op,
			"config->pre_allocate_sizes is NULL and config->pre_allocate_count %d", count)
	}
	read := fallback.MemoryConfig{
		GPUMemoryFraction: float64(c.gpu_memory_fraction), CPUFallbackEnabled: flags&C.FERRUM_MEMORY_CPU_FALLBACK != 0,
		MinFreeBytes: uint64(c.min_free_bytes), TrackAllocations: flags&C.FERRUM_MEMORY_TRACK_ALLOCATIONS != 0,
		MaxPooledPerBucket: int(c.max_pooled_per_bucket), MaxPooledBytes: uint64(c.max_pooled_bytes),
		PreAlloc: flags&C.FERRUM_MEMORY_PRE_ALLOCATE != 0,
	}
	for _, size := range unsafe.Slice(c.pre_allocate_sizes, count) {
		read.PreAllocSizes = append(read.PreAllocSizes, uint64(size))
	}
	return read, nil
}

//export fmgo_fallback_manager_create
func fmgo_fallback_manager_create(dev, host C.uint64_t, config *C.ferrum_memory_config, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	read, err := memoryConfigOf(config)
	if err != nil {
		return fail(err)
	}
	handle, err := lib.FallbackManagerCreate(library.FallbackManagerConfig{Device: uint64(dev), Host: uint64(host), Memory: read})
	return give(out, handle, err)
}

//export fmgo_fallback_manager_get_stats
func fmgo_fallback_manager_get_stats(handle C.uint64_t, out *C.ferrum_memory_stats) (status C.int32_t) {
	defer guard(&status)
	stats, err := lib.FallbackManagerGetStats(uint64(handle))
	if err != nil {
		return fail(err)
	}
	putMemoryStats(out, stats.MemoryStats)
	return 0
}

//export fmgo_fallback_manager_get_fallback_stats
func fmgo_fallback_manager_get_fallback_stats(handle C.uint64_t, out *C.ferrum_fallback_stats) (status C.int32_t) {
	defer guard(&status)
	stats, err := lib.FallbackManagerGetStats(uint64(handle))
	if err != nil {
		return fail(err)
	}
	out.cpu_bytes, out.cpu_buffers = C.uint64_t(stats.CPUBytes), C.uint64_t(stats.CPUBuffers)
	out.moved_to_cpu, out.moved_to_gpu = C.uint64_t(stats.MovedToCPU), C.uint64_t(stats.MovedToGPU)
	return 0
}

//export fmgo_fallback_manager_get_pressure
func fmgo_fallback_manager_get_pressure(handle C.uint64_t, out *C.int32_t) (status C.int32_t) {
	defer guard(&status)
	level, err := lib.FallbackManagerGetPressure(uint64(handle))
	if err != nil {
		return fail(err)
	}
	*out = C.int32_t(level)
	return 0
}

//export fmgo_fallback_manager_pressure_callback_add
func fmgo_fallback_manager_pressure_callback_add(handle C.uint64_t, callback C.ferrum_pressure_fn, userData C.uintptr_t, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	token := newToken()
	registered, err := lib.FallbackManagerOnPressure(uint64(handle), token, func(dev uint64, level int32) {
		C.fm_call_pressure(callback, C.uint64_t(dev), C.int32_t(level), userData, C.uint64_t(token))
	})
	return give(out, registered, err)
}

// bufferRequestOf reads a request of the caller; the stream is left to the library.
func bufferRequestOf(r *C.ferrum_buffer_request) (fallback.Request, error) {
	if r.flags&^C.FERRUM_BUFFER_MOVABLE != 0 {
		return fallback.Request{}, device.Errorf(device.CodeInvalidArgument, "capi.buffer",
			"request->flags is %#x: only FERRUM_BUFFER_MOVABLE (0x1) is known", uint32(r.flags))
	}
	tag, err := textOf("request->tag", r.tag)
	return fallback.Request{
		Shape: fallback.Shape{DType: fallback.DType(r.dtype), Len: uint64(r.num_elements)}, Tag: tag,
		Movable: r.flags&C.FERRUM_BUFFER_MOVABLE != 0, Place: fallback.Place(r.place),
	}, err
}

//export fmgo_fallback_manager_alloc
func fmgo_fallback_manager_alloc(handle C.uint64_t, request *C.ferrum_buffer_request, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	r, err := bufferRequestOf(request)
	if err != nil {
		return fail(err)
	}
	buffer, err := lib.FallbackManagerAlloc(uint64(handle), uint64(request.stream.id), r)
	return give(out, buffer, err)
}

//export fmgo_fallback_manager_adopt
func fmgo_fallback_manager_adopt(handle C.uint64_t, location C.int32_t, address C.uint64_t, request *C.ferrum_buffer_request, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	r, err := bufferRequestOf(request)
	if err != nil {
		return fail(err)
	}
	taken := fallback.Taken{Side: fallback.Side(location), Addr: device.Addr(address)}
	buffer, err := lib.FallbackManagerAdopt(uint64(handle), taken, r)
	return give(out, buffer, err)
}

//export fmgo_fallback_manager_release
func fmgo_fallback_manager_release(handle C.uint64_t, location C.int32_t, address, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	taken := fallback.Taken{Side: fallback.Side(location), Addr: device.Addr(address)}
	return done(lib.FallbackManagerRelease(uint64(handle), uint64(stream), taken))
}

//export fmgo_fallback_buffer_get_info
func fmgo_fallback_buffer_get_info(handle C.uint64_t, out *C.ferrum_fallback_buffer_info) (status C.int32_t) {
	defer guard(&status)
	info, err := lib.FallbackBufferGetInfo(uint64(handle))
	if err != nil {
		return fail(err)
	}
	out.dtype, out.num_elements = C.int32_t(info.DType), C.uint64_t(info.Len)
	out.buffer_id, out.size_bytes = C.uint64_t(info.ID), C.uint64_t(info.SizeBytes)
	out.address, out.location = C.uint64_t(info.Addr), C.int32_t(info.Side)
	out.manager.id, out.device.id = C.uint64_t(info.Manager), C.uint64_t(info.Device)
	out.pins = C.uint32_t(info.Pins)
	if info.Movable {
		out.flags = C.FERRUM_BUFFER_MOVABLE
	}
	return 0
}

//export fmgo_fallback_buffer_get_address
func fmgo_fallback_buffer_get_address(handle C.uint64_t, location C.int32_t, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	addr, err := lib.FallbackBufferGetAddress(uint64(handle), fallback.Side(location))
	return give(out, addr, err)
}

//export fmgo_fallback_buffer_move
func fmgo_fallback_buffer_move(handle C.uint64_t, location C.int32_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.FallbackBufferMove(uint64(handle), fallback.Side(location)))
}

//export fmgo_fallback_buffer_pin
func fmgo_fallback_buffer_pin(handle C.uint64_t, address *C.uint64_t, location *C.int32_t) (status C.int32_t) {
	defer guard(&status)
	addr, side, err := lib.FallbackBufferPin(uint64(handle))
	if err != nil {
		return fail(err)
	}
	*address, *location = C.uint64_t(addr), C.int32_t(side)
	return 0
}

//export fmgo_fallback_buffer_write
func fmgo_fallback_buffer_write(handle, offset C.uint64_t, source C.uintptr_t, size C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	part := fallback.Part{OffsetBytes: uint64(offset), SizeBytes: uint64(size)}
	return done(lib.FallbackBufferWrite(uint64(handle), part, device.HostAddr(source)))
}

//export fmgo_fallback_buffer_read
func fmgo_fallback_buffer_read(handle, offset C.uint64_t, destination C.uintptr_t, size C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	part := fallback.Part{OffsetBytes: uint64(offset), SizeBytes: uint64(size)}
	return done(lib.FallbackBufferRead(uint64(handle), part, device.HostAddr(destination)))
}

//export fmgo_fallback_buffer_take
func fmgo_fallback_buffer_take(handle C.uint64_t, location C.int32_t, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	addr, err := lib.FallbackBufferTake(uint64(handle), fallback.Side(location))
	return give(out, addr, err)
}
