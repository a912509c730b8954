// Code generated from include/ferrum_mem/monitor.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

//export fmgo_monitor_register
func fmgo_monitor_register(monitor C.uint64_t, manager C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.MonitorRegister(uint64(monitor), uint64(manager)))
}

//export fmgo_monitor_unregister
func fmgo_monitor_unregister(monitor C.uint64_t, manager C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.MonitorUnregister(uint64(monitor), uint64(manager)))
}

//export fmgo_monitor_unregister_device
func fmgo_monitor_unregister_device(monitor C.uint64_t, dev C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.MonitorUnregisterDevice(uint64(monitor), uint64(dev)))
}

//export fmgo_monitor_info_json
func fmgo_monitor_info_json(monitor C.uint64_t, maxAgeNs C.uint64_t, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	text, err := lib.MonitorInfoJSON(uint64(monitor), ageOf(maxAgeNs))
	return giveText(buffer, capacity, lengthOut, []byte(text), err)
}

//export fmgo_placement_create
func fmgo_placement_create(strategy *C.char, placementOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	strategyText, err := textOf("strategy", strategy)
	if err != nil {
		return fail(err)
	}
	placement, err := lib.PlacementCreate(strategyText)
	return give(placementOut, placement, err)
}
