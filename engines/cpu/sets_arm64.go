//go:build cgo && arm64 && !windows

package cpu

import (
	"unsafe"

	"ferrum_mem/engines/cpu/neon"
)

// unbuilt states why this build has no kernels, or is empty.
const unbuilt = ""

// set is an instruction set with its kernels.
type set struct {
	name         string
	isExecutable bool
	table        unsafe.Pointer
}

// builtSets lists the sets of this build, the preferred one first.
func builtSets() []set { return []set{{"neon", true, neon.Table()}} }
