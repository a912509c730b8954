package weights

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/weights/header"
)

// tensorOf returns a tensor of random bytes in memory.
func tensorOf(t interface{ Fatal(...any) }, kind dtype.DType, shape ...uint64) *Tensor {
	elements := uint64(1)
	for _, side := range shape {
		elements *= side
	}
	size, err := kind.Size(elements)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(elements, uint64(kind)))
	data := make([]byte, 16+size+7)
	for i := 0; i+8 <= len(data); i += 8 {
		binary.LittleEndian.PutUint64(data[i:], random.Uint64())
	}
	data = data[:16+size]
	return &Tensor{
		Tensor: header.Tensor{Name: "t", Type: kind, Shape: shape, Offset: 16, Size: size, Elements: elements},
		file:   &file{name: "memory", size: uint64(len(data)), reader: bytes.NewReader(data)},
	}
}

func (t *Tensor) bytes() []byte {
	out := make([]byte, t.Size)
	if n, err := t.file.reader.ReadAt(out, int64(t.Offset)); n < len(out) {
		panic(err)
	}
	return out
}

// wholeOf reads the result of a plan in one piece.
func wholeOf(t require.TestingT, p *plan) []byte {
	size, err := p.kind.Size(p.view.elements() * p.unit)
	require.NoError(t, err)
	out := make([]byte, size)
	tiles, err := p.open()
	require.NoError(t, err)
	require.NoError(t, tiles.read(out, 0, p.view.elements()*p.unit))
	return out
}

// elementsOf splits bytes into elements. An element has the bytes of its type, or one byte for
// 4-bit types.
func elementsOf(kind dtype.DType, data []byte) (list [][]byte) {
	each, width := kind.Block()
	if each == 1 {
		for i := uint64(0); i < uint64(len(data)); i += width {
			list = append(list, data[i:i+width])
		}
		return list
	}
	for _, b := range data {
		list = append(list, []byte{b & 0xF}, []byte{b >> 4})
	}
	return list
}

func together(kind dtype.DType, list [][]byte) []byte {
	each, _ := kind.Block()
	out := []byte{}
	for i, element := range list {
		if each == 2 && i%2 == 1 {
			out[len(out)-1] |= element[0] << 4
			continue
		}
		out = append(out, element...)
	}
	return out
}

