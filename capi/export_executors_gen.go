// Code generated from include/ferrum_mem/executors.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import "ferrum_mem/core/library"

//export fmgo_model_export_json
func fmgo_model_export_json(path *C.char, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	pathText, err := pathOf("path", path)
	if err != nil {
		return fail(err)
	}
	text, err := executors.ExportJSON(pathText)
	return giveText(buffer, capacity, lengthOut, text, err)
}

//export fmgo_model_export_onnx
func fmgo_model_export_onnx(path *C.char, file *C.char, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	pathText, err := pathOf("path", path)
	if err != nil {
		return fail(err)
	}
	fileText, err := pathOf("file", file)
	if err != nil {
		return fail(err)
	}
	flagsGiven, err := flagsOf("flags", flags, C.FERRUM_ONNX_EXTERNAL|C.FERRUM_ONNX_REPLACE, "only FERRUM_ONNX_EXTERNAL (0x1) and FERRUM_ONNX_REPLACE (0x2) are")
	if err != nil {
		return fail(err)
	}
	return done(executors.ExportONNX(pathText, fileText, flagsGiven))
}

//export fmgo_definition_export_onnx
func fmgo_definition_export_onnx(definitionText *C.char, definitionBytes C.size_t, weights C.uint64_t, file *C.char, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	definitionTextGiven, err := bytesOf("definition_bytes", definitionText, definitionBytes)
	if err != nil {
		return fail(err)
	}
	fileText, err := pathOf("file", file)
	if err != nil {
		return fail(err)
	}
	flagsGiven, err := flagsOf("flags", flags, C.FERRUM_ONNX_EXTERNAL|C.FERRUM_ONNX_REPLACE, "only FERRUM_ONNX_EXTERNAL (0x1) and FERRUM_ONNX_REPLACE (0x2) are")
	if err != nil {
		return fail(err)
	}
	return done(executors.ExportDefinitionONNX(definitionTextGiven, uint64(weights), fileText, flagsGiven))
}

//export fmgo_model_validate_json
func fmgo_model_validate_json(path *C.char, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	pathText, err := pathOf("path", path)
	if err != nil {
		return fail(err)
	}
	text, err := executors.ValidateModelJSON(pathText)
	return giveText(buffer, capacity, lengthOut, text, err)
}

//export fmgo_definition_validate_json
func fmgo_definition_validate_json(definitionText *C.char, definitionBytes C.size_t, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	definitionTextGiven, err := bytesOf("definition_bytes", definitionText, definitionBytes)
	if err != nil {
		return fail(err)
	}
	text, err := executors.ValidateDefinitionJSON(definitionTextGiven)
	return giveText(buffer, capacity, lengthOut, text, err)
}

//export fmgo_builder_info_json
func fmgo_builder_info_json(buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	text, err := executors.BuilderInfoJSON()
	return giveText(buffer, capacity, lengthOut, text, err)
}

//export fmgo_build_estimate_json
func fmgo_build_estimate_json(definitionText *C.char, definitionBytes C.size_t, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	definitionTextGiven, err := bytesOf("definition_bytes", definitionText, definitionBytes)
	if err != nil {
		return fail(err)
	}
	text, err := executors.EstimateJSON(definitionTextGiven)
	return giveText(buffer, capacity, lengthOut, text, err)
}

//export fmgo_compute_plan_json
func fmgo_compute_plan_json(compute C.uint64_t, definitionText *C.char, definitionBytes C.size_t, optimizationLevel C.uint32_t, dimensionsText *C.char, dimensionsBytes C.size_t, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	definitionTextGiven, err := bytesOf("definition_bytes", definitionText, definitionBytes)
	if err != nil {
		return fail(err)
	}
	dimensionsTextGiven, err := bytesOf("dimensions_bytes", dimensionsText, dimensionsBytes)
	if err != nil {
		return fail(err)
	}
	text, err := executors.PlanJSON(uint64(compute), definitionTextGiven, uint32(optimizationLevel), dimensionsTextGiven)
	return giveText(buffer, capacity, lengthOut, text, err)
}

