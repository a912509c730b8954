// Code generated from include/ferrum_mem/books.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

//export fmgo_snapshot_json
func fmgo_snapshot_json(buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	text, err := lib.SnapshotJSON()
	return giveText(buffer, capacity, lengthOut, []byte(text), err)
}
