// Code generated from include/ferrum_mem/layers.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

//export fmgo_layer_register
func fmgo_layer_register(layer *C.ferrum_layer, registrationOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	layerGiven, err := layerOf("layer", layer)
	if err != nil {
		return fail(err)
	}
	registration, err := layers.Register(layerGiven)
	return give(registrationOut, registration, err)
}

//export fmgo_layers_json
func fmgo_layers_json(buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	text, err := layers.ListJSON()
	return giveText(buffer, capacity, lengthOut, text, err)
}
