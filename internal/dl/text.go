package dl

import (
	"strings"
	"unsafe"
)

// maxText is the maximum length of a text from a library, and maxPath that of a path.
const (
	maxText = 256
	maxPath = 4096
)

// CallText calls a function f(code, const char **out) that returns a constant text through
// its second argument. false: it returned no text.
func CallText(function, code uintptr) (string, bool) {
	var text *byte
	if Call(function, code, Pointer(&text)) != 0 || text == nil {
		return "", false
	}
	return Constant(text), true
}

// Constant copies a text of the library, which ends with a NUL, up to a maximum length. nil is "".
func Constant(start *byte) string {
	return Text([]byte(textFrom(unsafe.Pointer(start), maxText)))
}

// TextAt copies a text of the library, which ends with a NUL, up to a maximum length. 0 is "".
func TextAt(address uintptr, most int) string {
	return strings.ToValidUTF8(textFrom(*(*unsafe.Pointer)(unsafe.Pointer(&address)), most), "?")
}

func textFrom(start unsafe.Pointer, most int) string {
	if start == nil {
		return ""
	}
	length := 0
	for length < most && *(*byte)(unsafe.Add(start, length)) != 0 {
		length++
	}
	return string(unsafe.Slice((*byte)(start), length))
}
