package operator

import (
	"strings"

	"ferrum_mem/core/dtype"
)

// Types is a set of data types. Only types that core/dtype converts or dequantises are members.
type Types uint32

// Sets that several operators take. ONNX added BF16 with opset 13 and smaller types later.
const (
	standardFloats = 1<<dtype.F16 | 1<<dtype.F32 | 1<<dtype.F64
	brain          = 1 << dtype.BF16
	floats         = standardFloats | brain
	wideIntegers   = 1<<dtype.I32 | 1<<dtype.I64 | 1<<dtype.U32 | 1<<dtype.U64
	byteIntegers   = 1<<dtype.I8 | 1<<dtype.U8
	narrowIntegers = byteIntegers | 1<<dtype.I16 | 1<<dtype.U16
	integers       = wideIntegers | narrowIntegers
	booleans       = 1 << dtype.Bool
	indices        = 1<<dtype.I32 | 1<<dtype.I64
	shapeNumbers   = 1 << dtype.I64
	float8         = 1<<dtype.F8E4M3 | 1<<dtype.F8E5M2
	fourBits       = 1<<dtype.I4 | 1<<dtype.U4

	q40 = dtype.GGUFBase + 2
	q80 = dtype.GGUFBase + 8
	// Block types have the bits after those of plain types.
	firstBlock = 24
	blocks     = 1<<firstBlock | 1<<(firstBlock+1)
)

// member returns the set with one type. It is empty for a type that no operator takes.
func member(t dtype.DType) Types {
	switch {
	case t == q40:
		return 1 << firstBlock
	case t == q80:
		return 1 << (firstBlock + 1)
	case t >= 0 && t < firstBlock:
		return 1 << t
	}
	return 0
}

// Has states whether a type is in the set.
func (s Types) Has(t dtype.DType) bool { return s&member(t) != 0 }

// List returns the types of the set in the order of their numbers.
func (s Types) List() []dtype.DType {
	var list []dtype.DType
	for t := dtype.DType(0); t < firstBlock; t++ {
		if s.Has(t) {
			list = append(list, t)
		}
	}
	for _, t := range []dtype.DType{q40, q80} {
		if s.Has(t) {
			list = append(list, t)
		}
	}
	return list
}

// String lists the names of the types, such as "f32, f16, bf16".
func (s Types) String() string {
	var names []string
	for _, t := range s.List() {
		names = append(names, t.String())
	}
	return strings.Join(names, ", ")
}

// numeric returns the types of arithmetic at a version: ONNX 13 added BF16, 14 small integers.
func numeric(version int) Types {
	set := Types(standardFloats | wideIntegers)
	if version >= 13 {
		set |= brain
	}
	if version >= 14 {
		set |= narrowIntegers
	}
	return set
}

// floating returns the floating-point types of an operator at a version.
func floating(version int) Types {
	if version >= 13 {
		return floats
	}
	return standardFloats
}

// movable returns the types of operators that only move elements. since is the version from which
// the operator takes BF16.
func movable(version, since int) Types {
	set := Types(standardFloats | integers | booleans)
	if version >= since {
		set |= brain
	}
	return set
}

// reshapable returns the types of operators that keep the elements and change the shape, and of
// Cast. They gained the small types first.
func reshapable(version int) Types {
	set := movable(version, 13)
	if version >= 19 {
		set |= float8
	}
	if version >= 21 {
		set |= fourBits
	}
	if version >= 23 {
		set |= 1 << dtype.F4E2M1
	}
	if version >= 24 {
		set |= 1 << dtype.F8E8M0
	}
	return set
}
