// Code generated from include/ferrum_mem/monitor.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import (
	"ferrum_mem/core/library"
	"ferrum_mem/core/pressure"
)

//export fmgo_pressure_level_of
func fmgo_pressure_level_of(profile C.int32_t, totalBytes C.uint64_t, freeBytes C.uint64_t, levelOut *C.int32_t) (status C.int32_t) {
	defer guard(&status)
	level, err := pressure.Profile.CheckedLevelOf(numberOf[pressure.Profile](profile), uint64(totalBytes), uint64(freeBytes))
	if err != nil {
		return fail(err)
	}
	set(levelOut, level)
	return 0
}

//export fmgo_pressure_from_utilization
func fmgo_pressure_from_utilization(profile C.int32_t, ratio C.double, levelOut *C.int32_t) (status C.int32_t) {
	defer guard(&status)
	level, err := pressure.Profile.FromUtilization(numberOf[pressure.Profile](profile), float64(ratio))
	if err != nil {
		return fail(err)
	}
	set(levelOut, level)
	return 0
}

//export fmgo_monitor_create
func fmgo_monitor_create(config *C.ferrum_monitor_config, monitorOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	configGiven, err := monitorConfigOf("config", config)
	if err != nil {
		return fail(err)
	}
	monitorFound, err := lib.MonitorCreate(configGiven)
	return give(monitorOut, monitorFound, err)
}

//export fmgo_monitor_register
func fmgo_monitor_register(monitor C.uint64_t, manager C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Monitor("monitor.register", uint64(monitor))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Register(uint64(manager)), object))
}

//export fmgo_monitor_unregister
func fmgo_monitor_unregister(monitor C.uint64_t, manager C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Monitor("monitor.unregister", uint64(monitor))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Unregister(uint64(manager)), object))
}

//export fmgo_monitor_unregister_device
func fmgo_monitor_unregister_device(monitor C.uint64_t, dev C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Monitor("monitor.unregister_device", uint64(monitor))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.UnregisterDevice(uint64(dev)), object))
}

//export fmgo_monitor_get_pressure
func fmgo_monitor_get_pressure(monitor C.uint64_t, maxAgeNs C.uint64_t, pressureOut *C.ferrum_monitor_pressure) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Monitor("monitor.pressure", uint64(monitor))
	if err != nil {
		return fail(err)
	}
	pressureFound := object.Pressure(ageOf(maxAgeNs))
	putMonitorPressure(pressureOut, &pressureFound)
	return 0
}

//export fmgo_monitor_get_levels
func fmgo_monitor_get_levels(monitor C.uint64_t, maxAgeNs C.uint64_t, levelsOut *C.ferrum_device_level, capacity C.size_t, countOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Monitor("monitor.levels", uint64(monitor))
	if err != nil {
		return fail(err)
	}
	levels := object.Levels(ageOf(maxAgeNs))
	return giveArray(levelsOut, capacity, countOut, levels, putDeviceLevel, "levels")
}

//export fmgo_monitor_info_json
func fmgo_monitor_info_json(monitor C.uint64_t, maxAgeNs C.uint64_t, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Monitor("monitor.info_json", uint64(monitor))
	if err != nil {
		return fail(err)
	}
	text, err := object.InfoJSON(ageOf(maxAgeNs))
	return giveText(buffer, capacity, lengthOut, text, library.CallError(err, object))
}

//export fmgo_monitor_collect
func fmgo_monitor_collect(monitor C.uint64_t, collectedOut *C.ferrum_collected, capacity C.size_t, countOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Monitor("monitor.collect", uint64(monitor))
	if err != nil {
		return fail(err)
	}
	collected, collectedCount, err := object.Collect(uint64(capacity))
	*countOut = C.size_t(collectedCount)
	if err != nil {
		return fail(library.CallError(err, object))
	}
	fillArray(collectedOut, collected, putCollected)
	return 0
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

//export fmgo_placement_get_name
func fmgo_placement_get_name(placement C.uint64_t, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	status = unfinished
	defer func() {
		if status == unfinished {
			caught(&status, recover())
		}
	}()
	text, err := lib.PlacementGetName(uint64(placement))
	return giveText(buffer, capacity, lengthOut, text, err)
}

//export fmgo_placement_select
func fmgo_placement_select(placement C.uint64_t, request *C.ferrum_placement_request, deviceOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	requestGiven, err := placementRequestOf("request", request)
	if err != nil {
		return fail(err)
	}
	object, err := lib.Placement("placement.select", uint64(placement))
	if err != nil {
		return fail(err)
	}
	dev, err := object.Select(requestGiven)
	return give(deviceOut, dev, library.CallError(err, object))
}

//export fmgo_placement_explain_json
func fmgo_placement_explain_json(placement C.uint64_t, request *C.ferrum_placement_request, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	requestGiven, err := placementRequestOf("request", request)
	if err != nil {
		return fail(err)
	}
	object, err := lib.Placement("placement.explain_json", uint64(placement))
	if err != nil {
		return fail(err)
	}
	text, err := object.ExplainJSON(requestGiven)
	return giveText(buffer, capacity, lengthOut, text, library.CallError(err, object))
}
