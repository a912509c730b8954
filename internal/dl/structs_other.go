//go:build !amd64 && !arm64

package dl

// HasStructs states that CallWithStruct does not work on this processor.
const HasStructs = false

func callWithStruct(*Function, []uintptr, []uintptr, []uintptr) int32 {
	panic("dl: the convention for structs is not known for this processor")
}
