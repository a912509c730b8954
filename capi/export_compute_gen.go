// Code generated from include/ferrum_mem/compute.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import "ferrum_mem/core/library"

//export fmgo_compute_validate
func fmgo_compute_validate(config *C.ferrum_compute_config) (status C.int32_t) {
	defer guard(&status)
	configGiven, err := computeConfigOf("config", config)
	if err != nil {
		return fail(err)
	}
	return done(computes.Validate(configGiven))
}

//export fmgo_compute_open
func fmgo_compute_open(config *C.ferrum_compute_config, computeOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	configGiven, err := computeConfigOf("config", config)
	if err != nil {
		return fail(err)
	}
	compute, err := computes.Open(configGiven)
	return give(computeOut, compute, err)
}

//export fmgo_compute_close
func fmgo_compute_close(compute C.uint64_t, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	force, err := forced(flags)
	if err != nil {
		return fail(err)
	}
	object, err := computes.Compute("compute.close", uint64(compute))
	if err != nil {
		return fail(err)
	}
	return done(object.Close(force))
}

//export fmgo_compute_get_manager
func fmgo_compute_get_manager(compute C.uint64_t, managerOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := computes.Compute("compute.manager", uint64(compute))
	if err != nil {
		return fail(err)
	}
	managerFound, err := object.Manager()
	return give(managerOut, managerFound, library.CallError(err, object))
}

//export fmgo_compute_capabilities_json
func fmgo_compute_capabilities_json(compute C.uint64_t, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	object, err := computes.Compute("compute.capabilities_json", uint64(compute))
	if err != nil {
		return fail(err)
	}
	text, err := object.CapabilitiesJSON()
	return giveText(buffer, capacity, lengthOut, text, library.CallError(err, object))
}

//export fmgo_compute_status_json
func fmgo_compute_status_json(compute C.uint64_t, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	object, err := computes.Compute("compute.status_json", uint64(compute))
	if err != nil {
		return fail(err)
	}
	text, err := object.StatusJSON()
	return giveText(buffer, capacity, lengthOut, text, library.CallError(err, object))
}

//export fmgo_compute_synchronize
func fmgo_compute_synchronize(compute C.uint64_t, timeoutNs C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := computes.Compute("compute.synchronize", uint64(compute))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Synchronize(timeoutOf(timeoutNs)), object))
}

//export fmgo_compute_backends_json
func fmgo_compute_backends_json(buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	text, err := computes.BackendsJSON()
	return giveText(buffer, capacity, lengthOut, text, err)
}

//export fmgo_compute_find_json
func fmgo_compute_find_json(requirementsText *C.char, requirementsBytes C.size_t, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	requirementsTextGiven, err := bytesOf("requirements_bytes", requirementsText, requirementsBytes)
	if err != nil {
		return fail(err)
	}
	text, err := computes.FindJSON(requirementsTextGiven)
	return giveText(buffer, capacity, lengthOut, text, err)
}

//export fmgo_op_prepare
func fmgo_op_prepare(compute C.uint64_t, name *C.char, attributesText *C.char, attributesBytes C.size_t, opset C.uint32_t, opOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	nameText, err := textOf("name", name)
	if err != nil {
		return fail(err)
	}
	attributesTextGiven, err := bytesOf("attributes_bytes", attributesText, attributesBytes)
	if err != nil {
		return fail(err)
	}
	op, err := computes.Prepare(uint64(compute), nameText, attributesTextGiven, uint32(opset))
	return give(opOut, op, err)
}

//export fmgo_op_destroy
func fmgo_op_destroy(op C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := computes.Op("op.destroy", uint64(op))
	if err != nil {
		return fail(err)
	}
	return done(object.Destroy())
}

//export fmgo_op_pack
func fmgo_op_pack(op C.uint64_t, input C.uint32_t, tensor C.uint64_t, memory *C.ferrum_weights_memory, stream C.uint64_t, packedOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	memoryGiven, err := weightsMemoryOf("memory", memory)
	if err != nil {
		return fail(err)
	}
	object, err := computes.Op("op.pack", uint64(op))
	if err != nil {
		return fail(err)
	}
	packed, err := object.Pack(uint32(input), uint64(tensor), memoryGiven, uint64(stream))
	return give(packedOut, packed, library.CallError(err, object))
}

//export fmgo_sequence_create
func fmgo_sequence_create(compute C.uint64_t, sequenceOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	sequence, err := computes.CreateSequence(uint64(compute))
	return give(sequenceOut, sequence, err)
}

//export fmgo_sequence_run
func fmgo_sequence_run(sequence C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := computes.Sequence("sequence.run", uint64(sequence))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Run(uint64(stream)), object))
}

//export fmgo_sequence_destroy
func fmgo_sequence_destroy(sequence C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := computes.Sequence("sequence.destroy", uint64(sequence))
	if err != nil {
		return fail(err)
	}
	return done(object.Destroy())
}

//export fmgo_compute_register
func fmgo_compute_register(backend *C.ferrum_compute_backend, registrationOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	backendGiven, err := computeBackendOf("backend", backend)
	if err != nil {
		return fail(err)
	}
	registration, err := computes.Register(backendGiven)
	return give(registrationOut, registration, err)
}
