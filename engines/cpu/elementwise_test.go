//go:build cgo && (amd64 || arm64) && linux

package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
)

// oracle computes an operation in F64.
func oracle(o Operation, x, z, factor float64) float64 {
	switch o {
	case Add:
		return x + z
	case Sub:
		return x - z
	case Mul:
		return x * z
	case Div:
		return x / z
	case Pow:
		return math.Pow(x, z)
	case SiLUMul:
		return x / (1 + math.Exp(-x)) * z
	case Sqrt:
		return math.Sqrt(x)
	case Relu:
		if x < 0 {
			return 0
		}
		return x
	case Tanh:
		return math.Tanh(x)
	case Erf:
		return math.Erf(x)
	case Gelu:
		return 0.5 * x * math.Erfc(-x/math.Sqrt2)
	case GeluTanh:
		return x / (1 + math.Exp(-2*math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	case Swish:
		return x / (1 + math.Exp(-factor*x))
	case Exp:
		return math.Exp(x)
	}
	return x
}

// requireClose compares to a relative error of 1e-5, and the roundings of the type. Values
// below the smallest normal number may be zero.
func requireClose(t *testing.T, kind dtype.DType, want, got float64, at ...any) {
	t.Helper()
	if kind != dtype.F32 {
		requireNear(t, kind, want, got, 10*math.Abs(want), at)
		return
	}
	single := float64(float32(want))
	switch {
	case math.IsNaN(want):
		if !math.IsNaN(got) {
			require.Fail(t, "a wrong value", "%v at %v, where NaN is right", got, at)
		}
	case math.IsInf(single, 0) || single == 0 || math.IsInf(got, 0):
		nearInfinity := math.Abs(want) > 0.9999*math.MaxFloat32
		if !(got == single || nearInfinity && math.Abs(got) > 0.9999*math.MaxFloat32 || math.Abs(want) < 1e-38 && math.Abs(got) < 1e-38) {
			require.Fail(t, "a wrong value", "%v at %v, where %v is right", got, at, want)
		}
	default:
		if !(math.Abs(got-want) <= 1e-5*math.Abs(want)+2e-38) {
			require.Fail(t, "a wrong value", "%v at %v, where %v is right", got, at, want)
		}
	}
}

// The values cover the whole range. Each value is in every lane of a full vector, and in the last, shorter
// part of a line.
func TestFunctionsAreExactOverTheWholeRange(t *testing.T) {
	onEachSet(t, func(t *testing.T, e *Engine, r *rand.Rand) {
		if e.Threads() > 1 {
			return
		}
		special := []float64{
			0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 0.625, 2, -2, 3, math.Inf(1), math.Inf(-1), math.NaN(), 88.7, 89, -87.4, -103.9,
			-104.1, 1e-30, -1e-30, 3e38, -3e38, 1e-45, 14, -14, 9.3, -13,
		}
		for o := Copy; o < operations; o++ {
			n := int64(6007)
			x := place(t, r, dtype.F32, false, n).fill(func() float64 {
				if r.IntN(20) == 0 {
					return special[r.IntN(len(special))]
				}
				return (2*r.Float64() - 1) * math.Exp2(float64(r.IntN(30)-22))
			})
			z := place(t, r, dtype.F32, false, n).fill(func() float64 {
				if r.IntN(20) == 0 {
					return special[r.IntN(len(special))]
				}
				if r.IntN(2) == 0 {
					return float64(r.IntN(41) - 20)
				}
				return (2*r.Float64() - 1) * math.Exp2(float64(r.IntN(14)-7))
			})
			y := place(t, r, dtype.F32, false, n)
			q := &Map{Operation: o, Rank: 1, X: x.address(), Y: y.address(), Factor: 1.702}
			q.Dims[0], q.XStrides[0], q.YStrides[0], q.ZStrides[0] = n, 1, 1, 1
			if o.HasTwoInputs() {
				q.Z = z.address()
			}
			run(t, e, q)
			xs, zs := x.values(), z.values()
			for i, got := range y.values() {
				want := oracle(o, xs[i], zs[i], 1.702)
				if (o == Gelu || o == GeluTanh || o == Swish || o == SiLUMul) && (math.Abs(want) < 1e-30 || math.IsInf(xs[i], -1)) {
					continue // the limit is 0, and F64 itself is NaN at -infinity
				}
				if o == Pow && !(math.Abs(want) < 3e38 && math.Abs(want) > 2e-38) && !math.IsInf(want, 0) && want != 0 && !math.IsNaN(want) {
					continue
				}
				requireClose(t, dtype.F32, want, got, o, xs[i], zs[i])
			}
			y.requireUntouched(t)
		}
	})
}

func TestMapsOfAnyStridesAndTypes(t *testing.T) {
	onEachSet(t, func(t *testing.T, e *Engine, r *rand.Rand) {
		for range requests(300) {
			t.Run("", func(t *testing.T) {
				var dims []int64
				for range r.IntN(5) {
					dims = append(dims, pick[int64](r, 0, 1, 1, 2, 3, 5, 16, 33))
				}
				if len(dims) > 0 && r.IntN(4) == 0 {
					dims[len(dims)-1] = pick[int64](r, 511, 512, 513, 1300)
					dims[0] = min(dims[0], 3)
				}
				for elementsOf(dims) > 20_000 {
					dims = dims[1:]
				}
				o := Operation(r.IntN(int(operations)))
				inputs := []dtype.DType{dtype.F32, dtype.F32, dtype.F16, dtype.BF16, dtype.I8}
				value := numbers(r, o <= Mul)
				x := place(t, r, pick(r, inputs...), true, dims...).fill(value)
				z := place(t, r, pick(r, inputs...), true, dims...).fill(value)
				y := placeOutput(t, r, pick(r, dtype.F32, dtype.F32, dtype.F16, dtype.BF16), dims...)
				switch r.IntN(6) {
				case 0:
					x = y.fill(value)
				case 1:
					z = y.fill(value)
				}
				q := &Map{
					Operation: o, Rank: int64(len(dims)), X: x.address(), XType: Type(x.kind), Y: y.address(), YType: Type(y.kind), Factor: 1,
				}
				copy(q.Dims[:], dims)
				copy(q.XStrides[:], x.strides)
				copy(q.YStrides[:], y.strides)
				if o.HasTwoInputs() {
					q.Z, q.ZType = z.address(), Type(z.kind)
					copy(q.ZStrides[:], z.strides)
				}
				xs, zs := x.values(), z.values()
				run(t, e, q)
				for i, got := range y.values() {
					requireClose(t, y.kind, oracle(o, xs[i], zs[i], 1), got, o, xs[i], zs[i], dims, x.kind, y.kind)
				}
				y.requireUntouched(t)
			})
		}
	})
}

func elementsOf(dims []int64) int64 {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	return n
}

// placeOutput makes an array whose dimensions are in any order, without zero strides.
func placeOutput(t *testing.T, r *rand.Rand, kind dtype.DType, dims ...int64) *array {
	for {
		a := place(t, r, kind, r.IntN(2) == 0, dims...)
		distinct := true
		for d, s := range a.strides {
			distinct = distinct && (s != 0 || dims[d] <= 1)
		}
		if distinct {
			return a
		}
	}
}

// Every value of F16 and BF16 converts as core/dtype does.
func TestConversionsOfHalves(t *testing.T) {
	onEachSet(t, func(t *testing.T, e *Engine, r *rand.Rand) {
		for _, kind := range []dtype.DType{dtype.F16, dtype.BF16} {
			x := place(t, r, kind, false, 1<<16)
			for i := range 1 << 16 {
				x.memory[2*i], x.memory[2*i+1] = byte(i), byte(i>>8)
			}
			y := place(t, r, dtype.F32, false, 1<<16)
			back := place(t, r, kind, false, 1<<16)
			q := &Map{Rank: 1, X: x.address(), XType: Type(kind), Y: y.address()}
			q.Dims[0], q.XStrides[0], q.YStrides[0] = 1<<16, 1, 1
			run(t, e, q)
			q = &Map{Rank: 1, X: y.address(), Y: back.address(), YType: Type(kind)}
			q.Dims[0], q.XStrides[0], q.YStrides[0] = 1<<16, 1, 1
			run(t, e, q)
			for i := range int64(1 << 16) {
				want, got := x.get(i), y.get(i)
				if math.IsNaN(want) {
					require.True(t, math.IsNaN(got) && math.IsNaN(back.get(i)))
					continue
				}
				// One call of require for each of the values takes seconds.
				if got != want || math.Float64bits(back.get(i)) != math.Float64bits(want) {
					require.Fail(t, "a value changed", "%v: %v became %v, and then %v", kind, want, got, back.get(i))
				}
			}
			// Values between those of the type are rounded.
			wide := place(t, r, dtype.F32, false, 4000).fill(func() float64 { return (2*r.Float64() - 1) * math.Exp2(float64(r.IntN(44)-26)) })
			narrow, want := place(t, r, kind, false, 4000), place(t, r, kind, false, 4000)
			q = &Map{Rank: 1, X: wide.address(), Y: narrow.address(), YType: Type(kind)}
			q.Dims[0], q.XStrides[0], q.YStrides[0] = 4000, 1, 1
			run(t, e, q)
			require.NoError(t, dtype.Convert(kind, want.memory, dtype.F32, wide.memory))
			require.Equal(t, want.memory, narrow.memory)
		}
	})
}

func TestRejectedMaps(t *testing.T) {
	e, err := Open(Config{Threads: 1})
	require.NoError(t, err)
	defer e.Close()
	assert.ErrorIs(t, e.Run(&Map{Operation: operations}, 0, 0), device.CodeInvalidArgument)
	assert.ErrorIs(t, e.Run(&Map{Operation: Add}, 0, 0), device.CodeInvalidArgument, "one input is missing")
	assert.ErrorIs(t, e.Run(&Map{XType: Type(dtype.C64)}, 0, 0), device.CodeUnsupported)
	assert.ErrorIs(t, e.Run(&Map{YType: Type(Q8Zero)}, 0, 0), device.CodeUnsupported)
	assert.ErrorIs(t, e.Run(&Map{Rank: 9}, 0, 0), device.CodeInvalidArgument)
	assert.ErrorIs(t, e.Run(&Rows{Operation: rowOperations}, 0, 0), device.CodeInvalidArgument)
	assert.ErrorIs(t, e.Run(&Rows{N: -1}, 0, 0), device.CodeInvalidArgument)
	assert.ErrorIs(t, e.Run(&Rows{Scale: 64}, 0, 0), device.CodeInvalidArgument)
	assert.ErrorIs(t, e.Run(&Rows{SumType: Type(dtype.I8)}, 0, 0), device.CodeUnsupported)
}

// The exact Gelu keeps its digits also where it is nearly 0.
func TestGeluIsExactToAMillionth(t *testing.T) {
	onEachSet(t, func(t *testing.T, e *Engine, r *rand.Rand) {
		const n = 40_000
		at := 0
		x := place(t, r, dtype.F32, false, n).fill(func() float64 {
			at++
			return float64(float32(12 * (2*float64(at)/n - 1)))
		})
		y := place(t, r, dtype.F32, false, n)
		q := &Map{Operation: Gelu, Rank: 1, X: x.address(), Y: y.address()}
		q.Dims[0], q.XStrides[0], q.YStrides[0] = n, 1, 1
		run(t, e, q)
		xs := x.values()
		for i, got := range y.values() {
			want := oracle(Gelu, xs[i], 0, 0)
			if !(math.Abs(got-want) <= 1e-6*math.Abs(want)) {
				require.Fail(t, "a wrong value", "Gelu(%v) is %v, where %v is right", xs[i], got, want)
			}
		}
	})
}

// A result of Exp below the smallest normal number is 0, because numbers between both are slow.
func TestExpIsNeverSubnormal(t *testing.T) {
	onEachSet(t, func(t *testing.T, e *Engine, r *rand.Rand) {
		const n, smallest = 4096, 0x1p-126
		at := 0
		x := place(t, r, dtype.F32, false, n).fill(func() float64 {
			at++
			return float64(float32(-86 - 20*float64(at)/n))
		})
		y := place(t, r, dtype.F32, false, n)
		q := &Map{Operation: Exp, Rank: 1, X: x.address(), Y: y.address()}
		q.Dims[0], q.XStrides[0], q.YStrides[0] = n, 1, 1
		run(t, e, q)
		xs := x.values()
		for i, got := range y.values() {
			want := oracle(Exp, xs[i], 0, 0)
			if want < 0.99999*smallest {
				want = 0
			}
			if !(math.Abs(got-want) <= 2e-6*want || got == 0 && want < 1.00001*smallest) {
				require.Fail(t, "a wrong value", "Exp(%v) is %v, where %v is right", xs[i], got, want)
			}
		}
	})
}
