//go:build cgo && (amd64 || arm64) && linux

package cpu

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
)

// sourcesOf returns elements of a type: all of them if they have at most 16 bits, and others at random
// and at the ends of the ranges of smaller types.
func sourcesOf(r *rand.Rand, kind dtype.DType) []byte {
	each, size := kind.Block()
	var data []byte
	switch {
	case each == 2 || size == 1:
		for i := range 256 {
			data = append(data, byte(i))
		}
		if kind == dtype.Bool {
			data = data[:2]
		}
	case size == 2:
		for i := range 1 << 16 {
			data = binary.LittleEndian.AppendUint16(data, uint16(i))
		}
	default:
		for range 4000 {
			bits := r.Uint64() >> r.IntN(64)
			value := math.Ldexp(2*r.Float64()-1, r.IntN(180)-90)
			if r.IntN(8) == 0 {
				value = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, 448, 464, 65504, 65520, 1 << 63, -1 << 63, 255.5, -128.5}[r.IntN(12)]
			}
			switch {
			case kind == dtype.F32:
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(value)))
			case kind == dtype.F64:
				data = binary.LittleEndian.AppendUint64(data, math.Float64bits(value))
			case size == 4:
				data = binary.LittleEndian.AppendUint32(data, uint32(bits))
			default:
				data = binary.LittleEndian.AppendUint64(data, bits)
			}
		}
	}
	return data
}

// A Copy between any two types has the results of core/dtype.
func TestConversionsAreThoseOfDType(t *testing.T) {
	e, err := Open(Config{Threads: 2})
	require.NoError(t, err)
	defer e.Close()
	r := rand.New(rand.NewPCG(1, 1))
	for from := dtype.F32; from <= dtype.U4; from++ {
		data := sourcesOf(r, from)
		each, size := from.Block()
		elements := uint64(len(data)) / size * each
		for to := dtype.F32; to <= dtype.U4; to++ {
			// The conversions to F8_E8M0 of ONNX have their own rules: package operations tests them.
			if to == dtype.F8E8M0 {
				continue
			}
			bytes, err := to.Size(elements)
			require.NoError(t, err)
			want, got := make([]byte, bytes), make([]byte, bytes)
			require.NoError(t, dtype.Convert(to, want, from, data))
			run(t, e, &Map{
				Operation: Copy, Rank: 1, Dims: [Rank]int64{int64(elements)}, X: addressIn(data), XType: Type(from), XStrides: [Rank]int64{1},
				Y: addressIn(got), YType: Type(to), YStrides: [Rank]int64{1},
			})
			requireSame(t, from, to, want, got)
		}
	}
}

// requireSame compares elements. All forms of NaN are equal.
func requireSame(t *testing.T, from, to dtype.DType, want, got []byte) {
	t.Helper()
	_, size := to.Block()
	for i := uint64(0); i < uint64(len(want)); i += size {
		if string(want[i:i+size]) == string(got[i:i+size]) {
			continue
		}
		isNaN := to.IsFloat() && to != dtype.F4E2M1
		if isNaN {
			var x, y [8]byte
			require.NoError(t, dtype.Convert(dtype.F64, x[:], to, want[i:i+size]))
			require.NoError(t, dtype.Convert(dtype.F64, y[:], to, got[i:i+size]))
			isNaN = math.IsNaN(math.Float64frombits(binary.LittleEndian.Uint64(x[:]))) &&
				math.IsNaN(math.Float64frombits(binary.LittleEndian.Uint64(y[:])))
		}
		if !isNaN {
			require.Fail(t, "a wrong element", "%v to %v: bytes %d are %x, expected %x", from, to, i, got[i:i+size], want[i:i+size])
		}
	}
}

// Integers and F64 are computed in parts of a run. Numbers stay whole, so results are exact.
func TestLongRunsOfEveryNumber(t *testing.T) {
	e, err := Open(Config{Threads: 2})
	require.NoError(t, err)
	defer e.Close()
	r := rand.New(rand.NewPCG(1, 1))
	for _, kind := range []dtype.DType{dtype.F64, dtype.I64, dtype.U64, dtype.I32, dtype.U32, dtype.I16, dtype.U8} {
		for _, o := range []Operation{Add, Sub, Mul, Div, Relu} {
			for _, n := range []int64{1, 63, 64, 65, 200} {
				for _, step := range []int64{0, 1, 3} {
					x, z := make([]int64, n*3), make([]int64, n*3)
					for i := range x {
						x[i], z[i] = r.Int64N(6)+5, r.Int64N(5)+1
					}
					left, right, got := encoded(kind, x), encoded(kind, z), encoded(kind, make([]int64, n))
					q := &Map{
						Operation: o, Rank: 1, Dims: [Rank]int64{n}, X: addressIn(left), XType: Type(kind), XStrides: [Rank]int64{step},
						Y: addressIn(got), YType: Type(kind), YStrides: [Rank]int64{1},
					}
					if o.HasTwoInputs() {
						q.Z, q.ZType, q.ZStrides = addressIn(right), Type(kind), [Rank]int64{1}
					}
					run(t, e, q)
					want := make([]float64, n)
					for i := range want {
						want[i] = oracle(o, float64(x[int64(i)*step]), float64(z[i]), 1)
						if kind != dtype.F64 {
							want[i] = math.Trunc(want[i])
						}
					}
					require.Equal(t, want, decoded(t, kind, got), "%v %v of %d, step %d", o, kind, n, step)
				}
			}
		}
	}
}

