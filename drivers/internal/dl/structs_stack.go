//go:build amd64 && !windows

package dl

// HasStructs says that CallWithStruct works here.
const HasStructs = true

// registers is how many integers go in registers in the convention of System V.
const registers = 6

// A large struct lies where arguments lie that registers have no room for, and uses no
// register up.
func callWithStruct(f *Function, before, words, after []uintptr) int32 {
	arguments := make([]uintptr, registers, registers+len(words))
	copy(arguments[copy(arguments, before):], after)
	return f.Call(append(arguments, words...)...)
}
