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

// unused is a channel without a receiver. The possible send makes the compiler put the argument of
// Pointer on the heap. A variable on the stack would move when the stack grows.
var unused = make(chan any)

// Pointer returns the address of a variable as an argument of Call. The caller must read
// the variable after the call, which keeps it alive until then.
func Pointer[T any](variable *T) uintptr {
	select {
	case unused <- variable:
	default:
	}
	return uintptr(unsafe.Pointer(variable))
}

// Text returns the text in a buffer up to its NUL, or the whole buffer. It removes invalid
// UTF-8 and reduces blanks to single ones.
func Text(buffer []byte) string {
	text, _, _ := strings.Cut(string(buffer), "\x00")
	return strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
}
