//go:build !cgo || windows || !(amd64 || arm64)

package cpu

// unbuilt states why this build has no kernels.
const unbuilt = "its kernels are C code for amd64 and arm64, and need a build with cgo"

// set is an instruction set with its kernels; this build has none.
type set struct {
	name         string
	isExecutable bool
}

func builtSets() []set { return nil }
