//go:build cgo && (amd64 || arm64) && linux

package operations

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/operator/operatortest"
)

// numbers reads the elements behind a colon.
func numbers(t *testing.T, text string) (shape []uint64, elements []int64) {
	t.Helper()
	sizes, values, _ := strings.Cut(text, ":")
	require.NoError(t, json.Unmarshal([]byte("["+sizes+"]"), &shape))
	if values != "" {
		require.NoError(t, json.Unmarshal([]byte("["+values+"]"), &elements))
	}
	return shape, elements
}

// smallCalls visits a call of an operator with every combination of types.
func smallCalls(t *testing.T, s *operator.Schema, visit func(c call, types map[string]dtype.DType)) {
	t.Helper()
	text, shapes := operatortest.Small(s.Name)
	operatortest.EachCombination(s, func(types map[string]dtype.DType) {
		for _, to := range targets(s) {
			given := text
			if s.Name == "Cast" {
				given = `{"to":"` + to.String() + `"}`
			}
			op, err := s.Prepare([]byte(given))
			require.NoError(t, err)
			g := &generator{elements: rand.New(rand.NewPCG(3, 4))}
			c := call{op: op, wanted: slices.Repeat([]bool{true}, max(len(s.Outputs), strings.Count(s.Name, "Split")*2))}
			for i, shape := range strings.Fields(shapes) {
				p := s.Inputs[min(i, len(s.Inputs)-1)]
				sizes, elements := numbers(t, shape)
				switch {
				case elements != nil:
					a := list(elements...)
					a.Type = types[p.Variable]
					c.inputs = append(c.inputs, a)
				case slices.Contains([]string{"indices", "position_ids", "block_tables", "lengths"}, p.Name) || s.Name == "Pow":
					c.inputs = append(c.inputs, ones(types[p.Variable], sizes))
				default:
					c.inputs = append(c.inputs, g.tensor(types[p.Variable], sizes...))
				}
			}
			visit(c, types)
		}
	})
}

// ones has integers that are possible indices, and powers without rounding.
func ones(kind dtype.DType, shape []uint64) *argument {
	g := &generator{elements: rand.New(rand.NewPCG(5, 6))}
	if kind.IsFloat() {
		return g.tensor(kind, shape...)
	}
	return g.between(kind, 0, 1, shape...)
}

func targets(s *operator.Schema) []dtype.DType {
	if s.Name != "Cast" {
		return []dtype.DType{dtype.F32}
	}
	return s.Inputs[0].Types.List()
}

// Every operator computes every combination of its types, with each pattern of the inputs and of
// the outputs, with every instruction set of the machine.
func TestEveryTypeAndPattern(t *testing.T) {
	onEachSet(t, 1, func(t *testing.T, e *Engine) {
		eachOperator(t, func(t *testing.T, s *operator.Schema) {
			ran := 0
			smallCalls(t, s, func(c call, _ map[string]dtype.DType) {
				if testing.Short() && ran > 0 {
					return
				}
				for _, in := range inputPatterns {
					out := outputPatterns[ran%len(outputPatterns)]
					if s.Name != "Cast" && s.Name != "Attention" {
						for _, out = range outputPatterns[1:] {
							c.prepare(t, patternsOf(c, in), out).run(t, e)
						}
						out = inOrder
					}
					c.prepare(t, patternsOf(c, in), out).run(t, e)
					ran++
				}
			})
			assert.Positive(t, ran)
		})
	})
}

// patternsOf returns a pattern for the inputs. Numbers that are sizes do not repeat.
func patternsOf(c call, p pattern) []pattern {
	in := slices.Repeat([]pattern{p}, len(c.inputs))
	for i, a := range c.inputs {
		if i > 0 && a != nil && a.Type == dtype.I64 && len(a.Shape) == 1 && p == repeated {
			in[i] = inOrder
		}
	}
	return in
}

// Capabilities state exactly the types that plans take: of the first input for each operator, and of
// any input of the engine.
func TestCapabilitiesAreWhatPlans(t *testing.T) {
	e := opened(t, 2)
	stated := e.Capabilities()
	assert.Equal(t, "cpu", stated.Name)
	assert.Equal(t, 2, stated.Threads)
	assert.Equal(t, e.cpu.Instructions(), stated.Details["instructions"])
	all := map[dtype.DType]bool{}
	eachOperator(t, func(t *testing.T, s *operator.Schema) {
		planned := map[dtype.DType]bool{}
		for opset := 1; opset <= operator.NewestOpset; opset++ {
			form, err := operator.Find(s.Domain, s.Name, opset)
			if err != nil || s.Domain == operator.ONNX && form.Since < s.Since && s.Name != "Erf" {
				continue
			}
			smallCalls(t, form, func(c call, _ map[string]dtype.DType) {
				_, err := e.Plan(c.prepare(t, []pattern{inOrder}, inOrder).request)
				if assert.NoError(t, err, "%v", c) {
					planned[c.inputs[0].Type] = true
					for _, in := range c.inputs {
						all[in.Type] = true
					}
				}
			})
		}
		name := s.FullName()
		assert.ElementsMatch(t, keys(planned), stated.Operations[name])
	})
	assert.ElementsMatch(t, keys(all), stated.Types)
	assert.Len(t, stated.Operations, len(lowerings()))
}

func keys(set map[dtype.DType]bool) (list []dtype.DType) {
	for k := range set {
		list = append(list, k)
	}
	return list
}
