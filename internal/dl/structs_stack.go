//go:build amd64 && !windows

package dl

// HasStructs states that CallWithStruct works on this processor.
const HasStructs = true

// registers is the number of integers in registers in the System V convention.
const registers = 6

// A large struct is passed on the stack, with the arguments that do not fit in registers.
// It uses no register.
func callWithStruct(f *Function, before, words, after []uintptr) int32 {
	arguments := make([]uintptr, registers, registers+len(words))
	copy(arguments[copy(arguments, before):], after)
	return f.Call(append(arguments, words...)...)
}