// The oracle moves all elements and then changes all values. Tiles of any size are parts of its
// result.
func TestTilesAreTransformedTensors(t *testing.T) {
	kinds := []dtype.DType{dtype.F32, dtype.BF16, dtype.F8E4M3, dtype.I16, dtype.I4, dtype.F4E2M1, dtype.U64}
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(kinds).Draw(t, "type")
		shape := append(rapid.SliceOfN(rapid.Uint64Range(0, 5), 0, 3).Draw(t, "shape"), 2)
		source := tensorOf(t, kind, shape...)
		a := plainArray{shape: shape}
		for i := range source.Elements {
			a.places = append(a.places, i)
		}
		var list []Transformation
		var steps []Transformation
		for range rapid.IntRange(0, 5).Draw(t, "transformations") {
			n := len(a.shape)
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				x, y := rapid.IntRange(-n, n-1).Draw(t, "x"), rapid.IntRange(0, n-1).Draw(t, "y")
				list = append(list, Transformation{Kind: Transpose, Dim0: x, Dim1: y})
				a = a.transposed((x+n)%n, y)
			case 1:
				dimension := rapid.IntRange(0, n-1).Draw(t, "dimension")
				start := rapid.Uint64Range(0, a.shape[dimension]).Draw(t, "start")
				end := rapid.Uint64Range(start, a.shape[dimension]).Draw(t, "end")
				list = append(list, Transformation{Kind: Slice, Dim0: dimension, Start: &start, End: &end})
				a = a.sliced(dimension, start, end)
			case 2:
				to := append(factored(t, uint64(len(a.places))), 1)
				list = append(list, Transformation{Kind: Reshape, Shape: to})
				a = plainArray{shape: to, places: a.places}
			case 3:
				steps = append(steps, Transformation{Kind: Cast, Type: rapid.SampledFrom(kinds).Draw(t, "to")})
				list = append(list, steps[len(steps)-1])
			case 4:
				now := kind
				for _, s := range steps {
					if s.Kind == Cast {
						now = s.Type
					}
				}
				if now.IsFloat() {
					steps = append(steps, Transformation{Kind: Scale, Factor: 1.5})
					list = append(list, steps[len(steps)-1])
				}
			}
		}
		if len(a.places)%2 != 0 {
			return // a 4-bit type may be unable to store it, which another test checks
		}
		p, err := planOf(source, list)
		require.NoError(t, err)
		stored := elementsOf(kind, source.bytes())
		moved := [][]byte{}
		for _, place := range a.places {
			moved = append(moved, stored[place])
		}
		value, now := together(kind, moved), kind
		for _, s := range steps {
			if s.Kind == Scale {
				require.NoError(t, dtype.Scale(now, value, value, s.Factor))
				continue
			}
			size, err := s.Type.Size(uint64(len(a.places)))
			require.NoError(t, err)
			next := make([]byte, size)
			require.NoError(t, dtype.Convert(s.Type, next, now, value))
			value, now = next, s.Type
		}
		require.Equal(t, now, p.kind)
		require.Equal(t, append([]uint64{}, a.shape...), append([]uint64{}, p.shape...))
		require.Equal(t, value, wholeOf(t, p))
		// The same in pieces, each of an even number of elements.
		tiles, err := p.open()
		require.NoError(t, err)
		var pieces []byte
		for at := uint64(0); at < uint64(len(a.places)); {
			count := min(2*rapid.Uint64Range(1, 8).Draw(t, "count"), uint64(len(a.places))-at)
			size, err := now.Size(count)
			require.NoError(t, err)
			piece := make([]byte, size)
			require.NoError(t, tiles.read(piece, at, count))
			pieces = append(pieces, piece...)
			at += count
		}
		require.True(t, bytes.Equal(value, pieces))
	})
}

// Blocks whose values do not change are copied whole. A cast reads them as numbers.
func TestTilesOfBlocks(t *testing.T) {
	q80, ok := dtype.GGUF(8)
	require.True(t, ok)
	source := tensorOf(t, q80, 6, 64)
	data := source.bytes()
	for i := 1; i < len(data); i += 34 {
		data[i] &= 0x3F // finite scales
	}
	source.file.reader = bytes.NewReader(append(make([]byte, 16), data...))
	two, four := uint64(2), uint64(4)
	p, err := planOf(source, []Transformation{{Kind: Slice, Start: &two, End: &four}})
	require.NoError(t, err)
	assert.Equal(t, []uint64{2, 64}, p.shape)
	assert.Equal(t, data[2*68:4*68], wholeOf(t, p))
	half := uint64(32)
	p, err = planOf(source, []Transformation{{Kind: Slice, Dim0: -1, Start: &half}, {Kind: Reshape, Shape: []uint64{3, 64}}})
	require.NoError(t, err)
	assert.Equal(t, []uint64{3, 64}, p.shape)
	assert.Equal(t, data[34:68], wholeOf(t, p)[:34])

	values := make([]float32, 6*64)
	require.NoError(t, dtype.Dequantise(q80, values, data))
	p, err = planOf(source, []Transformation{{Kind: Transpose, Dim1: 1}, {Kind: Cast, Type: dtype.F32}})
	require.NoError(t, err)
	want := make([]byte, 4*len(values))
	for i := range values {
		dtype.PutF32(want[4*i:], values[i%6*64+i/6])
	}
	assert.Equal(t, want, wholeOf(t, p))

	// Parts that begin and end inside of blocks.
	p, err = planOf(source, []Transformation{{Kind: Cast, Type: dtype.F32}})
	require.NoError(t, err)
	tiles, err := p.open()
	require.NoError(t, err)
	for first := uint64(0); first < 384; first += 7 {
		part := make([]byte, 4*min(100, 384-first))
		require.NoError(t, tiles.read(part, first, uint64(len(part))/4))
		for i := range len(part) / 4 {
			var one [4]byte
			dtype.PutF32(one[:], values[int(first)+i])
			require.Equal(t, one[:], part[4*i:4*i+4])
		}
	}

	for _, refused := range [][]Transformation{
		{{Kind: Transpose, Dim1: 1}},
		{{Kind: Slice, Dim0: 1, Start: &two}},
		{{Kind: Reshape, Shape: []uint64{24, 16}}},
	} {
		_, err = planOf(source, refused)
		require.ErrorIs(t, err, device.CodeUnsupported)
		assert.ErrorContains(t, err, "q8_0")
	}
}

