package dtype

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// samples returns all values of a type of at most 16 bits, and a fixed sequence of bits for F32 and
// F64. The values of F64 have exponents near those of F32.
func samples(t *testing.T, of DType) []byte {
	t.Helper()
	p, ok := plainOf(of)
	require.True(t, ok)
	var data []byte
	if p.bits == 4 {
		for i := range byte(8) {
			data = append(data, 2*i|(2*i+1)<<4)
		}
		return data
	}
	if p.bits <= 16 {
		for i := range uint64(1) << p.bits {
			data = binary.LittleEndian.AppendUint64(data, i)[:len(data)+int(p.bits)/8]
		}
		return data
	}
	for i := range uint64(1 << 18) {
		x := (i + 1) * 0x9E3779B97F4A7C15
		x ^= x >> 29
		x *= 0xBF58476D1CE4E5B9
		x ^= x >> 32
		if of == F64 {
			exponent := (x>>52&0x7FF)%320 + 1023 - 160
			data = binary.LittleEndian.AppendUint64(data, x&^(0x7FF<<52)|exponent<<52)
		} else {
			data = binary.LittleEndian.AppendUint32(data, uint32(x))
		}
	}
	return data
}

// withoutPayloads replaces every NaN by the default NaN of the same sign.
func withoutPayloads(of DType, data []byte) {
	l := layoutOf(of)
	little := binary.LittleEndian
	switch of {
	case F64:
		for i := 0; i < len(data); i += 8 {
			if x := little.Uint64(data[i:]); x<<1 > 0x7FF<<53 {
				little.PutUint64(data[i:], x&(1<<63)|0x7FF8<<48)
			}
		}
	case F32:
		for i := 0; i < len(data); i += 4 {
			if x := little.Uint32(data[i:]); x&0x7FFFFFFF > l.overflow {
				little.PutUint32(data[i:], x&(1<<31)|l.nan)
			}
		}
	case F16, BF16:
		for i := 0; i < len(data); i += 2 {
			if x := little.Uint16(data[i:]); uint32(x&0x7FFF) > l.overflow {
				little.PutUint16(data[i:], x&0x8000|uint16(l.nan))
			}
		}
	case F8E5M2:
		for i, x := range data {
			if uint32(x&0x7F) > l.overflow {
				data[i] = x&0x80 | byte(l.nan)
			}
		}
	}
}

// keep removes the values that ml_dtypes does not round to the nearest power of two, and makes the
// number of values even.
func keep(t *testing.T, from, to DType, data []byte) []byte {
	t.Helper()
	each, size := from.Block()
	if to == F8E8M0 && each == 1 {
		values := make([]float64, uint64(len(data))/size)
		readFloats(values, from, data, 0)
		kept := []byte{}
		for i, value := range values {
			if !(value > 0 && value < 0x1p-126) {
				kept = append(kept, data[uint64(i)*size:uint64(i+1)*size]...)
			}
		}
		data = kept
	}
	if each == 1 {
		data = data[:uint64(len(data))/(2*size)*2*size]
	}
	return data
}

// Every conversion between floating-point types returns the bits of ml_dtypes, for all values of
// the small types.
func TestFloatsConvertAsInMlDtypes(t *testing.T) {
	file, err := os.Open("testdata/ml_dtypes.txt")
	require.NoError(t, err)
	defer file.Close()
	lines := 0
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		if strings.HasPrefix(scanner.Text(), "#") {
			continue
		}
		lines++
		var fromName, toName string
		var count uint64
		var sum uint32
		_, err := fmt.Sscanf(scanner.Text(), "%s %s %d %x", &fromName, &toName, &count, &sum)
		require.NoError(t, err)
		from, err := Parse(fromName)
		require.NoError(t, err)
		to, err := Parse(toName)
		require.NoError(t, err)
		data := keep(t, from, to, samples(t, from))
		elements, err := countIn(from, uint64(len(data)))
		require.NoError(t, err)
		require.Equal(t, count, elements, "%s to %s", from, to)
		size, err := to.Size(elements)
		require.NoError(t, err)
		out := make([]byte, size)
		require.NoError(t, Convert(to, out, from, data))
		withoutPayloads(to, out)
		assert.Equal(t, sum, crc32.ChecksumIEEE(out), "%s to %s", from, to)
	}
	require.Equal(t, 8*7-1, lines)
}

