// Code generated from include/ferrum_mem/devices.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import (
	"ferrum_mem/core/discover"
	"ferrum_mem/core/library"
)

//export fmgo_backends_json
func fmgo_backends_json(buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	text, err := lib.BackendsJSON()
	return giveText(buffer, capacity, lengthOut, text, err)
}

//export fmgo_backends_refresh
func fmgo_backends_refresh() (status C.int32_t) {
	defer guard(&status)
	return done(lib.BackendsRefresh())
}

//export fmgo_backends_summary
func fmgo_backends_summary(buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	text, err := lib.BackendsSummary()
	return giveText(buffer, capacity, lengthOut, text, err)
}

//export fmgo_backend_best
func fmgo_backend_best(backendOut *C.int32_t) (status C.int32_t) {
	defer guard(&status)
	backendFound, err := lib.BackendBest()
	if err != nil {
		return fail(err)
	}
	set(backendOut, backendFound)
	return 0
}

//export fmgo_backend_select
func fmgo_backend_select(preference C.int32_t, requiredBytes C.uint64_t, choiceOut *C.ferrum_backend_choice) (status C.int32_t) {
	defer guard(&status)
	choice, err := lib.BackendSelect(numberOf[discover.BackendType](preference), uint64(requiredBytes))
	if err != nil {
		return fail(err)
	}
	putBackendChoice(choiceOut, &choice)
	return 0
}

//export fmgo_backend_open
func fmgo_backend_open(preference C.int32_t, requiredBytes C.uint64_t, deviceOut *C.uint64_t, choiceOut *C.ferrum_backend_choice) (status C.int32_t) {
	defer guard(&status)
	dev, choice, err := lib.BackendOpen(numberOf[discover.BackendType](preference), uint64(requiredBytes))
	if err != nil {
		return fail(err)
	}
	set(deviceOut, dev)
	putBackendChoice(choiceOut, &choice)
	return 0
}

//export fmgo_device_can_fit
func fmgo_device_can_fit(id *C.char, bytes C.uint64_t, fitsOut *C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	idText, err := textOf("id", id)
	if err != nil {
		return fail(err)
	}
	fits, err := lib.DeviceCanFit(idText, uint64(bytes))
	return giveTruth(fitsOut, fits, err)
}

//export fmgo_host_get_info
func fmgo_host_get_info(infoOut *C.ferrum_host_info) (status C.int32_t) {
	defer guard(&status)
	info := lib.HostGetInfo()
	putHostInfo(infoOut, &info)
	return 0
}

//export fmgo_device_open
func fmgo_device_open(id *C.char, deviceOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	idText, err := textOf("id", id)
	if err != nil {
		return fail(err)
	}
	dev, err := lib.DeviceOpen(idText)
	return give(deviceOut, dev, err)
}

//export fmgo_device_close
func fmgo_device_close(dev C.uint64_t, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	force, err := forced(flags)
	if err != nil {
		return fail(err)
	}
	object, err := lib.Device("device.close", uint64(dev))
	if err != nil {
		return fail(err)
	}
	return done(object.Close(force))
}

//export fmgo_device_get_info
func fmgo_device_get_info(dev C.uint64_t, infoOut *C.ferrum_device_info) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Device("device.info", uint64(dev))
	if err != nil {
		return fail(err)
	}
	info := object.Info()
	putDeviceInfo(infoOut, &info)
	return 0
}

//export fmgo_device_synchronize
func fmgo_device_synchronize(dev C.uint64_t, timeoutNs C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Device("device.synchronize", uint64(dev))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Synchronize(timeoutOf(timeoutNs)), object))
}

//export fmgo_device_set_limit
func fmgo_device_set_limit(dev C.uint64_t, limitBytes C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Device("device.set_limit", uint64(dev))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.SetLimit(uint64(limitBytes)), object))
}

//export fmgo_device_measure_bandwidth
func fmgo_device_measure_bandwidth(dev C.uint64_t, gbpsOut *C.double) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Device("device.measure_bandwidth", uint64(dev))
	if err != nil {
		return fail(err)
	}
	gbps, err := object.MeasureBandwidth()
	if err != nil {
		return fail(library.CallError(err, object))
	}
	set(gbpsOut, gbps)
	return 0
}
