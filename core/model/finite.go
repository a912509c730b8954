package model

import (
	"encoding/binary"
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/tensor"
)

// notFinite is the issue of an output.
func notFinite(output string) *ir.Issue {
	return &ir.Issue{
		Severity: ir.Warning, Category: "outputs", Description: "output \"" + output + "\" has elements that are not finite for inputs of zeros",
		ConfigPath: "graph.outputs",
	}
}

// isFinite states whether no element is NaN or infinite.
func isFinite(t *tensor.Tensor, stream device.Stream) (bool, error) {
	if !t.Type().IsFloat() {
		return true, nil
	}
	bytes := make([]byte, t.SizeBytes())
	if err := t.Read(bytes, stream); err != nil {
		return false, err
	}
	layout := t.Layout()
	wide := make([]byte, 8*layout.Elements())
	if err := dtype.Convert(dtype.F64, wide, t.Type(), bytes); err != nil {
		return false, err
	}
	return allFinite(wide), nil
}

// allFinite states whether no number of 64 bits is NaN or infinite.
func allFinite(wide []byte) bool {
	for i := range len(wide) / 8 {
		value := math.Float64frombits(binary.NativeEndian.Uint64(wide[8*i:]))
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return false
		}
	}
	return true
}