// exactly returns the value of an element without rounding.
func exactly(t *testing.T, of DType, data []byte, n uint64) *big.Float {
	t.Helper()
	p, _ := plainOf(of)
	if p.class == float {
		value := make([]float64, 1)
		readFloats(value, of, data, n)
		return new(big.Float).SetPrec(80).SetFloat64(value[0])
	}
	word := readInteger(p, data, n)
	if p.class == signed {
		return new(big.Float).SetPrec(80).SetInt64(int64(word))
	}
	return new(big.Float).SetPrec(80).SetUint64(word)
}

// Integers become the nearest floating-point value, and no other value of the type is nearer.
func TestIntegersRoundOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	for _, from := range []DType{I4, U4, I8, U8, I16, U16, I32, U32, I64, U64} {
		data := make([]byte, 8*512)
		for i := 0; i < len(data); i += 8 {
			// All magnitudes, and values near the midpoints of narrower types.
			word := random.Uint64() >> (random.Uint64() % 64)
			if random.IntN(2) == 0 {
				word &= ^uint64(0) << (random.Uint64() % 64)
			}
			binary.LittleEndian.PutUint64(data[i:], word^uint64(-random.Int64N(2)))
		}
		elements, err := countIn(from, uint64(len(data)))
		require.NoError(t, err)
		for _, to := range []DType{F64, F32, F16, BF16, F8E5M2} {
			size, err := to.Size(elements)
			require.NoError(t, err)
			out := make([]byte, size)
			require.NoError(t, Convert(to, out, from, data))
			width := size / elements
			for n := range elements {
				exact := exactly(t, from, data, n)
				got := out[n*width : (n+1)*width]
				value := make([]float64, 1)
				readFloats(value, to, got, 0)
				if math.IsInf(value[0], 0) {
					assertBeyond(t, to, exact)
					continue
				}
				assertNearest(t, to, got, exact)
			}
		}
	}
}

// The values lie near midpoints of BF16, where rounding to F32 first would give a tie.
func TestDoublesRoundOnceToBF16(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 9))
	for range 2000 {
		word := math.Float64bits(1) + random.Uint64N(1<<50)
		word = word&^(1<<45-1) | 1<<44 + random.Uint64N(3) - 1
		data := binary.LittleEndian.AppendUint64(nil, word)
		assertNearest(t, BF16, converted(t, BF16, F64, data), exactly(t, F64, data, 0))
	}
}

// assertBeyond checks that a value is at least half a step above the largest value of the type.
func assertBeyond(t *testing.T, to DType, exact *big.Float) {
	t.Helper()
	l := layoutOf(to)
	largest, below := l.decode(l.largest), l.decode(l.largest-1)
	bound := new(big.Float).SetPrec(80).SetFloat64(largest + (largest-below)/2)
	require.NotEqual(t, -1, new(big.Float).Abs(exact).Cmp(bound), "%s is finite in %s", exact, to)
}

// assertNearest compares the distance with the distances of both neighbours.
func assertNearest(t *testing.T, to DType, got []byte, exact *big.Float) {
	t.Helper()
	code := make([]byte, 8)
	copy(code, got)
	word := binary.LittleEndian.Uint64(code)
	distance := func(word uint64) *big.Float {
		value := make([]float64, 1)
		readFloats(value, to, binary.LittleEndian.AppendUint64(nil, word)[:len(got)], 0)
		if math.IsNaN(value[0]) || math.IsInf(value[0], 0) {
			return new(big.Float).SetInf(false)
		}
		d := new(big.Float).SetPrec(200).Sub(new(big.Float).SetFloat64(value[0]), exact)
		return d.Abs(d)
	}
	own := distance(word)
	for _, other := range []uint64{word - 1, word + 1} {
		if word<<1 == 0 && other != word+1 {
			continue
		}
		switch own.Cmp(distance(other)) {
		case 1:
			require.Fail(t, "a value is nearer", "%s: %x to %x in %s", exact, word, other, to)
		case 0:
			require.Zero(t, word&1, "%s: a tie went to the odd %x in %s", exact, word, to)
		}
	}
}

