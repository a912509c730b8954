package main

/*
#include "release.h"
*/
import "C"

// releaseOf is a release callback as the core has it.
func releaseOf(release C.ferrum_release_fn, userData C.uintptr_t) func() {
	return func() { C.fm_call_release(release, userData) }
}
