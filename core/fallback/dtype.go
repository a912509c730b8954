package fallback

import (
	"math"

	"ferrum_mem/core/device"
)

// DType is the type of the elements of a buffer. The zero value is F32.
type DType int32

// The types of the C ABI.
const (
	F32  DType = 0
	F16  DType = 1
	BF16 DType = 2
	F64  DType = 3
	F8   DType = 4
	I8   DType = 5
	U8   DType = 6
	I16  DType = 7
	I32  DType = 8
	I64  DType = 9
)

var dtypes = [...]struct {
	name  string
	width uint64
}{
	F32: {"f32", 4}, F16: {"f16", 2}, BF16: {"bf16", 2}, F64: {"f64", 8}, F8: {"f8", 1},
	I8: {"i8", 1}, U8: {"u8", 1}, I16: {"i16", 2}, I32: {"i32", 4}, I64: {"i64", 8},
}

func (t DType) known() bool { return t >= 0 && int(t) < len(dtypes) }

// String returns the short name, such as "bf16".
func (t DType) String() string {
	if !t.known() {
		return "unknown"
	}
	return dtypes[t].name
}

// Width returns the bytes of an element; 0 for an unknown type.
func (t DType) Width() uint64 {
	if !t.known() {
		return 0
	}
	return dtypes[t].width
}

// Shape is a number of elements and their type.
type Shape struct {
	DType DType
	Len   uint64
}

// Bytes returns the bytes of all elements. Errors: CodeInvalidArgument for an unknown
// type, CodeOverflow for a size above 64 bits.
func (s Shape) Bytes() (uint64, error) {
	const op = "fallback.shape"
	if !s.DType.known() {
		return 0, device.Errorf(device.CodeInvalidArgument, op, "dtype %d is not from 0 to %d", int32(s.DType), len(dtypes)-1)
	}
	if s.Len > math.MaxUint64/s.DType.Width() {
		return 0, device.Errorf(device.CodeOverflow, op, "len %d: times %v of %v does not fit 64 bits",
			s.Len, device.Size(s.DType.Width()), s.DType)
	}
	return s.Len * s.DType.Width(), nil
}
