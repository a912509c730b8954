package dl

import (
	"runtime"
	"slices"
)

// registersAMD64 is how many integers go in registers in the convention of System V.
const registersAMD64 = 6

// CallWithStruct calls a function that takes integers, one struct by its value, and
// more integers. The struct is larger than two words and given as its words. On amd64
// that lies where arguments lie that registers have no room for, and no register is
// used up; on arm64, and on Windows, the function is given its address.
func CallWithStruct(f *Function, before, words, after []uintptr) int32 {
	if runtime.GOARCH == "amd64" && runtime.GOOS != "windows" {
		arguments := make([]uintptr, registersAMD64, registersAMD64+len(words))
		copy(arguments[copy(arguments, before):], after)
		return f.Call(append(arguments, words...)...)
	}
	// What is called may change its copy.
	own := slices.Clone(words)
	result := f.Call(slices.Concat(before, []uintptr{Pointer(&own[0])}, after)...)
	runtime.KeepAlive(own)
	return result
}
