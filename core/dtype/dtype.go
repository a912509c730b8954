package dtype

import (
	"math/bits"

	"ferrum_mem/core/device"
)

const opDType = "dtype"

// DType is the type of the elements of a tensor. The zero value is F32.
type DType int32

// The types of the C ABI. Numbers from GGUFBase on are GGUFBase plus the number of the type in
// a GGUF file.
const (
	F32    DType = 0
	F16    DType = 1
	BF16   DType = 2
	F64    DType = 3
	F8E4M3 DType = 4
	I8     DType = 5
	U8     DType = 6
	I16    DType = 7
	I32    DType = 8
	I64    DType = 9
	U16    DType = 10
	U32    DType = 11
	U64    DType = 12
	Bool   DType = 13
	F8E5M2 DType = 14
	F8E8M0 DType = 15
	F4E2M1 DType = 16
	I4     DType = 17
	U4     DType = 18

	// These types are stored and never converted.
	C64        DType = 19
	F6E2M3     DType = 20
	F6E3M2     DType = 21
	F8E4M3FNUZ DType = 22
	F8E5M2FNUZ DType = 23

	plainTypes = 24

	// GGUFBase is the first of the block types of GGUF.
	GGUFBase DType = 256
)

// class states which conversion rules apply.
type class uint8

const (
	opaque class = iota
	float
	signed
	unsigned
	boolean
)

// plain is a type whose elements are independent of each other.
type plain struct {
	name  string
	bits  uint8
	class class
}

func plainOf(t DType) (plain, bool) {
	if t < 0 || t >= plainTypes {
		return plain{}, false
	}
	return [plainTypes]plain{
		F32: {"f32", 32, float}, F16: {"f16", 16, float}, BF16: {"bf16", 16, float},
		F64: {"f64", 64, float}, F8E4M3: {"f8_e4m3", 8, float}, F8E5M2: {"f8_e5m2", 8, float},
		F8E8M0: {"f8_e8m0", 8, float}, F4E2M1: {"f4_e2m1", 4, float},
		I4: {"i4", 4, signed}, I8: {"i8", 8, signed}, I16: {"i16", 16, signed},
		I32: {"i32", 32, signed}, I64: {"i64", 64, signed},
		U4: {"u4", 4, unsigned}, U8: {"u8", 8, unsigned}, U16: {"u16", 16, unsigned},
		U32: {"u32", 32, unsigned}, U64: {"u64", 64, unsigned}, Bool: {"bool", 8, boolean},
		C64: {"c64", 64, opaque}, F6E2M3: {"f6_e2m3", 6, opaque}, F6E3M2: {"f6_e3m2", 6, opaque},
		F8E4M3FNUZ: {"f8_e4m3fnuz", 8, opaque}, F8E5M2FNUZ: {"f8_e5m2fnuz", 8, opaque},
	}[t], true
}

// Parse returns the plain type with a name, such as "bf16". Errors: CodeInvalidArgument.
func Parse(name string) (DType, error) {
	for t := DType(0); t < plainTypes; t++ {
		if p, _ := plainOf(t); p.name == name {
			return t, nil
		}
	}
	return 0, device.Errorf(device.CodeInvalidArgument, opDType, "%q is not a data type", name)
}

// Named returns the type with a name, such as "bf16" or "q4_k": unlike Parse it knows the block types.
// Errors: CodeInvalidArgument.
func Named(name string) (DType, error) {
	t, err := Parse(name)
	for number := range uint32(GGUFBase) {
		if err == nil {
			break
		}
		if block, known := GGUF(number); known && block.String() == name {
			return block, nil
		}
	}
	return t, err
}

// MarshalText returns the name of the type. Errors: CodeInvalidArgument for an unknown type.
func (t DType) MarshalText() ([]byte, error) {
	if !t.IsKnown() {
		return nil, device.Errorf(device.CodeInvalidArgument, opDType, "%d is not a data type", int32(t))
	}
	return []byte(t.String()), nil
}

// String returns the short name, such as "bf16" or "q4_k".
func (t DType) String() string {
	if p, ok := plainOf(t); ok {
		return p.name
	}
	if b, ok := blockOf(t); ok {
		return b.name
	}
	return "unknown"
}

// IsKnown states whether t is one of the types.
func (t DType) IsKnown() bool {
	elements, _ := t.Block()
	return elements != 0
}

