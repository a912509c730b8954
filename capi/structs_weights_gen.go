// Code generated from include/ferrum_mem/weights.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import (
	"ferrum_mem/core/library"
	"ferrum_mem/core/weights"
)

// weightsSourceOf reads a ferrum_weights_source.
func weightsSourceOf(argument string, from *C.ferrum_weights_source) (to library.WeightsSource, err error) {
	f := fields{argument: argument}
	read(&to.Kind, from.kind)
	f.path(&to.Path, from.path, "path")
	readPointer(&to.Data, &from.data)
	read(&to.DataBytes, from.data_bytes)
	read(&to.Format, from.format)
	read(&to.Decoder, from.decoder)
	read(&to.RawDType, from.raw_dtype)
	read(&to.RawRank, from.raw_rank)
	copyNumbers(to.RawShape[:], from.raw_shape[:])
	return to, f.err
}

// putTensorInfo fills a ferrum_tensor_info.
func putTensorInfo(to *C.ferrum_tensor_info, from *library.TensorInfo) {
	set(&to.dtype, from.DType)
	set(&to.rank, from.Rank)
	to.flags = 0
	setFlag(&to.flags, C.FERRUM_TENSOR_TIED, from.Tied)
	setFlag(&to.flags, C.FERRUM_TENSOR_COMPRESSED, from.Compressed)
	copyNumbers(to.shape[:], from.Shape[:])
	set(&to.address, from.Address)
	set(&to.size_bytes, from.SizeBytes)
	putText(to.device[:], from.Device)
}

// putWeightsProgress fills a ferrum_weights_progress.
func putWeightsProgress(to *C.ferrum_weights_progress, from *weights.Progress) {
	setTruth(&to.is_over, from.IsOver)
	set(&to.done_bytes, from.DoneBytes)
	set(&to.total_bytes, from.TotalBytes)
	set(&to.bytes_per_second, from.BytesPerSecond)
}

// weightsMemoryOf reads a ferrum_weights_memory.
func weightsMemoryOf(argument string, from *C.ferrum_weights_memory) (to library.TensorMemory, err error) {
	f := fields{argument: argument}
	read(&to.Pool, from.pool.id)
	read(&to.VPool, from.vpool.id)
	read(&to.ElasticPool, from.elastic_pool.id)
	read(&to.Device, from.device.id)
	f.text(&to.Model, from.model, "model")
	read(&to.OffsetBytes, from.offset_bytes)
	f.text(&to.Tag, from.tag, "tag")
	f.reserved(uint64(from.reserved), "reserved")
	return to, f.err
}
