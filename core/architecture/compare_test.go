package architecture

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/weights"
	"ferrum_mem/core/weights/header"
)

// Weights of every type that a load converts to floating point fit a parameter.
func TestTypesThatFitAParameter(t *testing.T) {
	p := ir.Parameter{Name: "w", Shape: []int64{2, 256}, DType: dtype.F32}
	types := map[dtype.DType]bool{dtype.C64: false, dtype.I8: false, dtype.I64: false, dtype.Bool: false, dtype.F6E2M3: false}
	for _, of := range []dtype.DType{dtype.F32, dtype.F16, dtype.BF16, dtype.F64, dtype.F8E4M3} {
		types[of] = true
	}
	blocks := map[bool]int{}
	for number := range uint32(100) {
		if of, known := dtype.GGUF(number); known && of >= dtype.GGUFBase {
			types[of] = of.CanDequantise()
			blocks[of.CanDequantise()]++
		}
	}
	assert.NotZero(t, blocks[true])
	assert.NotZero(t, blocks[false])
	for of, fits := range types {
		f, fitting := compare(&p, &weights.Tensor{Tensor: header.Tensor{Name: "w", Type: of, TypeName: of.String(), Shape: []uint64{2, 256}}})
		assert.Equal(t, fits, fitting, of)
		if !fits {
			assert.Equal(t, device.CodeUnsupported, f.code)
			assert.Contains(t, f.what, of.String())
		}
	}
}
