//go:build cgo && (amd64 || arm64) && linux

package operations

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
)

// withPacked replaces input 1 by its packed form, and returns the memory of it.
func (e *execution) withPacked(t require.TestingT, engine *Engine) (packed device.Addr, check func()) {
	made, err := engine.Pack(e.op, 1, e.request.Inputs[1])
	require.NoError(t, err, "%v", e.call)
	packed, check = workspace(t, made.SizeBytes)
	require.NoError(t, made.Write(e.inputs[1].address(), packed))
	check()
	e.request.Inputs[1].Packing = made.Packing
	return packed, check
}

// A product with a packed matrix has the results of the reference.
func TestProductsOfPackedMatrices(t *testing.T) {
	onEachSet(t, 2, func(t *testing.T, e *Engine) {
		for _, name := range []string{"MatMul", "Gemm", "linear", "quantized_linear"} {
			t.Run(name, func(t *testing.T) {
				rapid.Check(t, func(r *rapid.T) {
					g := &generator{T: r, elements: rand.New(rand.NewPCG(1, rapid.Uint64().Draw(r, "seed")))}
					x := g.draw(schemaOf(t, name)).prepare(r, []pattern{
						rapid.SampledFrom(inputPatterns).Draw(r, "left"), rapid.SampledFrom(inputPatterns).Draw(r, "right"),
					}, rapid.SampledFrom(outputPatterns).Draw(r, "output"))
					left, right := x.request.Inputs[0].Type, x.request.Inputs[1].Type
					if !isPackable(right) || !isPackable(left) {
						if !isPackable(right) {
							_, err := e.Pack(x.op, 1, x.request.Inputs[1])
							require.ErrorIs(r, err, device.CodeUnsupported)
						}
						return
					}
					packed, check := x.withPacked(r, e)
					p, err := e.Plan(x.request)
					require.NoError(r, err)
					space, checkSpace := workspace(r, p.WorkspaceBytes())
					inputs := addresses(x.inputs)
					inputs[1] = packed
					require.NoError(r, p.Run(inputs, addresses(x.outputs), space))
					checkSpace()
					check()
					x.compare(r)
				})
			})
		}
	})
}

func schemaOf(t testing.TB, name string) *operator.Schema {
	t.Helper()
	domain := operator.ONNX
	if name == "linear" || name == "quantized_linear" {
		domain = operator.Ferrum
	}
	s, err := operator.Find(domain, name, 0)
	require.NoError(t, err)
	return s
}

// A matrix that was packed for one form of a product is refused by the other: both would read it in
// another order.
func TestPackedMatricesOfAnotherForm(t *testing.T) {
	e := opened(t, 1)
	square := []*argument{random(dtype.F32, 4, 4), random(dtype.F32, 4, 4)}
	x := callOf(t, operator.Ferrum, "linear", "", square...).prepare(t, []pattern{inOrder}, inOrder)
	x.withPacked(t, e)
	y := callOf(t, operator.ONNX, "MatMul", "", square...).prepare(t, []pattern{inOrder}, inOrder)
	y.request.Inputs[1].Packing = x.request.Inputs[1].Packing
	_, err := e.Plan(y.request)
	assert.ErrorIs(t, err, device.CodeUnsupported)
	y = callOf(t, operator.ONNX, "Gemm", `{"transB":1}`, square...).prepare(t, []pattern{inOrder}, inOrder)
	y.request.Inputs[1].Packing = x.request.Inputs[1].Packing
	_, err = e.Plan(y.request)
	assert.NoError(t, err)
}

func TestRefusedPacking(t *testing.T) {
	e := opened(t, 1)
	product := callOf(t, operator.ONNX, "MatMul", "", random(dtype.F32, 2, 2), random(dtype.F32, 2, 2)).prepare(t, []pattern{inOrder}, inOrder)
	_, err := e.Pack(product.op, 0, product.request.Inputs[0])
	assert.ErrorIs(t, err, device.CodeUnsupported)
	assert.ErrorContains(t, err, "input 0 of MatMul has no packed layout")
	sum := callOf(t, operator.ONNX, "Add", "", random(dtype.F32, 2, 2), random(dtype.F32, 2, 2)).prepare(t, []pattern{inOrder}, inOrder)
	_, err = e.Pack(sum.op, 1, sum.request.Inputs[1])
	assert.ErrorIs(t, err, device.CodeUnsupported)
	_, err = e.Pack(product.op, 1, compute.Operand{IsAbsent: true})
	assert.ErrorIs(t, err, device.CodeUnsupported)
}
