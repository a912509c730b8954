// Code generated from include/ferrum_mem/managers.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

//export fmgo_manager_destroy
func fmgo_manager_destroy(manager C.uint64_t, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	force, err := forced(flags)
	if err != nil {
		return fail(err)
	}
	return done(lib.ManagerDestroy(uint64(manager), force))
}
