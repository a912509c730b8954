package device

import (
	"errors"
	"fmt"
	"strings"
)

// Error is the one typed error of the library. Only the export layer turns it into a
// status and an error record.
type Error struct {
	Code Code
	// Op is the operation that failed, such as "pool.alloc".
	Op string
	// Device is the text form of the device's id, or "".
	Device string
	// Native is the error number of the vendor's runtime or the system, or 0.
	Native int64
	// Message names the wrong value and what is wrong with it.
	Message string
	// Facts has the numbers of the message, for programs.
	Facts Facts
	// Err is the cause, or nil.
	Err error
}

// Errorf creates an Error; %w in the format sets its cause. The Error takes over the
// facts of a cause with the same code. The message does not repeat the operation of a cause.
func Errorf(code Code, op, format string, args ...any) *Error {
	wrapped := fmt.Errorf(format, args...)
	e := &Error{Code: code, Op: op, Message: wrapped.Error(), Err: errors.Unwrap(wrapped)}
	var cause *Error
	if !errors.As(e.Err, &cause) {
		return e
	}
	if cause.Code == code {
		e.Facts = cause.Facts
	}
	if cause.Op == op {
		e.Message = strings.Replace(e.Message, cause.Error(), cause.text(cause.Device, ""), 1)
	}
	return e
}

// On sets the device that the error is about, and returns the error. The message does not repeat
// the device of a cause.
func (e *Error) On(id ID) *Error {
	e.Device = id.String()
	for err := e.Err; err != nil; err = errors.Unwrap(err) {
		if cause, ok := err.(*Error); ok && cause.Device == e.Device {
			// The message may have the cause without its operation.
			for _, op := range []string{cause.Op, ""} {
				e.Message = strings.Replace(e.Message, cause.text(e.Device, op), cause.text("", op), 1)
			}
			break // the cause repeats none either
		}
	}
	return e
}

// About sets the device of an error that was created without it.
func About(id ID, err error) error {
	var typed *Error
	if errors.As(err, &typed) {
		return typed.On(id)
	}
	return err
}

// AtIndex adds the element of a list to the error that is about it.
func AtIndex(list string, index int, err error) error {
	var typed *Error
	if !errors.As(err, &typed) {
		return err
	}
	named := *typed
	named.Message = fmt.Sprintf("%s[%d]: %s", list, index, typed.Message)
	return &named
}

// WithNative sets the error number of the vendor or the system, and returns the error.
func (e *Error) WithNative(native int64) *Error {
	e.Native = native
	return e
}

func (e *Error) Error() string { return e.text(e.Device, e.Op) }

// text returns the message and the code after a device and an operation; "": it has none.
func (e *Error) text(device, op string) string {
	text := e.Message
	for _, before := range []string{op, device} {
		if before != "" {
			text = before + ": " + text
		}
	}
	code := " (" + e.Code.String() + ")"
	if strings.HasSuffix(text, code) {
		return text // the cause ends the message, and has the same code
	}
	return text + code
}

func (e *Error) Unwrap() error { return e.Err }

// Is makes errors.Is(err, device.CodeBusy) true for every Error of that code.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && e.Code == code
}

// CodeOf returns the code of the first Error in the chain. It is CodeOK for nil, and
// CodeInternal for an error of any other type.
func CodeOf(err error) Code {
	if err == nil {
		return CodeOK
	}
	var typed *Error
	if errors.As(err, &typed) {
		return typed.Code
	}
	var code Code
	if errors.As(err, &code) {
		return code
	}
	return CodeInternal
}

// Error makes a Code usable as a target of errors.Is.
func (c Code) Error() string { return c.String() }
