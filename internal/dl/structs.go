package dl

// CallWithStruct calls a function that takes integers, one struct by value, and more
// integers. The struct consists of integers, is larger than two words and is passed here as
// its words. The calling convention for such a struct depends on the processor. HasStructs
// states whether this package knows it. If HasStructs is false, CallWithStruct must not be
// called.
func CallWithStruct(f *Function, before, words, after []uintptr) int32 {
	return callWithStruct(f, before, words, after)
}
