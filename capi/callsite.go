package main

/*
#include "callsite.h"
*/
import "C"

import (
	"strings"
	"sync"

	"ferrum_mem/core/memcheck"
)

// callSites gives debugging pools the call sites of their callers.
func callSites() memcheck.Hooks {
	var mu sync.Mutex
	pools := 0
	return memcheck.Hooks{
		Watch: func(on bool) {
			mu.Lock()
			defer mu.Unlock()
			if on {
				pools++
			} else {
				pools--
			}
			if on && pools == 1 || pools == 0 {
				C.fm_call_sites_watch(C.int32_t(pools))
			}
		},
		Read: func(to []uintptr) int {
			var frames [memcheck.FramesMax]C.uintptr_t
			n := min(int(C.fm_call_site_read(&frames[0], memcheck.FramesMax)), len(to))
			for i := range n {
				to[i] = uintptr(frames[i])
			}
			return n
		},
		Describe: func(frames []uintptr) []string {
			lines := make([]string, 0, len(frames))
			var line [256]C.char
			for _, frame := range frames {
				if text := C.fm_lines_text(C.uintptr_t(frame)); text != nil {
					said := strings.ToValidUTF8(C.GoString(text), "?")
					lines = append(lines, strings.Split(strings.TrimSuffix(said, "\n"), "\n")...)
					continue
				}
				C.fm_call_site_describe(C.uintptr_t(frame), &line[0], C.size_t(len(line)))
				lines = append(lines, C.GoString(&line[0]))
			}
			return lines
		},
	}
}
