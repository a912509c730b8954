//go:build cgo && amd64 && !windows

package cpu

import (
	"unsafe"

	"golang.org/x/sys/cpu"

	"ferrum_mem/engines/cpu/avx2"
	"ferrum_mem/engines/cpu/avx512"
	"ferrum_mem/engines/cpu/sse2"
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
func builtSets() []set {
	x := &cpu.X86
	hasAVX2 := x.HasAVX2 && x.HasFMA && x.HasBMI1 && x.HasBMI2
	hasAVX512 := hasAVX2 && x.HasAVX512F && x.HasAVX512BW && x.HasAVX512CD && x.HasAVX512DQ && x.HasAVX512VL
	return []set{
		{"avx512", hasAVX512, avx512.Table()},
		{"avx2", hasAVX2, avx2.Table()},
		{"sse2", true, sse2.Table()},
	}
}
