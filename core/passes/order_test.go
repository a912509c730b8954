package passes

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/ir/irtest"
)

// fake is a pass that a test describes.
type fake struct {
	name         string
	dependencies []string
	// change is nil for a pass that is not applicable.
	change func(m *ir.Model) (Result, error)
}

func (f fake) Name() string                { return f.name }
func (f fake) Dependencies() []string      { return f.dependencies }
func (f fake) IsApplicable(*ir.Model) bool { return f.change != nil }
func (f fake) Apply(_ context.Context, m *ir.Model) (Result, error) {
	return f.change(m)
}

func small(t tester) *ir.Model {
	b := irtest.New(t)
	b.Output(b.Node("y", "Relu", "", b.Node("sum", "Add", "", wide(b), b.Parameter("w", 8))))
	return b.Model()
}

func namesOfResults(results []Result) []string {
	var names []string
	for _, r := range results {
		names = append(names, r.Pass)
	}
	return names
}

func TestPassesRunAfterTheirDependencies(t *testing.T) {
	list := []Pass{fake{name: "c", dependencies: []string{"b", "a"}}, fake{name: "b", dependencies: []string{"a"}}, fake{name: "d"}, fake{name: "a"}}
	_, results, err := Run(context.Background(), small(t), list, Options{})
	require.NoError(t, err)
	assert.Equal(t, []string{"d", "a", "b", "c"}, namesOfResults(results))
}

// For any dependencies without a cycle the order keeps them; with a cycle there is an error.
func TestOrderOfRandomDependencies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c", "d", "e"}
		var list []Pass
		for _, name := range names {
			list = append(list, fake{name: name, dependencies: rapid.SliceOfN(rapid.SampledFrom(names), 0, 2).Draw(t, "needs of "+name)})
		}
		order, err := ordered(list)
		if !hasOrder(list) {
			require.ErrorIs(t, err, device.CodeInvalidArgument)
			require.ErrorContains(t, err, "cycle")
			return
		}
		require.NoError(t, err)
		require.Len(t, order, len(list))
		for at, p := range order {
			for _, need := range p.Dependencies() {
				require.True(t, slices.ContainsFunc(order[:at], func(earlier Pass) bool { return earlier.Name() == need }))
			}
		}
	})
}

// hasOrder states whether passes can be taken away one by one, each without a dependency on one that is
// left.
func hasOrder(list []Pass) bool {
	left := slices.Clone(list)
	for range list {
		left = slices.DeleteFunc(slices.Clone(left), func(p Pass) bool {
			return !slices.ContainsFunc(p.Dependencies(), func(need string) bool {
				return slices.ContainsFunc(left, func(other Pass) bool { return other.Name() == need })
			})
		})
	}
	return len(left) == 0
}

func TestWrongLists(t *testing.T) {
	for _, c := range []struct {
		list []Pass
		code device.Code
		text string
	}{
		{[]Pass{fake{name: "a", dependencies: []string{"b"}}, fake{name: "b", dependencies: []string{"a"}}}, device.CodeInvalidArgument, "a -> b -> a"},
		{[]Pass{fake{name: "free"}, fake{name: "a", dependencies: []string{"a"}}}, device.CodeInvalidArgument, "a -> a"},
		{[]Pass{fake{name: "fold", dependencies: []string{"fuze"}}, fake{name: "fuse"}}, device.CodeNotFound, `pass "fold" depends on "fuze", which is not in the list: the nearest is "fuse"`},
		{[]Pass{fake{name: "a"}, fake{name: "a"}}, device.CodeAlreadyExists, `passes[1]: the name "a" occurs twice`},
		{[]Pass{fake{name: "a"}, nil}, device.CodeInvalidArgument, "passes[1]: the pass is missing"},
		{[]Pass{fake{}}, device.CodeInvalidArgument, "passes[0]: the pass has no name"},
		{make([]Pass, maxPasses+1), device.CodeInvalidArgument, "at most 1024"},
	} {
		changed, results, err := Run(context.Background(), small(t), c.list, Options{})
		require.ErrorIs(t, err, c.code)
		assert.ErrorContains(t, err, c.text)
		assert.Nil(t, changed)
		assert.Nil(t, results)
	}
}
