// Code generated from include/ferrum_mem/devices.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

//export fmgo_backends_json
func fmgo_backends_json(buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	text, err := lib.BackendsJSON()
	return giveText(buffer, capacity, lengthOut, []byte(text), err)
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
	return giveText(buffer, capacity, lengthOut, []byte(text), err)
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
	return done(lib.DeviceClose(uint64(dev), force))
}

//export fmgo_device_synchronize
func fmgo_device_synchronize(dev C.uint64_t, timeoutNs C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.DeviceSynchronize(uint64(dev), timeoutOf(timeoutNs)))
}

//export fmgo_device_set_limit
func fmgo_device_set_limit(dev C.uint64_t, limitBytes C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.DeviceSetLimit(uint64(dev), uint64(limitBytes)))
}

//export fmgo_device_measure_bandwidth
func fmgo_device_measure_bandwidth(dev C.uint64_t, gbpsOut *C.double) (status C.int32_t) {
	defer guard(&status)
	gbps, err := lib.DeviceMeasureBandwidth(uint64(dev))
	if err != nil {
		return fail(err)
	}
	*gbpsOut = C.double(gbps)
	return 0
}
