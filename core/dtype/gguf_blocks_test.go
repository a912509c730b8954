package dtype

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// halves lists where a block has scales of 16 bits.
var halves = map[string][]int{
	"q4_0": {0}, "q4_1": {0, 2}, "q5_0": {0}, "q5_1": {0, 2}, "q8_0": {0}, "q2_k": {80, 82},
	"q3_k": {108}, "q4_k": {0, 2}, "q5_k": {0, 2}, "q6_k": {208}, "mxfp4": {},
}

// sampleBlocks returns 64 blocks of a fixed sequence of bytes. Every scale is finite.
func sampleBlocks(name string, bytes uint64) []byte {
	data := make([]byte, 64*bytes)
	for i := range data {
		x := uint64(i+1) * 0x9E3779B97F4A7C15
		x ^= x >> 29
		x *= 0xBF58476D1CE4E5B9
		x ^= x >> 32
		data[i] = byte(x)
	}
	for start := uint64(0); start < uint64(len(data)); start += bytes {
		for _, at := range halves[name] {
			data[start+uint64(at)+1] &= 0xBF
		}
		if name == "mxfp4" {
			data[start] = 64 + data[start]&127
		}
	}
	return data
}

func TestBlocksReadAsInGGUF(t *testing.T) {
	file, err := os.Open("testdata/gguf.txt")
	require.NoError(t, err)
	defer file.Close()
	read := map[string]bool{}
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		if strings.HasPrefix(scanner.Text(), "#") {
			continue
		}
		var name string
		var elements, sum uint32
		_, err := fmt.Sscanf(scanner.Text(), "%s %d %x", &name, &elements, &sum)
		require.NoError(t, err)
		read[name] = true
		for number := range uint32(256) {
			of, ok := GGUF(number)
			if !ok || of.String() != name {
				continue
			}
			_, bytes := of.Block()
			out := make([]float32, elements)
			require.NoError(t, Dequantise(of, out, sampleBlocks(name, bytes)))
			raw := []byte{}
			for _, value := range out {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(value))
			}
			assert.Equal(t, sum, crc32.ChecksumIEEE(raw), name)
		}
	}
	for name := range halves {
		assert.True(t, read[name], name)
	}
}

// The package gguf does not read this type, so its layout is written out here.
func TestQ8KIsScaleTimesBytes(t *testing.T) {
	data := binary.LittleEndian.AppendUint32(nil, math.Float32bits(0.25))
	for i := range 256 {
		data = append(data, byte(i))
	}
	data = append(data, make([]byte, 32)...)
	out := make([]float32, 256)
	require.NoError(t, Dequantise(GGUFBase+15, out, data))
	for i, value := range out {
		assert.Equal(t, 0.25*float32(int8(i)), value)
	}
}

func TestRefusedBlocks(t *testing.T) {
	out := []float32{1, 2}
	require.ErrorIs(t, Dequantise(F32, out, make([]byte, 8)), device.CodeUnsupported)
	iq, ok := GGUF(16)
	require.True(t, ok)
	assert.False(t, iq.CanDequantise())
	require.ErrorIs(t, Dequantise(iq, out, make([]byte, 66)), device.CodeUnsupported)
	require.ErrorIs(t, Dequantise(GGUFBase+2, out, make([]byte, 18)), device.CodeInvalidArgument)
	require.ErrorIs(t, Dequantise(GGUFBase+2, make([]float32, 32), make([]byte, 17)), device.CodeInvalidArgument)
	assert.Equal(t, []float32{1, 2}, out)
	_, ok = GGUF(5)
	assert.False(t, ok)
	_, ok = GGUF(1 << 31)
	assert.False(t, ok)
}

func TestSizesAndNames(t *testing.T) {
	size, err := I4.Size(6)
	require.NoError(t, err)
	assert.Equal(t, uint64(3), size)
	_, err = I4.Size(7)
	require.ErrorIs(t, err, device.CodeInvalidArgument)
	size, err = F6E2M3.Size(8)
	require.NoError(t, err)
	assert.Equal(t, uint64(6), size)
	_, err = F64.Size(1 << 61)
	require.ErrorIs(t, err, device.CodeOverflow)
	_, err = DType(77).Size(1)
	require.ErrorIs(t, err, device.CodeInvalidArgument)
	for of := DType(0); of < plainTypes; of++ {
		parsed, err := Parse(of.String())
		require.NoError(t, err)
		assert.Equal(t, of, parsed)
		assert.True(t, of.IsKnown())
	}
	_, err = Parse("f7")
	require.ErrorIs(t, err, device.CodeInvalidArgument)
	assert.Equal(t, "unknown", DType(-1).String())
	assert.Equal(t, "q4_k", (GGUFBase + 12).String())
	assert.True(t, BF16.IsFloat())
	assert.False(t, I8.IsFloat())
}
