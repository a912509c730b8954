package dtype

import (
	"encoding/binary"
	"math"
	"math/bits"

	"ferrum_mem/core/device"
)

// tile is the largest number of elements that Convert holds as wide values at a time.
const tile = 1024

// Convert converts the elements of from, of type fromType, to toType and writes them into to. Both
// have whole bytes of the same number of elements, and they do not overlap. doc.go documents the
// rules. Errors: CodeUnsupported for a type that is stored and never converted, and for integers that are
// to be quantised; CodeInvalidArgument for sizes that do not agree. After an error to is unchanged.
func Convert(toType DType, to []byte, fromType DType, from []byte) error {
	for _, t := range []DType{fromType, toType} {
		if !t.IsConvertible() && !(t == toType && t.CanQuantise()) {
			return device.Errorf(device.CodeUnsupported, opDType, "values of type %s cannot be converted", t)
		}
	}
	elements, err := countIn(fromType, uint64(len(from)))
	if err != nil {
		return err
	}
	if wanted, err := toType.Size(elements); err != nil || wanted != uint64(len(to)) {
		return device.Errorf(device.CodeInvalidArgument, opDType, "%v do not hold %d elements of %s", device.Size(len(to)), elements, toType)
	}
	if fromType == toType {
		copy(to, from)
		return nil
	}
	if toType.CanQuantise() {
		return quantise(toType, to, fromType, from)
	}
	if convertFast(toType, to, fromType, from) {
		return nil
	}
	source, _ := plainOf(fromType)
	if source.class == float {
		convertFloats(toType, to, fromType, from, elements)
		return nil
	}
	convertIntegers(toType, to, fromType, from, elements)
	return nil
}

// countIn returns how many elements a number of bytes holds.
func countIn(t DType, size uint64) (uint64, error) {
	each, bytes := t.Block()
	if size%bytes != 0 {
		return 0, device.Errorf(device.CodeInvalidArgument, opDType, "%v are not a whole number of elements of %s, which take %d", device.Size(size), t, bytes)
	}
	return size / bytes * each, nil
}

// convertFast handles the most frequent conversions of models, without a wide intermediate value.
func convertFast(toType DType, to []byte, fromType DType, from []byte) bool {
	little := binary.LittleEndian
	switch {
	case fromType == BF16 && toType == F32:
		for i := 0; i+1 < len(from); i += 2 {
			little.PutUint32(to[2*i:], uint32(little.Uint16(from[i:]))<<16)
		}
	case fromType == F16 && toType == F32:
		for i := 0; i+1 < len(from); i += 2 {
			little.PutUint32(to[2*i:], halfToSingle(little.Uint16(from[i:])))
		}
	case fromType == F32 && toType == BF16:
		for i := 0; i+3 < len(from); i += 4 {
			little.PutUint16(to[i/2:], singleToBrain(little.Uint32(from[i:])))
		}
	case fromType == F32 && toType == F16:
		for i := 0; i+3 < len(from); i += 4 {
			little.PutUint16(to[i/2:], singleToHalf(little.Uint32(from[i:])))
		}
	default:
		return false
	}
	return true
}

// quantise converts floating-point elements to whole blocks, a tile at a time. The sizes agree.
func quantise(toType DType, to []byte, fromType DType, from []byte) error {
	source, isPlain := plainOf(fromType)
	if !isPlain || source.class != float {
		return device.Errorf(device.CodeUnsupported, opDType, "values of type %s are not quantised: floating-point values are", fromType)
	}
	write := quantiser(toType)
	each, width := toType.Block()
	var wide [4 * tile]byte
	var elements [tile]float32
	for len(to) > 0 {
		blocks := min(tile/each, uint64(len(to))/width)
		count := blocks * each
		bytes := count * uint64(source.bits) / 8
		if err := Convert(F32, wide[:4*count], fromType, from[:bytes]); err != nil {
			return err
		}
		for i := range elements[:count] {
			elements[i] = math.Float32frombits(binary.LittleEndian.Uint32(wide[4*i:]))
		}
		for i := range blocks {
			write(to[i*width:(i+1)*width], elements[i*each:(i+1)*each])
		}
		to, from = to[blocks*width:], from[bytes:]
	}
	return nil
}

// convertFloats converts through 64-bit floating point, which can store every value of every
// smaller type.
func convertFloats(toType DType, to []byte, fromType DType, from []byte, elements uint64) {
	var wide [tile]float64
	target, _ := plainOf(toType)
	for at := uint64(0); at < elements; at += tile {
		part := wide[:min(tile, elements-at)]
		readFloats(part, fromType, from, at)
		if target.class == float {
			writeFloats(toType, to, at, part)
			continue
		}
		for i, value := range part {
			writeInteger(target, to, at+uint64(i), integerOf(target, value))
		}
	}
}

// convertIntegers converts through 64-bit integers.
func convertIntegers(toType DType, to []byte, fromType DType, from []byte, elements uint64) {
	var wide [tile]float64
	source, _ := plainOf(fromType)
	target, _ := plainOf(toType)
	for at := uint64(0); at < elements; at += tile {
		part := wide[:min(tile, elements-at)]
		for i := range part {
			value := readInteger(source, from, at+uint64(i))
			if target.class != float {
				if target.class == boolean && value != 0 {
					value = 1
				}
				writeInteger(target, to, at+uint64(i), value)
				continue
			}
			part[i] = oddFloat(value, source.class == signed, toType != F64)
		}
		if target.class == float {
			writeFloats(toType, to, at, part)
		}
	}
}

