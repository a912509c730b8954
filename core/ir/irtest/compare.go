package irtest

import (
	"fmt"
	"math"
	"slices"

	"ferrum_mem/core/operator/reference"
)

// Difference returns what differs between the outputs of two models, or nil. Floating-point elements may
// differ by tolerance, relative to the largest element of their tensor.
func Difference(want, got map[string]*reference.Tensor, tolerance float64) error {
	if len(want) != len(got) {
		return fmt.Errorf("%d outputs, not %d", len(got), len(want))
	}
	for id, a := range want {
		b := got[id]
		if b == nil || a.Type != b.Type || !slices.Equal(a.Shape, b.Shape) {
			return fmt.Errorf("output %q has another type or shape", id)
		}
		if !slices.Equal(a.Ints, b.Ints) {
			return fmt.Errorf("output %q: %v, not %v", id, b.Ints, a.Ints)
		}
		largest := 0.0
		for _, x := range a.Floats {
			largest = max(largest, math.Abs(x))
		}
		for i, x := range a.Floats {
			y := b.Floats[i]
			isSame := x == y || math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= tolerance*largest
			if !isSame {
				return fmt.Errorf("output %q, element %d: %v, not %v", id, i, y, x)
			}
		}
	}
	return nil
}
