package dl

// CallWithStruct calls a function that takes integers, one struct by its value, and
// more integers. The struct holds integers, is larger than two words and given as its
// words. Where a convention passes it is the matter of the processor: HasStructs says
// whether that one is known here, and without it CallWithStruct must not be called.
func CallWithStruct(f *Function, before, words, after []uintptr) int32 {
	return callWithStruct(f, before, words, after)
}
