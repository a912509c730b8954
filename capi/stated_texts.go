package main

/*
#include "bridge.h"
*/
import "C"

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"ferrum_mem/core/device"
)

// statedText is a text that a function of the program states while it runs, by a number.
type statedText struct {
	number uint64
	// mu is held while text is used: the program may state the text on several threads.
	mu sync.Mutex
	// text is nil until the program has stated it.
	text []byte
}

// statedTexts are the texts of the functions that run now, by their numbers.
var (
	statedTexts    sync.Map
	lastStatedText atomic.Uint64
)

// newStatedText begins a function of the program. The caller calls end.
func newStatedText() *statedText {
	s := &statedText{number: lastStatedText.Add(1)}
	statedTexts.Store(s.number, s)
	return s
}

func (s *statedText) end() { statedTexts.Delete(s.number) }

func (s *statedText) get() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text
}

//export fmgo_text_state
func fmgo_text_state(number C.uint64_t, text *C.char, size C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	found, is := statedTexts.Load(uint64(number))
	if !is {
		return fail(device.Errorf(device.CodeInvalidHandle, "capi.text", "number %d: its callback has ended", uint64(number)))
	}
	if size > C.FERRUM_WEIGHTS_JSON_MAX {
		return fail(device.Errorf(device.CodeInvalidSize, "capi.text", "json_bytes is %v: want at most %v",
			device.Size(uint64(size)), device.Size(C.FERRUM_WEIGHTS_JSON_MAX)))
	}
	to := found.(*statedText)
	to.mu.Lock()
	defer to.mu.Unlock()
	to.text = append([]byte{}, unsafe.Slice((*byte)(unsafe.Pointer(text)), int(size))...)
	return 0
}