// encoded returns small whole numbers as elements of a type.
func encoded(kind dtype.DType, values []int64) []byte {
	var data []byte
	for _, v := range values {
		switch _, size := kind.Block(); {
		case kind == dtype.F64:
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(float64(v)))
		case size == 8:
			data = binary.LittleEndian.AppendUint64(data, uint64(v))
		case size == 4:
			data = binary.LittleEndian.AppendUint32(data, uint32(v))
		case size == 2:
			data = binary.LittleEndian.AppendUint16(data, uint16(v))
		default:
			data = append(data, byte(v))
		}
	}
	return data
}

// decoded returns elements of a type as F64.
func decoded(t *testing.T, kind dtype.DType, data []byte) []float64 {
	_, size := kind.Block()
	wide := make([]byte, 8*uint64(len(data))/size)
	require.NoError(t, dtype.Convert(dtype.F64, wide, kind, data))
	var values []float64
	for at := 0; at < len(wide); at += 8 {
		values = append(values, math.Float64frombits(binary.LittleEndian.Uint64(wide[at:])))
	}
	return values
}

// A program has the results of its requests, with any operands; joined programs too.
func TestPrograms(t *testing.T) {
	onEachSet(t, func(t *testing.T, e *Engine, r *rand.Rand) {
		n := int64(1000)
		half := func(from, to uint64) *Map {
			return &Map{
				Operation: Add, Rank: 1, Dims: [Rank]int64{n}, X: from, XStrides: [Rank]int64{1}, Z: InputAt(1, 4), ZStrides: [Rank]int64{},
				Y: to, YStrides: [Rank]int64{1},
			}
		}
		// y = (x + z) + z, where z is the second element of input 1.
		p, err := e.Compile([]Request{half(InputAt(0, 0), WorkspaceAt(0)), half(WorkspaceAt(0), OutputAt(0, 4))}, 4*n)
		require.NoError(t, err)
		require.GreaterOrEqual(t, p.WorkspaceBytes(), 4*n)
		var bound []Bound
		var inputs, outputs []*array
		for range 3 {
			x := place(t, r, dtype.F32, false, n).fill(numbers(r, false))
			z := place(t, r, dtype.F32, false, 2).fill(numbers(r, false))
			y := place(t, r, dtype.F32, false, n+1)
			inputs, outputs = append(inputs, x, z), append(outputs, y)
			space := region(t, p.WorkspaceBytes()+64)
			at := (addressIn(space) + 63) / 64 * 64
			bound = append(bound, Bound{p, Operands{
				Inputs:  []device.Addr{device.Addr(x.address()), device.Addr(z.address())},
				Outputs: []device.Addr{device.Addr(y.address())}, Workspace: device.Addr(at),
			}})
		}
		check := func() {
			for i, y := range outputs {
				z := inputs[2*i+1].get(1)
				for at := range n {
					require.InDelta(t, inputs[2*i].get(at)+z+z, y.get(at+1), 1e-6)
					y.put(at+1, 0)
				}
			}
		}
		for i := range bound {
			require.NoError(t, p.Run(&bound[i].Operands))
		}
		check()
		joined := e.Join(bound)
		assert.Zero(t, joined.WorkspaceBytes())
		require.NoError(t, joined.Run(&Operands{}))
		check()
	})
}

func TestRejectedPrograms(t *testing.T) {
	e, err := Open(Config{Threads: 1})
	require.NoError(t, err)
	_, err = e.Compile([]Request{&Map{Rank: 9}}, 0)
	assert.ErrorIs(t, err, device.CodeInvalidArgument)
	p, err := e.Compile(nil, 1)
	require.NoError(t, err)
	assert.EqualValues(t, 64, p.WorkspaceBytes())
	e.Close()
	assert.ErrorIs(t, p.Run(&Operands{}), device.CodeInvalidState)
}

func TestPlaces(t *testing.T) {
	o := &Operands{Inputs: []device.Addr{100, 200}, Outputs: []device.Addr{300}, Workspace: 400}
	assert.EqualValues(t, 192, o.resolve(InputAt(1, -8)))
	assert.EqualValues(t, 300+MaxDistance, o.resolve(OutputAt(0, MaxDistance)))
	assert.EqualValues(t, 464, o.resolve(WorkspaceAt(64)))
	assert.EqualValues(t, 0x7FFF_FFFF_FFFF, o.resolve(0x7FFF_FFFF_FFFF))
	assert.EqualValues(t, MaxOperands-1, linkOf(0, InputAt(MaxOperands-1, 0)).index)
}
