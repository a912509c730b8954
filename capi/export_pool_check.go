package main

/*
#include "bridge.h"
*/
import "C"

//export fmgo_pool_check
func fmgo_pool_check(handle C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	return done(lib.PoolCheck(uint64(handle)))
}
