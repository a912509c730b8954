package main

/*
#include "release.h"
*/
import "C"

// releaseOf converts a release callback of C for the core.
func releaseOf(release C.ferrum_release_fn, userData C.uintptr_t) func() {
	return func() { C.fm_call_release(release, userData) }
}