// Elements are quantised after all changes of the shape, in blocks along the rows of the result.
func TestTilesAreQuantised(t *testing.T) {
	for _, number := range []dtype.DType{2, 8} {
		kind := dtype.GGUFBase + number
		source := tensorOf(t, dtype.BF16, 64, 6)
		factor := Transformation{Kind: Scale, Factor: 0.5}
		p, err := planOf(source, []Transformation{{Kind: Transpose, Dim1: 1}, {Kind: Cast, Type: dtype.F32}, factor})
		require.NoError(t, err)
		singles := wholeOf(t, p)
		want := make([]byte, wholeSize(t, kind, 6*64))
		require.NoError(t, dtype.Convert(kind, want, dtype.F32, singles))
		p, err = planOf(source, []Transformation{{Kind: Transpose, Dim1: 1}, {Kind: Cast, Type: dtype.F32}, factor, {Kind: Cast, Type: kind}})
		require.NoError(t, err)
		assert.Equal(t, kind, p.kind)
		assert.Equal(t, []uint64{6, 64}, p.shape)
		assert.Equal(t, want, wholeOf(t, p))
		tiles, err := p.open()
		require.NoError(t, err)
		var pieces []byte
		for first := uint64(0); first < 6*64; first += 96 {
			piece := make([]byte, wholeSize(t, kind, 96))
			require.NoError(t, tiles.read(piece, first, 96))
			pieces = append(pieces, piece...)
		}
		assert.Equal(t, want, pieces)
	}
}

func wholeSize(t *testing.T, kind dtype.DType, elements uint64) uint64 {
	size, err := kind.Size(elements)
	require.NoError(t, err)
	return size
}

func TestTilesOfEncodedTensors(t *testing.T) {
	deflated, err := OpenMemory("deflated.npz", read(t, "deflated.npz"), Options{})
	require.NoError(t, err)
	stored, err := OpenMemory("stored.npz", read(t, "stored.npz"), Options{})
	require.NoError(t, err)
	for i := range stored.Tensors() {
		of := &stored.Tensors()[i]
		other, err := deflated.Find(of.Name)
		require.NoError(t, err)
		require.NotNil(t, other.Compressed)
		a, err := planOf(of, nil)
		require.NoError(t, err)
		b, err := planOf(other, nil)
		require.NoError(t, err)
		assert.Equal(t, wholeOf(t, a), wholeOf(t, b))
	}
	numbers, err := OpenMemory("varints.onnx", read(t, "varints.onnx"), Options{})
	require.NoError(t, err)
	for name, want := range map[string][]byte{"i8": {0x80, 0, 1, 0x7F}, "f16": {0, 0x3C, 0, 0xC0}} {
		of, err := numbers.Find(name)
		require.NoError(t, err)
		p, err := planOf(of, nil)
		require.NoError(t, err)
		assert.Equal(t, want, wholeOf(t, p))
	}
	big, err := OpenMemory("big_endian.npy", read(t, "big_endian.npy"), Options{})
	require.NoError(t, err)
	p, err := planOf(&big.Tensors()[0], []Transformation{{Kind: Cast, Type: dtype.I8}})
	require.NoError(t, err)
	assert.Equal(t, []byte{0, 1, 2, 3, 4}, wholeOf(t, p))
}

