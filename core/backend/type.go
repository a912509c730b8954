package backend

import (
	"fmt"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/similar"
)

// Type is the kind of a backend. The zero value is Candle.
type Type int32

// The types of the C ABI.
const (
	Candle      Type = 0
	ONNXRuntime Type = 1
	TensorRT    Type = 2
	Metal       Type = 3
	CPU         Type = 4
	// Custom is the type of backends that a program registers.
	Custom Type = 5
)

// types has for each type its name, and why this build has no backend of it; "": it may have one.
var types = [...]struct{ name, absence string }{
	Candle:      {"candle", "Candle is a library of Rust, and this build has no binding to it"},
	ONNXRuntime: {name: "onnx_runtime"},
	TensorRT:    {"tensorrt", "this build has no binding to TensorRT"},
	Metal:       {"metal", "this build has no engine for Metal"},
	CPU:         {name: "cpu"},
	Custom:      {name: "custom"},
}

// Types lists all types in the order of their numbers, available or not.
func Types() []Type {
	list := make([]Type, len(types))
	for i := range list {
		list[i] = Type(i)
	}
	return list
}

func typeNames() []string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.name
	}
	return names
}

// ParseType returns the type with a name, such as "cpu". Errors: CodeInvalidArgument, which names
// the nearest.
func ParseType(name string) (Type, error) {
	for i, t := range types {
		if t.name == name {
			return Type(i), nil
		}
	}
	return 0, device.Errorf(device.CodeInvalidArgument, "backend.parse_type", "backend type %s is not known; the nearest is %q; the types are %s",
		shortened(name), similar.Names(name, typeNames(), 1)[0], strings.Join(typeNames(), ", "))
}

func (t Type) isKnown() bool { return t >= 0 && int(t) < len(types) }

// String returns the name of the type, such as "onnx_runtime".
func (t Type) String() string {
	if !t.isKnown() {
		return fmt.Sprintf("unknown (%d)", int32(t))
	}
	return types[t].name
}

// MarshalText returns String for a known type.
func (t Type) MarshalText() ([]byte, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	return []byte(t.String()), nil
}

// UnmarshalText parses the result of MarshalText.
func (t *Type) UnmarshalText(text []byte) (err error) {
	*t, err = ParseType(string(text))
	return err
}

func (t Type) check() error {
	if !t.isKnown() {
		return device.Errorf(device.CodeInvalidArgument, opConfig, "backend_type %d is not from 0 to %d", int32(t), len(types)-1)
	}
	return nil
}

// Availability returns why no backend of the type can be opened in this build; nil: it may be
// possible. Errors: CodeUnsupported; CodeInvalidArgument for an unknown type.
func (t Type) Availability() error {
	if err := t.check(); err != nil {
		return err
	}
	if why := types[t].absence; why != "" {
		return device.Errorf(device.CodeUnsupported, "backend.availability", "backend %s: not available: %s", t, why)
	}
	return nil
}
