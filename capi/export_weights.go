package main

/*
#include <stdlib.h>
#include "bridge.h"
*/
import "C"

import (
	"fmt"
	"sync"
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/core/weights"
	"ferrum_mem/core/weights/header"
)

// progressOf converts a progress callback of the caller; NULL: there is none.
func progressOf(progress C.ferrum_weights_progress_fn, data C.uintptr_t) *library.WeightCallback {
	if progress == nil {
		return nil
	}
	tokens := newWork()
	return &library.WeightCallback{Token: tokens[0], Tell: func(p weights.Progress) bool {
		var now C.ferrum_weights_progress
		putWeightsProgress(&now, &p)
		return C.fm_call_weights_progress(progress, &now, data, tokensOf(tokens), C.size_t(len(tokens))) == 0
	}}
}

// memoriesOf reads the memories of a load.
func memoriesOf(from *C.ferrum_weights_load_request) ([]library.TensorMemory, error) {
	f := fields{argument: "request"}
	if from.memory_count > C.FERRUM_WEIGHTS_MEMORIES_MAX {
		f.wrong(device.CodeInvalidArgument, "memory_count is %d: want at most %d", uint32(from.memory_count), C.FERRUM_WEIGHTS_MEMORIES_MAX)
		return nil, f.err
	}
	if from.memory_count > 0 && from.memories == nil {
		f.wrong(device.CodeNullPointer, "memories is NULL and memory_count %d", uint32(from.memory_count))
		return nil, f.err
	}
	var list []library.TensorMemory
	given := unsafe.Slice(from.memories, int(from.memory_count))
	for at := range given {
		memory, err := weightsMemoryOf(fmt.Sprintf("request->memories[%d]", at), &given[at])
		if err != nil {
			return nil, err
		}
		list = append(list, memory)
	}
	return list, nil
}

//export fmgo_weights_load
func fmgo_weights_load(handle C.uint64_t, request *C.ferrum_weights_load_request, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	f := fields{argument: "request"}
	var r library.LoadRequest
	f.known(request.flags, C.FERRUM_WEIGHTS_LOAD_MAP|C.FERRUM_WEIGHTS_LOAD_PRELOAD,
		"only FERRUM_WEIGHTS_LOAD_MAP (0x1) and FERRUM_WEIGHTS_LOAD_PRELOAD (0x2) are")
	r.Map = request.flags&C.FERRUM_WEIGHTS_LOAD_MAP != 0
	r.Preload = request.flags&C.FERRUM_WEIGHTS_LOAD_PRELOAD != 0
	r.Threads, r.StagingBytes = uint32(request.threads), uint64(request.staging_bytes)
	f.json(&r.Specs, request.specs_json, request.specs_bytes, "specs_json", "specs_bytes")
	if f.err != nil {
		return fail(f.err)
	}
	var err error
	if r.Memories, err = memoriesOf(request); err != nil {
		return fail(err)
	}
	r.Callback = progressOf(request.progress, dataOf(&request.user_data))
	object, err := loader.Weights("weights.load", uint64(handle))
	if err != nil {
		return fail(err)
	}
	set, err := object.Load(r)
	return give(out, set, library.CallError(err, object))
}

//export fmgo_weights_verify
func fmgo_weights_verify(handle C.uint64_t, sums *C.char, sumsBytes C.size_t, progress C.ferrum_weights_progress_fn, userData C.uintptr_t, buffer *C.char, capacity C.size_t, length *C.size_t) (status C.int32_t) {
	defer guard(&status)
	var known []byte
	if sums != nil {
		var err error
		if known, err = bytesOf("sums_bytes", sums, sumsBytes); err != nil {
			return fail(err)
		}
	}
	object, err := loader.Weights("weights.verify", uint64(handle))
	if err != nil {
		return fail(err)
	}
	text, err := object.Verify(known, uint64(capacity), progressOf(progress, userData))
	return giveText(buffer, capacity, length, text, library.CallError(err, object))
}

