package model_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/ir/irtest"
)

// sketch makes a random definition over values [batch, sequence, width].
type sketch struct {
	*irtest.Builder
	random *rand.Rand
	values []irtest.Value
	// outputs has the values that are first outputs of their nodes.
	outputs []irtest.Value
	made    int
}

func (s *sketch) name(kind string) string {
	s.made++
	return fmt.Sprintf("%s%d", kind, s.made)
}

func (s *sketch) parameter(shape ...int64) irtest.Value { return s.Parameter(s.name("p"), shape...) }

func (s *sketch) any() irtest.Value { return s.values[s.random.IntN(len(s.values))] }

func width(v irtest.Value) int64 { return v.Shape()[2] }

// partner returns another value of the same width, or the value itself.
func (s *sketch) partner(of irtest.Value) irtest.Value {
	for range 8 {
		if other := s.any(); width(other) == width(of) {
			return other
		}
	}
	return of
}

// step adds one or several nodes, and their values.
func (s *sketch) step() {
	x := s.any()
	w := width(x)
	switch s.random.IntN(12) {
	case 0:
		s.keep(s.Node(s.name("n"), "MatMul", "", x, s.parameter(w, 2+int64(s.random.IntN(12)))))
	case 1:
		s.keep(s.Node(s.name("n"), "Add", "", x, s.parameter(w)))
	case 2:
		s.keep(s.Node(s.name("n"), []string{"Gelu", "Relu", "Tanh", "Erf"}[s.random.IntN(4)], "", x))
	case 3, 4:
		s.keep(s.Node(s.name("n"), []string{"Add", "Mul", "Sub"}[s.random.IntN(3)], "", x, s.partner(x)))
	case 5:
		s.keep(s.Node(s.name("n"), "LayerNormalization", `{"axis": -1}`, x, s.parameter(w), s.parameter(w)))
	case 6:
		if w >= 4 && w%2 == 0 {
			both := s.Node(s.name("n"), "Split", `{"axis": -1}`, x, s.Constant(s.name("c"), w/2, w/2))
			s.keep(both)
			s.values = append(s.values, both.Output(1))
		}
	case 7:
		if w >= 4 {
			s.keep(s.Node(s.name("n"), "Slice", "", x, s.Constant(s.name("c"), 1), s.Constant(s.name("c"), w), s.Constant(s.name("c"), 2), s.Constant(s.name("c"), 2)))
		}
	case 8:
		if w%2 == 0 {
			heads := s.Node(s.name("n"), "Reshape", "", x, s.Constant(s.name("c"), 0, 0, 2, w/2))
			turned := s.Node(s.name("n"), "Transpose", `{"perm": [0, 2, 1, 3]}`, heads)
			soft := s.Node(s.name("n"), "Softmax", "", turned)
			back := s.Node(s.name("n"), "Transpose", `{"perm": [0, 2, 1, 3]}`, soft)
			s.keep(s.Node(s.name("n"), "Reshape", "", back, s.Constant(s.name("c"), 0, 0, w)))
		}
	case 9:
		if w < 40 {
			s.keep(s.Node(s.name("n"), "Concat", `{"axis": -1}`, x, s.any()))
		}
	case 10:
		more := s.Node(s.name("n"), "Unsqueeze", "", x, s.Constant(s.name("c"), 1))
		s.keep(s.Node(s.name("n"), "Squeeze", "", more, s.Constant(s.name("c"), 1)))
	case 11:
		s.keep(s.Node(s.name("n"), "Softmax", "", x))
	}
}

func (s *sketch) keep(v irtest.Value) {
	s.values, s.outputs = append(s.values, v), append(s.outputs, v)
}

// randomModel makes a definition that depends on the seed only.
func randomModel(t testing.TB, seed uint64) *ir.Model {
	s := &sketch{Builder: irtest.New(t), random: rand.New(rand.NewPCG(seed, 2))}
	s.keep(s.Input("x", dtype.F32, "batch", "sequence", 8))
	ids := s.Input("ids", dtype.I64, "batch", "sequence")
	s.keep(s.Node("rows", "Gather", "", s.parameter(16, 8), ids))
	for range 4 + s.random.IntN(20) {
		s.step()
	}
	// The last value, and up to two more, which may be views and early values.
	used := map[string]bool{}
	for _, at := range []int{len(s.outputs) - 1, s.random.IntN(len(s.outputs)), s.random.IntN(len(s.outputs))} {
		if v := s.outputs[at]; !used[v.ID()] {
			used[v.ID()] = true
			s.Output(v)
		}
	}
	return s.Model()
}
