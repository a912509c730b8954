package dtype

import (
	"encoding/binary"
	"math"
)

// CanQuantise states whether Convert rounds floating-point elements to the type, a block type of GGUF.
func (t DType) CanQuantise() bool { return quantiser(t) != nil }

// quantiser writes one block of a type. The arithmetic is that of the Python package gguf, bit for bit.
// gguf leaves open what becomes of a block with a NaN or an infinity, or with elements so small that the
// inverse of the scale is infinite: here the first two have a scale of NaN or infinity, the third is zeros.
func quantiser(t DType) func(b []byte, elements []float32) {
	switch t - GGUFBase {
	case 2:
		return writeQ40
	case 8:
		return writeQ80
	}
	return nil
}

// inverse returns 1 / scale, or 0 if the scale has no inverse.
func inverse(scale float32) float32 {
	if made := 1 / scale; !math.IsInf(float64(made), 0) {
		return made
	}
	return 0
}

// rounded returns the integer nearest to x, ties away from 0, within bounds. It is 0 for NaN.
func rounded(x float32, least, most float64) int {
	if x != x {
		return 0
	}
	return int(min(max(math.Round(float64(x)), least), most))
}

// writeQ80: scale 2, bytes 32. The largest element has the number 127 or -127.
func writeQ80(b []byte, elements []float32) {
	largest := float32(0)
	for _, x := range elements {
		if x != x {
			largest = x
			break
		}
		largest = max(largest, float32(math.Abs(float64(x))))
	}
	scale := largest / 127
	by := inverse(scale)
	binary.LittleEndian.PutUint16(b, singleToHalf(math.Float32bits(scale)))
	for i, x := range elements {
		b[2+i] = byte(int8(rounded(x*by, -127, 127)))
	}
}

// writeQ40: scale 2, nibbles 16. The largest element has the number 0, which means -8 times the scale. The
// elements of the first half of the block are in the low bits.
func writeQ40(b []byte, elements []float32) {
	largest := elements[0]
	for _, x := range elements {
		if largest == largest && !(math.Abs(float64(x)) <= math.Abs(float64(largest))) {
			largest = x
		}
	}
	scale := largest / -8
	by := inverse(scale)
	binary.LittleEndian.PutUint16(b, singleToHalf(math.Float32bits(scale)))
	number := func(x float32) byte {
		q := float32(x*by) + 8.5
		if q != q {
			return 8
		}
		return byte(min(max(int(min(q, 16)), 0), 15))
	}
	for i := range 16 {
		b[2+i] = number(elements[i]) | number(elements[16+i])<<4
	}
}