//export fmgo_weights_convert
func fmgo_weights_convert(handle C.uint64_t, path *C.char, request *C.ferrum_weights_convert_request) (status C.int32_t) {
	defer guard(&status)
	to, err := pathOf("path", path)
	if err != nil {
		return fail(err)
	}
	f := fields{argument: "request"}
	var r library.ConvertRequest
	f.reserved(uint64(request.reserved), "reserved")
	f.known(request.flags, C.FERRUM_WEIGHTS_CONVERT_REPLACE, "only FERRUM_WEIGHTS_CONVERT_REPLACE (0x1) is")
	r.Replace = request.flags&C.FERRUM_WEIGHTS_CONVERT_REPLACE != 0
	read(&r.Format, request.format)
	f.json(&r.Specs, request.specs_json, request.specs_bytes, "specs_json", "specs_bytes")
	f.json(&r.Texts, request.texts_json, request.texts_bytes, "texts_json", "texts_bytes")
	if f.err != nil {
		return fail(f.err)
	}
	r.Callback = progressOf(request.progress, dataOf(&request.user_data))
	object, err := loader.Weights("weights.convert", uint64(handle))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Convert(to, r), object))
}

// decodedFiles are the files of the decoders that run now, by the numbers of their descriptions.
var decodedFiles sync.Map // of header.Input

func decodedFileOf(file C.uint64_t) (header.Input, error) {
	found, is := decodedFiles.Load(uint64(file))
	if !is {
		return header.Input{}, device.Errorf(device.CodeInvalidHandle, "capi.weights_file", "file %d: its callback has ended", uint64(file))
	}
	return found.(header.Input), nil
}

//export fmgo_weights_file_read
func fmgo_weights_file_read(file, offset C.uint64_t, destination *C.char, size C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	f, err := decodedFileOf(file)
	if err != nil {
		return fail(err)
	}
	if uint64(offset) > f.Size || uint64(size) > f.Size-uint64(offset) {
		return fail(device.Errorf(device.CodeInvalidSize, "capi.weights_file", "%s: %v at %d are beyond the end of the file of %v",
			f.Name, device.Size(uint64(size)), uint64(offset), device.Size(f.Size)))
	}
	if size == 0 {
		return 0
	}
	to := unsafe.Slice((*byte)(unsafe.Pointer(destination)), int(size))
	if n, err := f.Bytes.ReadAt(to, int64(offset)); n < len(to) {
		return fail(device.Errorf(device.CodeIO, "capi.weights_file", "%s: %v at %d cannot be read: %w", f.Name, device.Size(len(to)), uint64(offset), err))
	}
	return 0
}

//export fmgo_weights_decoder_add
func fmgo_weights_decoder_add(decoder *C.ferrum_weights_decoder, number *C.uint32_t, out *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	f := fields{argument: "decoder"}
	made := library.WeightDecoder{Token: newToken()}
	f.reserved(uint64(decoder.reserved), "reserved")
	f.text(&made.Name, decoder.format, "format")
	if f.err != nil {
		return fail(f.err)
	}
	token, data := C.uint64_t(made.Token), dataOf(&decoder.user_data)
	if recognises := decoder.recognises; recognises != nil {
		made.Recognises = func(start []byte, size uint64) bool {
			return C.fm_call_weights_recognises(recognises, unsafe.Pointer(unsafe.SliceData(start)), C.size_t(len(start)), C.uint64_t(size), data, token) != 0
		}
	}
	if decode := decoder.decode; decode != nil {
		made.Decode = func(in header.Input) ([]byte, error) { return callDecode(decode, in, data, token) }
	}
	added, handle, err := loader.DecoderAdd(made)
	if err != nil {
		return fail(err)
	}
	*number = C.uint32_t(added)
	return give(out, handle, nil)
}

// callDecode makes a decoder of the program describe a file, and returns the description.
func callDecode(decode C.ferrum_weights_decode_fn, in header.Input, data C.uintptr_t, token C.uint64_t) ([]byte, error) {
	description := newStatedText()
	defer description.end()
	decodedFiles.Store(description.number, in)
	defer decodedFiles.Delete(description.number)
	name := C.CString(in.Name)
	defer C.free(unsafe.Pointer(name))
	if status := C.fm_call_weights_decode(decode, C.uint64_t(description.number), C.uint64_t(in.Size), name, data, token); status != 0 {
		code := device.Code(status)
		if status > 0 {
			code = device.CodeInvalidArgument
		}
		return nil, device.Errorf(code, "capi.weights_decoder", "its function returned %d", int32(status))
	}
	return description.get(), nil
}
