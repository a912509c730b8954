// Code generated from include/ferrum_mem/passes.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

//export fmgo_pass_register
func fmgo_pass_register(pass *C.ferrum_pass, registrationOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	passGiven, err := passOf("pass", pass)
	if err != nil {
		return fail(err)
	}
	registration, err := executors.RegisterPass(passGiven)
	return give(registrationOut, registration, err)
}
