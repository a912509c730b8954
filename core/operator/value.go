package operator

import (
	"math"
	"math/bits"
	"strconv"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/strided"
)

// MaxRank is the maximum number of dimensions of a tensor.
const MaxRank = strided.MostDimensions

// Value describes an input or an output. The zero value is a scalar of type F32.
type Value struct {
	Type dtype.DType
	// Shape has the number of elements along each dimension. It is empty for a scalar.
	Shape []uint64
	// Known has the elements of an I64 or I32 input that carries a shape, axes or sizes; nil: the
	// elements are not known. Infer ignores it for other inputs.
	Known []int64
	// IsAbsent states that an optional input is not given, or that an output is not wanted. The
	// other fields are zero.
	IsAbsent bool
}

// String returns the type and the shape, such as "f32[2, 3]".
func (v Value) String() string {
	if v.IsAbsent {
		return "absent"
	}
	return v.Type.String() + strided.Text(v.Shape)
}

// check returns why a tensor with this type and shape cannot exist: its rank, or its size. Errors:
// CodeInvalidArgument, CodeOverflow.
func (v Value) check() (device.Code, string) {
	if len(v.Shape) > MaxRank {
		return device.CodeInvalidArgument, "it has " + strconv.Itoa(len(v.Shape)) + " dimensions: at most " + strconv.Itoa(MaxRank) + " are possible"
	}
	elements, fits := strided.Count(v.Shape)
	each, bytes := v.Type.Block()
	if !fits {
		return device.CodeOverflow, "its number of elements is above 2^63"
	}
	if v.Type >= dtype.GGUFBase && (len(v.Shape) == 0 || v.Shape[len(v.Shape)-1]%each != 0) {
		return device.CodeInvalidArgument, "its last dimension is not a multiple of " + strconv.FormatUint(each, 10) + ", the elements of a block"
	}
	high, size := bits.Mul64(elements/each+min(elements%each, 1), bytes)
	if high != 0 || size > math.MaxInt64 {
		return device.CodeOverflow, "its size is above 2^63 bytes"
	}
	return device.CodeOK, ""
}
