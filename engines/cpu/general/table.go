//go:build cgo && (amd64 || arm64) && !windows

package general

/*
#cgo CFLAGS: -std=gnu11 -O2 -fvisibility=hidden -Wall -Wextra
#cgo LDFLAGS: -lm
#include "general.h"
*/
import "C"

import (
	"unsafe"

	// A change of the interface gives this package a new build.
	_ "ferrum_mem/engines/cpu/kernels"
)

// Table returns the address of the table of kernels, an array of struct fk_kernel.
func Table() unsafe.Pointer { return unsafe.Pointer(&C.fk_generals) }
