package dtype

import (
	"encoding/binary"
	"math"

	"ferrum_mem/core/device"
)

// Dequantise writes the elements of GGUF blocks as 32-bit floating point, in their order. out has
// exactly the size of these elements. The arithmetic is that of the Python package gguf, bit for
// bit: products and sums are each rounded to 32 bits. Errors: CodeUnsupported for a type that
// CanDequantise rejects, CodeInvalidArgument for sizes that do not agree. After an error out is
// unchanged.
func Dequantise(t DType, out []float32, data []byte) error {
	if !t.CanDequantise() {
		return device.Errorf(device.CodeUnsupported, opDType, "elements of type %s cannot be read as numbers", t)
	}
	elements, bytes := t.Block()
	blocks := uint64(len(data)) / bytes
	if blocks*bytes != uint64(len(data)) || blocks*elements != uint64(len(out)) {
		return device.Errorf(device.CodeInvalidArgument, opDType, "%v of %s do not hold %d elements", device.Size(len(data)), t, len(out))
	}
	read := dequantiser(t)
	for i := range blocks {
		read(out[i*elements:(i+1)*elements], data[i*bytes:(i+1)*bytes])
	}
	return nil
}

// CanDequantise states whether Dequantise reads the type.
func (t DType) CanDequantise() bool { return dequantiser(t) != nil }

// dequantiser reads one block of a type. Each comment below states the layout: the fields in their
// order, with their sizes in bytes.
func dequantiser(t DType) func(out []float32, b []byte) {
	switch t - GGUFBase {
	case 2:
		return readQ40
	case 3:
		return readQ41
	case 6:
		return readQ50
	case 7:
		return readQ51
	case 8:
		return readQ80
	case 10:
		return readQ2K
	case 11:
		return readQ3K
	case 12:
		return readQ4K
	case 13:
		return readQ5K
	case 14:
		return readQ6K
	case 15:
		return readQ8K
	case 39:
		return readMXFP4
	}
	return nil
}

func half(b []byte) float32 {
	return math.Float32frombits(halfToSingle(binary.LittleEndian.Uint16(b)))
}

// nibble returns a 4-bit number from 16 bytes. The numbers of the first half are in the low bits.
func nibble(packed []byte, i int) byte { return packed[i%16] >> (i / 16 * 4) & 0xF }

// readQ40: scale 2, nibbles 16.
func readQ40(out []float32, b []byte) {
	scale := half(b)
	for i := range out {
		out[i] = scale * float32(int(nibble(b[2:], i))-8)
	}
}

// readQ41: scale 2, least 2, nibbles 16.
func readQ41(out []float32, b []byte) {
	scale, least := half(b), half(b[2:])
	for i := range out {
		out[i] = float32(scale*float32(nibble(b[4:], i))) + least
	}
}

// readQ50: scale 2, fifth bits 4, nibbles 16.
func readQ50(out []float32, b []byte) {
	scale, fifth := half(b), binary.LittleEndian.Uint32(b[2:])
	for i := range out {
		q := int(nibble(b[6:], i)) | int(fifth>>i&1)<<4
		out[i] = scale * float32(q-16)
	}
}

// readQ51: scale 2, least 2, fifth bits 4, nibbles 16.
func readQ51(out []float32, b []byte) {
	scale, least, fifth := half(b), half(b[2:]), binary.LittleEndian.Uint32(b[4:])
	for i := range out {
		q := int(nibble(b[8:], i)) | int(fifth>>i&1)<<4
		out[i] = float32(scale*float32(q)) + least
	}
}

// readQ80: scale 2, bytes 32.
func readQ80(out []float32, b []byte) {
	scale := half(b)
	for i := range out {
		out[i] = scale * float32(int8(b[2+i]))
	}
}

// pair returns a 2-bit number from 64 bytes. Each 32 bytes hold 128 elements: a byte holds one
// element of each group of 32.
func pair(packed []byte, i int) byte { return packed[i/128*32+i%32] >> (i % 128 / 32 * 2) & 3 }

// readQ2K: scales and minima 16 (4 bits each), pairs 64, scale 2, minimum 2.
func readQ2K(out []float32, b []byte) {
	scale, least := half(b[80:]), half(b[82:])
	for i := range out {
		s := b[i/16]
		out[i] = float32(scale*float32(s&0xF))*float32(pair(b[16:], i)) - float32(least*float32(s>>4))
	}
}

// readQ3K: third bits 32, pairs 64, scales 12 (6 bits each), scale 2.
func readQ3K(out []float32, b []byte) {
	scale, packed := half(b[108:]), b[96:108]
	for i := range out {
		part := i / 16
		s := packed[part%8]>>(part/8*4)&0xF | packed[8+part%4]>>(part/4*2)&3<<4
		q := int(pair(b[32:], i))
		if b[i%32]>>(i/32)&1 == 0 {
			q -= 4
		}
		out[i] = float32(scale*float32(int(s)-32)) * float32(q)
	}
}

// scaleAndMinimum returns the 6-bit numbers of a part of a block of Q4_K and Q5_K: 12 bytes for 8
// parts.
func scaleAndMinimum(b []byte, part int) (scale, least byte) {
	if part < 4 {
		return b[part] & 63, b[part+4] & 63
	}
	return b[part+4]&0xF | b[part-4]>>6<<4, b[part+4]>>4 | b[part]>>6<<4
}

// readQ4K: scale 2, minimum 2, scales and minima 12, nibbles 128. Each 32 bytes hold 64 elements.
func readQ4K(out []float32, b []byte) {
	scale, least := half(b), half(b[2:])
	for i := range out {
		s, m := scaleAndMinimum(b[4:], i/32)
		q := b[16+i/64*32+i%32] >> (i % 64 / 32 * 4) & 0xF
		out[i] = float32(float32(scale*float32(s))*float32(q)) - float32(least*float32(m))
	}
}

// readQ5K: scale 2, minimum 2, scales and minima 12, fifth bits 32, nibbles 128.
func readQ5K(out []float32, b []byte) {
	scale, least := half(b), half(b[2:])
	for i := range out {
		s, m := scaleAndMinimum(b[4:], i/32)
		q := b[48+i/64*32+i%32]>>(i%64/32*4)&0xF | b[16+i%32]>>(i/32)&1<<4
		out[i] = float32(float32(scale*float32(s))*float32(q)) - float32(least*float32(m))
	}
}

// readQ6K: nibbles 128, pairs 64, scales 16, scale 2. The low bits of 128 elements are in 64 bytes;
// those of the second half are in the high nibbles.
func readQ6K(out []float32, b []byte) {
	scale := half(b[208:])
	for i := range out {
		low := b[i/128*64+i%64] >> (i % 128 / 64 * 4) & 0xF
		q := int(low|pair(b[128:], i)<<4) - 32
		out[i] = float32(scale*float32(int8(b[192+i/16]))) * float32(q)
	}
}

// readQ8K: scale 4, bytes 256, sums 32.
func readQ8K(out []float32, b []byte) {
	scale := math.Float32frombits(binary.LittleEndian.Uint32(b))
	for i := range out {
		out[i] = scale * float32(int8(b[4+i]))
	}
}

// readMXFP4: exponent 1 (F8_E8M0), nibbles 16 (F4_E2M1). -0 becomes 0.
func readMXFP4(out []float32, b []byte) {
	scale, element := float32(decodePower(uint32(b[0]))), layoutOf(F4E2M1)
	for i := range out {
		out[i] = scale * float32(element.decode(uint32(nibble(b[1:], i)))+0)
	}
}