func TestRefusedTransformations(t *testing.T) {
	source := tensorOf(t, dtype.F32, 4, 6)
	ints := tensorOf(t, dtype.I8, 4, 6)
	opaque := tensorOf(t, dtype.C64, 4, 6)
	rows := tensorOf(t, dtype.F32, 64, 32)
	one, three, nine := uint64(1), uint64(3), uint64(9)
	for _, refused := range []struct {
		of   *Tensor
		list []Transformation
		code device.Code
		says string
	}{
		{source, []Transformation{{Kind: Transpose, Dim1: 2}}, device.CodeInvalidArgument, "dimensions 0 and 2 of a shape of [4, 6]"},
		{source, []Transformation{{Kind: Transpose, Dim0: -3}}, device.CodeInvalidArgument, "dimensions -3"},
		{source, []Transformation{{Kind: Slice, Dim0: 2}}, device.CodeInvalidArgument, "dimension 2"},
		{source, []Transformation{{Kind: Slice, Start: &three, End: &one}}, device.CodeInvalidArgument, "3 to 1"},
		{source, []Transformation{{Kind: Slice, End: &nine}}, device.CodeInvalidArgument, "0 to 9"},
		{source, []Transformation{{Kind: Cast, Type: dtype.F16}, {Kind: Reshape, Shape: []uint64{5, 5}}}, device.CodeInvalidArgument, "transformation 1, reshape: a shape of [5, 5] has 25 elements, and the tensor 24"},
		{source, []Transformation{{Kind: Reshape, Shape: []uint64{1 << 40, 1 << 40}}}, device.CodeInvalidArgument, "64 bits"},
		{source, []Transformation{{Kind: Reshape, Shape: append(slices.Repeat([]uint64{1}, 16), 24)}}, device.CodeInvalidArgument, "17 dimensions"},
		{ints, []Transformation{{Kind: Scale, Factor: 2}}, device.CodeInvalidArgument, "elements of type i8 are not scaled"},
		{source, []Transformation{{Kind: Scale, Factor: float32(nan())}}, device.CodeInvalidArgument, "the factor is NaN"},
		{source, []Transformation{{Kind: Quantize}}, device.CodeUnsupported, "not quantised"},
		{source, []Transformation{{Kind: "turn"}}, device.CodeInvalidArgument, "not a kind of transformation"},
		{opaque, []Transformation{{Kind: Cast, Type: dtype.F32}}, device.CodeUnsupported, "values of type c64 cannot be read"},
		{source, []Transformation{{Kind: Cast, Type: dtype.C64}}, device.CodeUnsupported, "values of type c64 cannot be made"},
		{source, []Transformation{{Kind: Cast, Type: dtype.GGUFBase + 8}}, device.CodeUnsupported, "rows of a shape of [4, 6] are not whole blocks of 32 elements of q8_0"},
		{source, []Transformation{{Kind: Cast, Type: dtype.GGUFBase + 12}}, device.CodeUnsupported, "values of type q4_k cannot be made"},
		{ints, []Transformation{{Kind: Cast, Type: dtype.GGUFBase + 8}}, device.CodeUnsupported, "values of type q8_0 cannot be made"},
		{rows, []Transformation{{Kind: Cast, Type: dtype.GGUFBase + 8}, {Kind: Transpose, Dim1: 1}}, device.CodeUnsupported, "transformation 1, transpose: the elements are blocks of q8_0 already: the cast must be the last transformation"},
		{rows, []Transformation{{Kind: Cast, Type: dtype.GGUFBase + 2}, {Kind: Cast, Type: dtype.F32}}, device.CodeUnsupported, "blocks of q4_0 already"},
		{source, []Transformation{{Kind: Slice, End: &one}, {Kind: Slice, Dim0: 1, End: &one}, {Kind: Cast, Type: dtype.I4}}, device.CodeInvalidArgument, "not a whole number of bytes"},
	} {
		_, err := planOf(refused.of, refused.list)
		require.ErrorIs(t, err, refused.code, refused.says)
		assert.ErrorContains(t, err, refused.says)
		assert.ErrorContains(t, err, `memory: "t"`)
	}
}

func nan() float64 { zero := 0.0; return zero / zero }