// Every pair of types converts in every tile, and no byte outside is written.
func TestPairsAgreeWithOneElementAtATime(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for from := DType(0); from < plainTypes; from++ {
		for to := DType(0); to < plainTypes; to++ {
			if !from.IsConvertible() || !to.IsConvertible() {
				continue
			}
			const elements = 2 * (tile + 3)
			size, err := from.Size(elements)
			require.NoError(t, err)
			data := make([]byte, size)
			for i := range data {
				data[i] = byte(random.Uint32())
			}
			out := converted(t, to, from, data)
			each, width := from.Block()
			step, _ := to.Block()
			step = max(step, each)
			inStep, outStep := step/each*width, step*uint64(len(out))/elements
			for n := uint64(0); n < elements/step; n++ {
				part := converted(t, to, from, data[n*inStep:(n+1)*inStep])
				require.Equal(t, out[n*outStep:(n+1)*outStep], part, "%s to %s at %d", from, to, n)
			}
		}
	}
}

func converted(t *testing.T, to, from DType, data []byte) []byte {
	t.Helper()
	elements, err := countIn(from, uint64(len(data)))
	require.NoError(t, err)
	size, err := to.Size(elements)
	require.NoError(t, err)
	out := slices.Repeat([]byte{0xA5}, int(size))
	require.NoError(t, Convert(to, out, from, data))
	return out
}

func TestFloatsToIntegersSaturate(t *testing.T) {
	floats := func(values ...float64) []byte {
		var data []byte
		for _, value := range values {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(value))
		}
		return data
	}
	data := floats(-1e300, -129, -128, -1.9, -0.5, 0, 0.5, 1.9, 127.9, 128, 255.9, 256, 1e300, math.NaN(), math.Inf(1), math.Inf(-1))
	signed8 := []int8{-128, -128, -128, -1, 0, 0, 0, 1, 127, 127, 127, 127, 127, 0, 127, -128}
	for i, b := range converted(t, I8, F64, data) {
		assert.Equal(t, signed8[i], int8(b), i)
	}
	assert.Equal(t, []byte{0, 0, 0, 0, 0, 0, 0, 1, 127, 128, 255, 255, 255, 0, 255, 0}, converted(t, U8, F64, data))
	assert.Equal(t, []byte{1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, converted(t, Bool, F64, data))
	wide := converted(t, I64, F64, data)
	assert.Equal(t, uint64(1<<63), binary.LittleEndian.Uint64(wide))
	assert.Equal(t, uint64(math.MaxInt64), binary.LittleEndian.Uint64(wide[8*12:]))
	assert.Equal(t, uint64(math.MaxUint64), binary.LittleEndian.Uint64(converted(t, U64, F64, data)[8*12:]))
	// Two elements in a byte: -8 to 7, and the even index in the low bits.
	assert.Equal(t, []byte{0x88, 0xF8, 0x00, 0x10, 0x77, 0x77, 0x07, 0x87}, converted(t, I4, F64, data))
}

func TestIntegersToIntegersKeepLowBits(t *testing.T) {
	assert.Equal(t, []byte{0xFF, 0x80}, converted(t, U8, I16, []byte{0xFF, 0xFF, 0x80, 0x01}))
	assert.Equal(t, []byte{0xFF, 0xFF, 0x7F, 0x00}, converted(t, I16, I8, []byte{0xFF, 0x7F}))
	assert.Equal(t, []byte{0xFF, 0xFF, 0x07, 0x00}, converted(t, I16, I4, []byte{0x7F}))
	assert.Equal(t, []byte{1, 0}, converted(t, Bool, I16, []byte{0x00, 0x10, 0, 0}))
}

func TestRefusedConversions(t *testing.T) {
	out := []byte{1, 2, 3, 4}
	require.ErrorIs(t, Convert(F32, out, C64, make([]byte, 8)), device.CodeUnsupported)
	require.ErrorIs(t, Convert(GGUFBase+12, out, F32, out), device.CodeUnsupported)
	require.ErrorIs(t, Convert(F32, out, F16, make([]byte, 3)), device.CodeInvalidArgument)
	require.ErrorIs(t, Convert(F32, out, F16, make([]byte, 4)), device.CodeInvalidArgument)
	require.ErrorIs(t, Convert(I4, out, F32, make([]byte, 4)), device.CodeInvalidArgument)
	require.ErrorIs(t, Convert(99, out, F32, make([]byte, 4)), device.CodeUnsupported)
	assert.Equal(t, []byte{1, 2, 3, 4}, out)
}
