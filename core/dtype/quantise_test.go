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

// Block types that Convert writes.
const (
	q40 = GGUFBase + 2
	q80 = GGUFBase + 8
)

// sampleElements returns the elements of 64 blocks: random ones of different sizes, zeros, blocks whose
// largest element occurs with both signs, and numbers in the middle of two.
func sampleElements() []float32 {
	elements := make([]float32, 64*32)
	for i := range elements {
		x := uint64(i+1) * 0x9E3779B97F4A7C15
		x ^= x >> 29
		x *= 0xBF58476D1CE4E5B9
		x ^= x >> 32
		block, at := i/32, i%32
		elements[i] = float32(int(x&0xFFFF)-32768) / 1024 * float32(math.Exp2(float64(block%24-12)))
		switch {
		case block == 5:
			elements[i] = 0
		case block == 6 && at%2 == 0:
			elements[i] = -3
		case block == 6:
			elements[i] = 3
		case block == 7:
			elements[i] = float32(at-16) / 2
		}
	}
	return elements
}

func bytesOfSingles(elements []float32) []byte {
	data := make([]byte, 4*len(elements))
	for i, x := range elements {
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(x))
	}
	return data
}

// quantised converts single-precision elements to blocks.
func quantised(t *testing.T, kind DType, elements []float32) []byte {
	t.Helper()
	size, err := kind.Size(uint64(len(elements)))
	require.NoError(t, err)
	data := make([]byte, size)
	require.NoError(t, Convert(kind, data, F32, bytesOfSingles(elements)))
	return data
}

func TestBlocksAreWrittenAsInGGUF(t *testing.T) {
	file, err := os.Open("testdata/quantised.txt")
	require.NoError(t, err)
	defer file.Close()
	kinds := map[string]DType{"q8_0": q80, "q4_0": q40}
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		if strings.HasPrefix(scanner.Text(), "#") {
			continue
		}
		var name string
		var elements, sum uint32
		_, err := fmt.Sscanf(scanner.Text(), "%s %d %x", &name, &elements, &sum)
		require.NoError(t, err)
		require.EqualValues(t, len(sampleElements()), elements)
		assert.Equal(t, sum, crc32.ChecksumIEEE(quantised(t, kinds[name], sampleElements())), name)
		delete(kinds, name)
	}
	assert.Empty(t, kinds)
}

// The error of an element is at most half of a step, and one step at the end of the range of Q4_0. The
// scale is rounded to 16 bits, which adds 2^-11 of the element.
func TestQuantisedElementsAreNear(t *testing.T) {
	for _, c := range []struct {
		kind DType
		step float64
	}{{q80, 0.5 / 127}, {q40, 1.0 / 8}} {
		data := quantised(t, c.kind, sampleElements())
		read := make([]float32, len(sampleElements()))
		require.NoError(t, Dequantise(c.kind, read, data))
		for block := 0; block < len(read); block += 32 {
			largest := 0.0
			for _, x := range sampleElements()[block : block+32] {
				largest = max(largest, math.Abs(float64(x)))
			}
			bound := largest * (c.step + 0x1p-11) * 1.0001
			for i, x := range sampleElements()[block : block+32] {
				assert.InDelta(t, x, read[block+i], bound, "%v %d", c.kind, block+i)
			}
		}
	}
}

// Other floating-point types give the blocks of the same values in single precision.
func TestEachFloatIsQuantised(t *testing.T) {
	for from := DType(0); from < plainTypes; from++ {
		p, _ := plainOf(from)
		size, _ := from.Size(2048 * 3 / 2 / 32 * 32)
		count := 2048 * 3 / 2 / 32 * 32
		data, singles, made := make([]byte, size), make([]byte, 4*count), make([]byte, count/32*34)
		if p.class != float {
			if from.IsConvertible() {
				assert.ErrorIs(t, Convert(q80, made, from, data), device.CodeUnsupported, from.String())
			}
			continue
		}
		elements := append(sampleElements(), sampleElements()...)[:count]
		require.NoError(t, Convert(from, data, F32, bytesOfSingles(elements)))
		require.NoError(t, Convert(F32, singles, from, data))
		require.NoError(t, Convert(q80, made, from, data))
		want := make([]byte, len(made))
		require.NoError(t, Convert(q80, want, F32, singles))
		assert.Equal(t, want, made, from.String())
	}
}

func TestUnusualElementsAreQuantised(t *testing.T) {
	nan, infinity := float32(math.NaN()), float32(math.Inf(1))
	for _, kind := range []DType{q80, q40} {
		for _, x := range []float32{nan, infinity, -infinity, 1e-44, -1e-44, math.MaxFloat32} {
			elements := make([]float32, 32)
			elements[3], elements[4] = x, 1e-45
			read := make([]float32, 32)
			require.NoError(t, Dequantise(kind, read, quantised(t, kind, elements)))
			isNumber := !math.IsNaN(float64(read[3])) && !math.IsInf(float64(read[3]), 0)
			assert.Equal(t, math.Abs(float64(x)) < 1, isNumber, "%v %v", kind, x)
		}
	}
}

func TestWrongSizesAreNotQuantised(t *testing.T) {
	for _, sizes := range [][2]int{{34, 4 * 31}, {34, 4 * 64}, {33, 4 * 32}, {0, 4 * 32}} {
		made := make([]byte, sizes[0])
		require.ErrorIs(t, Convert(q80, made, F32, make([]byte, sizes[1])), device.CodeInvalidArgument)
		assert.Equal(t, make([]byte, sizes[0]), made)
	}
	for t80 := DType(0); t80 < 2*GGUFBase; t80++ {
		assert.Equal(t, t80 == q80 || t80 == q40, t80.CanQuantise(), t80.String())
	}
	assert.ErrorIs(t, Convert(GGUFBase+12, make([]byte, 144), F32, make([]byte, 1024)), device.CodeUnsupported)
	assert.ErrorIs(t, Convert(F32, make([]byte, 128), q80, make([]byte, 34)), device.CodeUnsupported)
}