// A file that ends before a tensor does is a read error.
func TestFilesThatBecomeShorter(t *testing.T) {
	source := tensorOf(t, dtype.F32, 4, 6)
	source.file.reader = bytes.NewReader(make([]byte, 40))
	p, err := planOf(source, nil)
	require.NoError(t, err)
	tiles, err := p.open()
	require.NoError(t, err)
	err = tiles.read(make([]byte, source.Size), 0, source.Elements)
	require.ErrorIs(t, err, device.CodeIO)
	assert.ErrorContains(t, err, "became shorter")
}

// The gap between the elements of a column is longer than a window, so the column is read in
// several windows. A window holds elements of several columns.
func TestLongColumns(t *testing.T) {
	devicetest.SkipShortRace(t)
	swap := func(a, b int) Transformation { return Transformation{Kind: Transpose, Dim0: a, Dim1: b} }
	for name, of := range map[string]struct {
		kind  dtype.DType
		shape []uint64
		list  []Transformation
	}{
		"a matrix":                   {dtype.I16, []uint64{600, 3000}, []Transformation{swap(0, 1)}},
		"short rows":                 {dtype.F32, []uint64{90000, 6}, []Transformation{swap(0, 1)}},
		"elements of 4 bits":         {dtype.I4, []uint64{1000, 3002}, []Transformation{swap(0, 1)}},
		"elements of 8 bytes":        {dtype.U64, []uint64{300, 1000}, []Transformation{swap(0, 1)}},
		"three dimensions, reversed": {dtype.BF16, []uint64{40, 90, 300}, []Transformation{swap(0, 2)}},
		"rows stay together":         {dtype.BF16, []uint64{90, 40, 300}, []Transformation{swap(0, 1)}},
		"another shape afterwards":   {dtype.F32, []uint64{400, 1000}, []Transformation{swap(0, 1), {Kind: Reshape, Shape: []uint64{400, 1000}}}},
	} {
		t.Run(name, func(t *testing.T) {
			source := tensorOf(t, of.kind, of.shape...)
			p, err := planOf(source, of.list)
			require.NoError(t, err)
			a := plainArray{shape: of.shape}
			for i := range source.Elements {
				a.places = append(a.places, i)
			}
			a = a.transposed(of.list[0].Dim0, of.list[0].Dim1)
			stored, moved := elementsOf(of.kind, source.bytes()), [][]byte{}
			for _, place := range a.places {
				moved = append(moved, stored[place])
			}
			want := together(of.kind, moved)
			tiles, err := p.open()
			require.NoError(t, err)
			out := make([]byte, len(want))
			// Parts that begin and end inside of rows.
			for first, per := uint64(0), source.Elements/3/2*2; first < source.Elements; first += per {
				count := min(per, source.Elements-first)
				start, err := of.kind.Size(first)
				require.NoError(t, err)
				size, err := of.kind.Size(count)
				require.NoError(t, err)
				require.NoError(t, tiles.read(out[start:start+size], first, count))
			}
			require.True(t, bytes.Equal(want, out))
			assert.LessOrEqual(t, cap(tiles.gather), 2*windowBytes)
		})
	}
}

// A transposed tensor is read a few times, and not once for each of its rows.
func TestATransposedTensorIsReadFewTimes(t *testing.T) {
	devicetest.SkipShortRace(t)
	source := tensorOf(t, dtype.F32, 2048, 2048)
	counting := &countingReader{ReaderAt: source.file.reader}
	source.file.reader = counting
	p, err := planOf(source, []Transformation{{Kind: Transpose, Dim1: 1}})
	require.NoError(t, err)
	tiles, err := p.open()
	require.NoError(t, err)
	out := make([]byte, source.Size)
	for first, per := uint64(0), p.chunkElements(); first < source.Elements; first += per {
		count := min(per, source.Elements-first)
		require.NoError(t, tiles.read(out[4*first:4*(first+count)], first, count))
	}
	assert.LessOrEqual(t, counting.bytes, 2*source.Size)
}

type countingReader struct {
	io.ReaderAt
	bytes uint64
}

func (r *countingReader) ReadAt(out []byte, offset int64) (int, error) {
	r.bytes += uint64(len(out))
	return r.ReaderAt.ReadAt(out, offset)
}