// IsConvertible states whether Convert reads and writes the type.
func (t DType) IsConvertible() bool {
	p, ok := plainOf(t)
	return ok && p.class != opaque
}

// IsFloat states whether the type is a plain floating-point type.
func (t DType) IsFloat() bool {
	p, _ := plainOf(t)
	return p.class == float
}

// Block returns the smallest number of elements that fill whole bytes, and the number of these
// bytes. Both are 0 for an unknown type.
func (t DType) Block() (elements, bytes uint64) {
	if p, ok := plainOf(t); ok {
		switch p.bits {
		case 4:
			return 2, 1
		case 6:
			return 4, 3
		}
		return 1, uint64(p.bits) / 8
	}
	b, _ := blockOf(t)
	return b.elements, b.bytes
}

// Size returns the size in bytes of a number of elements. Errors: CodeInvalidArgument for an
// unknown type, and for elements that do not fill whole bytes or blocks; CodeOverflow.
func (t DType) Size(elements uint64) (uint64, error) {
	each, bytes := t.Block()
	if each == 0 {
		return 0, device.Errorf(device.CodeInvalidArgument, opDType, "%d is not a data type", int32(t))
	}
	if elements%each != 0 {
		return 0, device.Errorf(device.CodeInvalidArgument, opDType, "%d elements of %s are not a multiple of %d, which take %v together", elements, t, each, device.Size(bytes))
	}
	high, size := bits.Mul64(elements/each, bytes)
	if high != 0 {
		return 0, device.Errorf(device.CodeOverflow, opDType, "%d elements of %s take more than 2^64 bytes", elements, t)
	}
	return size, nil
}

// block is a type of GGUF.
type block struct {
	name            string
	elements, bytes uint64
}

// GGUF returns the type with a number in GGUF files; false: the number is unknown. For a number
// that stands for a plain type it returns the plain type.
func GGUF(number uint32) (DType, bool) {
	switch number {
	case 0:
		return F32, true
	case 1:
		return F16, true
	case 24:
		return I8, true
	case 25:
		return I16, true
	case 26:
		return I32, true
	case 27:
		return I64, true
	case 28:
		return F64, true
	case 30:
		return BF16, true
	}
	if number >= 256 {
		return 0, false
	}
	t := GGUFBase + DType(number)
	_, ok := blockOf(t)
	return t, ok
}

// blockOf returns the sizes of a block. They follow from the bits of the elements and from scales
// of 16, 8 or 6 bits for parts of them.
func blockOf(t DType) (block, bool) {
	const super = 256
	b := block{}
	switch t - GGUFBase {
	case 2:
		b = block{"q4_0", 32, 18}
	case 3:
		b = block{"q4_1", 32, 20}
	case 6:
		b = block{"q5_0", 32, 22}
	case 7:
		b = block{"q5_1", 32, 24}
	case 8:
		b = block{"q8_0", 32, 34}
	case 10:
		b = block{"q2_k", super, 84}
	case 11:
		b = block{"q3_k", super, 110}
	case 12:
		b = block{"q4_k", super, 144}
	case 13:
		b = block{"q5_k", super, 176}
	case 14:
		b = block{"q6_k", super, 210}
	case 15:
		b = block{"q8_k", super, 292}
	case 16:
		b = block{"iq2_xxs", super, 66}
	case 17:
		b = block{"iq2_xs", super, 74}
	case 18:
		b = block{"iq3_xxs", super, 98}
	case 19:
		b = block{"iq1_s", super, 50}
	case 20:
		b = block{"iq4_nl", 32, 18}
	case 21:
		b = block{"iq3_s", super, 110}
	case 22:
		b = block{"iq2_s", super, 82}
	case 23:
		b = block{"iq4_xs", super, 136}
	case 29:
		b = block{"iq1_m", super, 56}
	case 34:
		b = block{"tq1_0", super, 54}
	case 35:
		b = block{"tq2_0", super, 66}
	case 39:
		b = block{"mxfp4", 32, 17}
	case 40:
		b = block{"nvfp4", 64, 36}
	case 41:
		b = block{"q1_0", 128, 18}
	}
	return b, b.elements != 0
}

// GGUFNumber returns the number of a type in a GGUF file.
func GGUFNumber(t DType) (number uint32, known bool) {
	for number := range uint32(GGUFBase) {
		if of, is := GGUF(number); is && of == t {
			return number, true
		}
	}
	return 0, false
}
