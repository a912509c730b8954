//go:build cgo && amd64 && !windows

package avx2

/*
#cgo CFLAGS: -std=gnu11 -O3 -fvisibility=hidden -Wall -Wextra -march=x86-64-v3
// A build with a sanitizer need not be fast. With -O1 it compiles in a third of the time.
#cgo asan race CFLAGS: -O1 -g1
#include "../kernels/interface.h"
extern const struct fk_table fk_table_avx2;
*/
import "C"

import (
	"unsafe"

	// A change of the source gives this package a new build.
	_ "ferrum_mem/engines/cpu/kernels"
)

// Table returns the address of the table of kernels, a struct fk_table.
func Table() unsafe.Pointer { return unsafe.Pointer(&C.fk_table_avx2) }
