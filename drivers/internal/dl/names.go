package dl

import (
	"slices"
	"strings"
	"unsafe"
)

func sortedList(names []string) string {
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// nobody receives from it: that somebody might puts what Pointer is given on the heap. A
// variable on the stack would move when the stack grows.
var nobody = make(chan any)

// Pointer is the address of a variable as an argument of Call. The caller reads the
// variable after the call, which keeps it alive until then.
func Pointer[T any](variable *T) uintptr {
	select {
	case nobody <- variable:
	default:
	}
	return uintptr(unsafe.Pointer(variable))
}

// Text is the text in a buffer up to its NUL, or all of it, without what is no
// UTF-8 and with single blanks.
func Text(buffer []byte) string {
	text, _, _ := strings.Cut(string(buffer), "\x00")
	return strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
}
