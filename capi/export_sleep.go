package main

/*
#include "bridge.h"
*/
import "C"

import (
	"math"
	"strings"
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/core/vmm"
)

//export fmgo_vpool_sleep
func fmgo_vpool_sleep(handle C.uint64_t, config *C.ferrum_sleep_config, out *C.ferrum_sleep_report) (status C.int32_t) {
	defer guard(&status)
	request, err := sleepOf(config)
	if err != nil {
		return fail(err)
	}
	report, err := lib.VPoolSleep(uint64(handle), request)
	return giveSlept(out, report, err)
}

//export fmgo_vpool_wake
func fmgo_vpool_wake(handle C.uint64_t, config *C.ferrum_wake_config, out *C.ferrum_wake_report) (status C.int32_t) {
	defer guard(&status)
	request, err := wakeOf(config)
	if err != nil {
		return fail(err)
	}
	report, err := lib.VPoolWake(uint64(handle), request)
	return giveWoken(out, report, err)
}

//export fmgo_vpool_alloc_with
func fmgo_vpool_alloc_with(handle C.uint64_t, request *C.ferrum_vpool_request, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	if request.reserved != 0 {
		return fail(device.Errorf(device.CodeInvalidStruct, "capi.vpool_request",
			"request->reserved is %d: want 0", uint32(request.reserved)))
	}
	tag, err := textOf("request->tag", request.tag)
	if err != nil {
		return fail(err)
	}
	addr, err := lib.VPoolAllocWith(uint64(handle), vmm.AllocRequest{
		OffsetBytes: uint64(request.offset_bytes), SizeBytes: uint64(request.size_bytes), Tag: tag,
		Wait: timeoutOf(request.asleep_wait_ns),
	}, uint64(request.stream.id))
	return give(out, addr, err)
}

//export fmgo_elastic_pool_sleep_model
func fmgo_elastic_pool_sleep_model(pool C.uint64_t, model *C.char, config *C.ferrum_sleep_config, out *C.ferrum_sleep_report) (status C.int32_t) {
	defer guard(&status)
	ref, err := modelOf(pool, model)
	if err != nil {
		return fail(err)
	}
	request, err := sleepOf(config)
	if err != nil {
		return fail(err)
	}
	report, err := lib.ElasticPoolSleepModel(ref, request)
	return giveSlept(out, report, err)
}

//export fmgo_elastic_pool_wake_model
func fmgo_elastic_pool_wake_model(pool C.uint64_t, model *C.char, config *C.ferrum_wake_config, out *C.ferrum_wake_report) (status C.int32_t) {
	defer guard(&status)
	ref, err := modelOf(pool, model)
	if err != nil {
		return fail(err)
	}
	request, err := wakeOf(config)
	if err != nil {
		return fail(err)
	}
	report, err := lib.ElasticPoolWakeModel(ref, request)
	return giveWoken(out, report, err)
}

func sleepOf(c *C.ferrum_sleep_config) (library.SleepRequest, error) {
	request := library.SleepRequest{StreamHandle: uint64(c.stream.id), Timeout: timeoutOf(c.timeout_ns)}
	request.Backing = vmm.SleepBacking(c.backing)
	request.Streams = streamsOf(c.num_streams)
	if c.reserved != 0 {
		return request, device.Errorf(device.CodeInvalidStruct, "capi.sleep_config",
			"config->reserved is %d: want 0", uint32(c.reserved))
	}
	var err error
	if request.Tag, err = textOf("config->tag", c.tag); err != nil {
		return request, err
	}
	request.Dir, err = pathOf("config->directory", c.directory)
	return request, err
}

func wakeOf(c *C.ferrum_wake_config) (request library.WakeRequest, err error) {
	request.Timeout = timeoutOf(c.timeout_ns)
	request.Streams = streamsOf(c.num_streams)
	request.Tag, err = textOf("config->tag", c.tag)
	return request, err
}

// streamsOf reads a number that the room will refuse if it is too large.
func streamsOf(streams C.uint32_t) int { return int(min(uint32(streams), math.MaxInt32)) }

// pathOf reads a path without running past FERRUM_PATH_MAX bytes; NULL is the empty
// one.
func pathOf(argument string, path *C.char) (string, error) {
	if path == nil {
		return "", nil
	}
	var read strings.Builder
	for {
		next := *(*byte)(unsafe.Add(unsafe.Pointer(path), read.Len()))
		if next == 0 {
			return read.String(), nil
		}
		if read.WriteByte(next); read.Len() >= C.FERRUM_PATH_MAX {
			return "", device.Errorf(device.CodeInvalidArgument, "capi.path",
				"%s is longer than %d bytes", argument, C.FERRUM_PATH_MAX-1)
		}
	}
}

func giveSlept(out *C.ferrum_sleep_report, report vmm.SleepReport, err error) C.int32_t {
	if err != nil {
		return fail(err)
	}
	out.released_bytes = C.uint64_t(report.Bytes)
	out.elapsed_ns = C.uint64_t(report.Ns)
	putText(out.path[:], report.Path)
	return 0
}

func giveWoken(out *C.ferrum_wake_report, report vmm.WakeReport, err error) C.int32_t {
	if err != nil {
		return fail(err)
	}
	out.restored_bytes = C.uint64_t(report.Bytes)
	out.elapsed_ns = C.uint64_t(report.Ns)
	return 0
}

// The backings and bounds have the numbers of the header: others would not compile.
var (
	_ = [1]struct{}{}[vmm.SleepToHost-C.FERRUM_SLEEP_HOST]
	_ = [1]struct{}{}[vmm.SleepToFile-C.FERRUM_SLEEP_FILE]
	_ = [1]struct{}{}[vmm.SleepDiscard-C.FERRUM_SLEEP_DISCARD]
	_ = [1]struct{}{}[library.BlockAsleep-C.FERRUM_BLOCK_ASLEEP]
)