//export fmgo_executor_plan_json
func fmgo_executor_plan_json(executor C.uint64_t, dimensionsText *C.char, dimensionsBytes C.size_t, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	dimensionsTextGiven, err := bytesOf("dimensions_bytes", dimensionsText, dimensionsBytes)
	if err != nil {
		return fail(err)
	}
	object, err := executors.Executor("executor.plan_json", uint64(executor))
	if err != nil {
		return fail(err)
	}
	text, err := object.PlanJSON(dimensionsTextGiven)
	return giveText(buffer, capacity, lengthOut, text, library.CallError(err, object))
}

//export fmgo_executor_info_json
func fmgo_executor_info_json(executor C.uint64_t, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	object, err := executors.Executor("executor.info_json", uint64(executor))
	if err != nil {
		return fail(err)
	}
	text, err := object.InfoJSON()
	return giveText(buffer, capacity, lengthOut, text, library.CallError(err, object))
}

//export fmgo_executor_definition_json
func fmgo_executor_definition_json(executor C.uint64_t, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	object, err := executors.Executor("executor.definition_json", uint64(executor))
	if err != nil {
		return fail(err)
	}
	text, err := object.DefinitionJSON()
	return giveText(buffer, capacity, lengthOut, text, library.CallError(err, object))
}

//export fmgo_executor_export_onnx
func fmgo_executor_export_onnx(executor C.uint64_t, file *C.char, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	fileText, err := pathOf("file", file)
	if err != nil {
		return fail(err)
	}
	flagsGiven, err := flagsOf("flags", flags, C.FERRUM_ONNX_EXTERNAL|C.FERRUM_ONNX_REPLACE, "only FERRUM_ONNX_EXTERNAL (0x1) and FERRUM_ONNX_REPLACE (0x2) are")
	if err != nil {
		return fail(err)
	}
	object, err := executors.Executor("executor.export_onnx", uint64(executor))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.ExportOnnx(fileText, flagsGiven), object))
}

//export fmgo_executor_report_json
func fmgo_executor_report_json(executor C.uint64_t, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	object, err := executors.Executor("executor.report_json", uint64(executor))
	if err != nil {
		return fail(err)
	}
	text, err := object.ReportJSON()
	return giveText(buffer, capacity, lengthOut, text, library.CallError(err, object))
}

//export fmgo_executor_sleep
func fmgo_executor_sleep(executor C.uint64_t, config *C.ferrum_sleep_config, reportOut *C.ferrum_sleep_report) (status C.int32_t) {
	defer guard(&status)
	configGiven, err := sleepConfigOf("config", config)
	if err != nil {
		return fail(err)
	}
	object, err := executors.Executor("executor.sleep", uint64(executor))
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

//export fmgo_executor_wake
func fmgo_executor_wake(executor C.uint64_t, config *C.ferrum_wake_config, reportOut *C.ferrum_wake_report) (status C.int32_t) {
	defer guard(&status)
	configGiven, err := wakeConfigOf("config", config)
	if err != nil {
		return fail(err)
	}
	object, err := executors.Executor("executor.wake", uint64(executor))
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

//export fmgo_executor_destroy
func fmgo_executor_destroy(executor C.uint64_t, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	force, err := forced(flags)
	if err != nil {
		return fail(err)
	}
	object, err := executors.Executor("executor.destroy", uint64(executor))
	if err != nil {
		return fail(err)
	}
	return done(object.Destroy(force))
}

//export fmgo_executor_add_name
func fmgo_executor_add_name(executor C.uint64_t, name *C.char) (status C.int32_t) {
	defer guard(&status)
	nameText, err := textOf("name", name)
	if err != nil {
		return fail(err)
	}
	object, err := executors.Executor("executor.add_name", uint64(executor))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.AddName(nameText), object))
}

//export fmgo_executor_find
func fmgo_executor_find(name *C.char, executorOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	nameText, err := textOf("name", name)
	if err != nil {
		return fail(err)
	}
	executor, err := executors.Find(nameText)
	return give(executorOut, executor, err)
}

//export fmgo_executor_remove_name
func fmgo_executor_remove_name(name *C.char, executorOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	nameText, err := textOf("name", name)
	if err != nil {
		return fail(err)
	}
	executor, err := executors.RemoveName(nameText)
	return give(executorOut, executor, err)
}

//export fmgo_executors_json
func fmgo_executors_json(buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	text, err := executors.ListJSON()
	return giveText(buffer, capacity, lengthOut, text, err)
}