// oddFloat converts an integer to 64-bit floating point. If the result is rounded again to a
// smaller type, the bits that do not fit set the last bit (round to odd). So the second rounding
// has the result of a single rounding.
func oddFloat(value uint64, isSigned, roundsAgain bool) float64 {
	sign := 1.0
	if isSigned && int64(value) < 0 {
		sign, value = -1, -value
	}
	if lost := bits.Len64(value) - 53; lost > 0 && roundsAgain {
		rest := value & (1<<lost - 1)
		value &^= 1<<lost - 1
		if rest != 0 {
			value |= 1 << lost
		}
	}
	return sign * float64(value)
}

// integerOf drops the fraction and limits the value to the range of the type.
func integerOf(target plain, value float64) uint64 {
	switch {
	case target.class == boolean:
		if value != 0 { // NaN too
			return 1
		}
		return 0
	case value != value:
		return 0
	case target.class == unsigned:
		switch {
		case value <= 0:
			return 0
		case value >= math.Ldexp(1, int(target.bits)):
			return 1<<target.bits - 1
		}
		return uint64(value)
	}
	end := math.Ldexp(1, int(target.bits)-1)
	switch {
	case value >= end:
		return 1<<(target.bits-1) - 1
	case value <= -end:
		return -(1 << (target.bits - 1))
	}
	return uint64(int64(value))
}

func readFloats(values []float64, t DType, from []byte, at uint64) {
	little := binary.LittleEndian
	l := layoutOf(t)
	for i := range values {
		n := at + uint64(i)
		switch t {
		case F64:
			values[i] = math.Float64frombits(little.Uint64(from[8*n:]))
		case F32:
			values[i] = float64(math.Float32frombits(little.Uint32(from[4*n:])))
		case F16, BF16:
			values[i] = l.decode(uint32(little.Uint16(from[2*n:])))
		case F8E8M0:
			values[i] = decodePower(uint32(from[n]))
		case F4E2M1:
			values[i] = l.decode(uint32(from[n/2] >> (n % 2 * 4) & 0xF))
		default:
			values[i] = l.decode(uint32(from[n]))
		}
	}
}

func writeFloats(t DType, to []byte, at uint64, values []float64) {
	little := binary.LittleEndian
	l := layoutOf(t)
	for i, value := range values {
		n := at + uint64(i)
		switch t {
		case F64:
			little.PutUint64(to[8*n:], math.Float64bits(value))
		case F32:
			little.PutUint32(to[4*n:], math.Float32bits(float32(value)))
		case F16, BF16:
			little.PutUint16(to[2*n:], uint16(l.encode(value)))
		case F8E8M0:
			to[n] = byte(encodePower(value))
		case F4E2M1:
			putNibble(to, n, byte(l.encode(value)))
		default:
			to[n] = byte(l.encode(value))
		}
	}
}

// readInteger returns an element with its sign extended.
func readInteger(source plain, from []byte, n uint64) uint64 {
	little := binary.LittleEndian
	var value uint64
	switch source.bits {
	case 4:
		value = uint64(from[n/2] >> (n % 2 * 4) & 0xF)
	case 8:
		value = uint64(from[n])
	case 16:
		value = uint64(little.Uint16(from[2*n:]))
	case 32:
		value = uint64(little.Uint32(from[4*n:]))
	default:
		value = little.Uint64(from[8*n:])
	}
	if source.class == boolean && value != 0 {
		return 1
	}
	if source.class == signed {
		unused := 64 - source.bits
		return uint64(int64(value<<unused) >> unused)
	}
	return value
}

func writeInteger(target plain, to []byte, n, value uint64) {
	little := binary.LittleEndian
	switch target.bits {
	case 4:
		putNibble(to, n, byte(value))
	case 8:
		to[n] = byte(value)
	case 16:
		little.PutUint16(to[2*n:], uint16(value))
	case 32:
		little.PutUint32(to[4*n:], uint32(value))
	default:
		little.PutUint64(to[8*n:], value)
	}
}

// putNibble writes a 4-bit element. The element with the even index is in the low bits and is
// written first.
func putNibble(to []byte, n uint64, value byte) {
	value &= 0xF
	if n%2 == 0 {
		to[n/2] = value
		return
	}
	to[n/2] |= value << 4
}

// Scale multiplies elements of a floating-point type with a factor. Each product is rounded once,
// to the type. from and to may be the same memory. Errors: CodeUnsupported for another type,
// CodeInvalidArgument for sizes that do not agree.
func Scale(t DType, to, from []byte, factor float32) error {
	if !t.IsFloat() {
		return device.Errorf(device.CodeUnsupported, opDType, "values of type %s are not scaled", t)
	}
	elements, err := countIn(t, uint64(len(from)))
	if err != nil {
		return err
	}
	if len(to) != len(from) {
		return device.Errorf(device.CodeInvalidArgument, opDType, "%v do not hold %d elements of %s", device.Size(len(to)), elements, t)
	}
	var wide [tile]float64
	for at := uint64(0); at < elements; at += tile {
		part := wide[:min(tile, elements-at)]
		readFloats(part, t, from, at)
		for i := range part {
			part[i] *= float64(factor)
		}
		writeFloats(t, to, at, part)
	}
	return nil
}

// PutF32 writes a value as an element of type F32.
func PutF32(to []byte, value float32) {
	binary.LittleEndian.PutUint32(to, math.Float32bits(value))
}
