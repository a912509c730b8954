package dl

import "unsafe"

// maxText is the maximum length of a text from a library.
const maxText = 256

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
	if start == nil {
		return ""
	}
	length := 0
	for length < maxText && *(*byte)(unsafe.Add(unsafe.Pointer(start), length)) != 0 {
		length++
	}
	return Text([]byte(unsafe.String(start, length)))
}
