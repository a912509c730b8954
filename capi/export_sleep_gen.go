// Code generated from include/ferrum_mem/sleep.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

//export fmgo_vpool_sleep
func fmgo_vpool_sleep(vpool C.uint64_t, config *C.ferrum_sleep_config, reportOut *C.ferrum_sleep_report) (status C.int32_t) {
	defer guard(&status)
	configGiven, err := sleepConfigOf("config", config)
	if err != nil {
		return fail(err)
	}
	report, err := lib.VPoolSleep(uint64(vpool), configGiven)
	if err != nil {
		return fail(err)
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
	report, err := lib.VPoolWake(uint64(vpool), configGiven)
	if err != nil {
		return fail(err)
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
	asleep, err := lib.VPoolIsAsleep(uint64(vpool), tagText)
	return giveTruth(asleepOut, asleep, err)
}

//export fmgo_elastic_pool_sleep_model
func fmgo_elastic_pool_sleep_model(pool C.uint64_t, model *C.char, config *C.ferrum_sleep_config, reportOut *C.ferrum_sleep_report) (status C.int32_t) {
	defer guard(&status)
	ref, err := modelOf(pool, model)
	if err != nil {
		return fail(err)
	}
	configGiven, err := sleepConfigOf("config", config)
	if err != nil {
		return fail(err)
	}
	report, err := lib.ElasticPoolSleepModel(ref, configGiven)
	if err != nil {
		return fail(err)
	}
	putSleepReport(reportOut, &report)
	return 0
}

//export fmgo_elastic_pool_wake_model
func fmgo_elastic_pool_wake_model(pool C.uint64_t, model *C.char, config *C.ferrum_wake_config, reportOut *C.ferrum_wake_report) (status C.int32_t) {
	defer guard(&status)
	ref, err := modelOf(pool, model)
	if err != nil {
		return fail(err)
	}
	configGiven, err := wakeConfigOf("config", config)
	if err != nil {
		return fail(err)
	}
	report, err := lib.ElasticPoolWakeModel(ref, configGiven)
	if err != nil {
		return fail(err)
	}
	putWakeReport(reportOut, &report)
	return 0
}

//export fmgo_elastic_pool_is_model_asleep
func fmgo_elastic_pool_is_model_asleep(pool C.uint64_t, model *C.char, tag *C.char, asleepOut *C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	ref, err := modelOf(pool, model)
	if err != nil {
		return fail(err)
	}
	tagText, err := textOf("tag", tag)
	if err != nil {
		return fail(err)
	}
	asleep, err := lib.ElasticPoolIsModelAsleep(ref, tagText)
	return giveTruth(asleepOut, asleep, err)
}
