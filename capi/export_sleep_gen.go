// Code generated from include/ferrum_mem/sleep.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import "ferrum_mem/core/library"

//export fmgo_vpool_sleep
func fmgo_vpool_sleep(vpool C.uint64_t, config *C.ferrum_sleep_config, reportOut *C.ferrum_sleep_report) (status C.int32_t) {
	defer guard(&status)
	configGiven, err := sleepConfigOf("config", config)
	if err != nil {
		return fail(err)
	}
	object, err := lib.VPool("vpool.sleep", uint64(vpool))
	if err != nil {
		return fail(err)
	}
	report, err := object.Sleep(configGiven)
	if err != nil {
		return fail(library.CallError(err, object))
	}
	putSleepReport(reportOut, &report)
	return 0
}

//export fmgo_vpool_wake
func fmgo_vpool_wake(vpool C.uint64_t, config *C.ferrum_wake_config, reportOut *C.ferrum_wake_report) (status C.int32_t) {
	defer guard(&status)
	configGiven, err := wakeConfigOf("config", config)
	if err != nil {
		return fail(err)
	}
	object, err := lib.VPool("vpool.wake", uint64(vpool))
	if err != nil {
		return fail(err)
	}
	report, err := object.Wake(configGiven)
	if err != nil {
		return fail(library.CallError(err, object))
	}
	putWakeReport(reportOut, &report)
	return 0
}

//export fmgo_vpool_is_asleep
func fmgo_vpool_is_asleep(vpool C.uint64_t, tag *C.char, asleepOut *C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	tagText, err := textOf("tag", tag)
	if err != nil {
		return fail(err)
	}
	object, err := lib.VPool("vpool.is_asleep", uint64(vpool))
	if err != nil {
		return fail(err)
	}
	asleep := object.IsAsleep(tagText)
	return giveTruth(asleepOut, asleep, nil)
}

//export fmgo_elastic_pool_sleep_model
func fmgo_elastic_pool_sleep_model(pool C.uint64_t, model *C.char, config *C.ferrum_sleep_config, reportOut *C.ferrum_sleep_report) (status C.int32_t) {
	defer guard(&status)
	modelText, err := textOf("model", model)
	if err != nil {
		return fail(err)
	}
	configGiven, err := sleepConfigOf("config", config)
	if err != nil {
		return fail(err)
	}
	object, err := lib.ElasticPool("elastic_pool.sleep_model", uint64(pool))
	if err != nil {
		return fail(err)
	}
	report, err := object.SleepModel(modelText, configGiven)
	if err != nil {
		return fail(library.CallError(err, object))
	}
	putSleepReport(reportOut, &report)
	return 0
}

//export fmgo_elastic_pool_wake_model
func fmgo_elastic_pool_wake_model(pool C.uint64_t, model *C.char, config *C.ferrum_wake_config, reportOut *C.ferrum_wake_report) (status C.int32_t) {
	defer guard(&status)
	modelText, err := textOf("model", model)
	if err != nil {
		return fail(err)
	}
	configGiven, err := wakeConfigOf("config", config)
	if err != nil {
		return fail(err)
	}
	object, err := lib.ElasticPool("elastic_pool.wake_model", uint64(pool))
	if err != nil {
		return fail(err)
	}
	report, err := object.WakeModel(modelText, configGiven)
	if err != nil {
		return fail(library.CallError(err, object))
	}
	putWakeReport(reportOut, &report)
	return 0
}

//export fmgo_elastic_pool_is_model_asleep
func fmgo_elastic_pool_is_model_asleep(pool C.uint64_t, model *C.char, tag *C.char, asleepOut *C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	modelText, err := textOf("model", model)
	if err != nil {
		return fail(err)
	}
	tagText, err := textOf("tag", tag)
	if err != nil {
		return fail(err)
	}
	object, err := lib.ElasticPool("elastic_pool.is_model_asleep", uint64(pool))
	if err != nil {
		return fail(err)
	}
	asleep, err := object.IsModelAsleep(modelText, tagText)
	return giveTruth(asleepOut, asleep, library.CallError(err, object))
}
