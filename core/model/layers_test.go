package model_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/ir/irtest"
	"ferrum_mem/core/model"
	"ferrum_mem/core/operator"
	"ferrum_mem/engines/cpu/operations"
)

// ownLayers are layer types of a program in the domain "mine". Each computes what the operator of ONNX with
// its name does, on an engine of its own. "mine.gain" multiplies by a parameter that it makes.
type ownLayers struct {
	engine compute.Engine
	names  []string
	// kept counts operations that use a layer, and runs their runs.
	kept, runs atomic.Int64
	// fails is called by each function of a layer.
	fails func(what string) error
}

func newOwnLayers(t testing.TB) *ownLayers {
	e, err := operations.New(compute.Options{Threads: 1})
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return &ownLayers{
		engine: e, fails: func(string) error { return nil },
		names: []string{"Add", "Concat", "Erf", "Gelu", "LayerNormalization", "MatMul", "Mul", "Relu", "Softmax", "Sub", "Tanh", "Transpose"},
	}
}

func (l *ownLayers) Find(domain, name string) *operator.Schema {
	if domain != "mine" || name != "gain" && !slices.Contains(l.names, name) {
		return nil
	}
	inner := name
	if name == "gain" {
		inner = "Mul"
	}
	return operator.NewCustom(domain, name, 1, &ownLayer{of: l, name: name, inner: inner})
}

func (l *ownLayers) Names() []string {
	names := []string{"mine.gain"}
	for _, name := range l.names {
		names = append(names, "mine."+name)
	}
	slices.Sort(names)
	return names
}

type ownLayer struct {
	of          *ownLayers
	name, inner string
}

var _ backend.UserOperator = (*ownLayer)(nil)

func (l *ownLayer) Defaults() map[string]json.RawMessage { return nil }

func (l *ownLayer) operator(config []byte) (*operator.Operator, error) {
	schema, err := operator.Find(operator.ONNX, l.inner, 0)
	if err != nil {
		return nil, err
	}
	return schema.Prepare(config)
}

func (l *ownLayer) Infer(config []byte, inputs []operator.Value, wanted []bool) ([]operator.Value, error) {
	if err := l.of.fails("infer"); err != nil {
		return nil, err
	}
	o, err := l.operator(config)
	if err != nil {
		return nil, err
	}
	found, err := o.Infer(inputs, wanted)
	if err != nil {
		return nil, err
	}
	return found.Outputs[:len(wanted)], nil
}

func (l *ownLayer) Parameters([]byte) ([]byte, error) {
	if l.name != "gain" {
		return nil, nil
	}
	return []byte(`[{"name": "gain", "shape": [8], "dtype": "f32"}]`), l.of.fails("parameters")
}

func (l *ownLayer) Initialize(_ []byte, _ string, of operator.Value, to device.Addr) error {
	elements := offheap.View(uintptr(to), int(of.Shape[0])*4)
	for i := range of.Shape[0] {
		copy(elements[4*i:], []byte{0, 0, 0x80, 0x3f}) // 1
	}
	return l.of.fails("initialize")
}

func (l *ownLayer) Keep() (func(), error) {
	if err := l.of.fails("keep"); err != nil {
		return nil, err
	}
	l.of.kept.Add(1)
	return func() { l.of.kept.Add(-1) }, nil
}

// ownPlan is a plan of the engine of the layers.
type ownPlan struct {
	compute.Plan
	of *ownLayers
}

func (p *ownPlan) Run(inputs, outputs []device.Addr, workspace device.Addr) error {
	p.of.runs.Add(1)
	if err := p.of.fails("run"); err != nil {
		return err
	}
	return p.Plan.Run(inputs, outputs, workspace)
}

func (l *ownLayer) Plan(_ device.ID, r compute.Request) (compute.Plan, error) {
	if err := l.of.fails("plan"); err != nil {
		return nil, err
	}
	o, err := l.operator(r.Operator.Config())
	if err != nil {
		return nil, err
	}
	values := make([]operator.Value, len(r.Inputs))
	for i := range r.Inputs {
		values[i] = operator.Value{Type: r.Inputs[i].Type}
		for _, length := range r.Inputs[i].Layout.Shape() {
			values[i].Shape = append(values[i].Shape, uint64(length))
		}
	}
	inferred, err := o.Infer(values, nil)
	if err != nil {
		return nil, err
	}
	made, err := l.of.engine.Plan(compute.Request{Operator: o, Inferred: inferred, Inputs: r.Inputs, Outputs: r.Outputs})
	if err != nil {
		return nil, err
	}
	return &ownPlan{made, l.of}, nil
}

// withOwnLayers returns the definition with some of its layers in the domain "mine".
func withOwnLayers(m *ir.Model, known *ownLayers, random *rand.Rand) (mixed *ir.Model, changed int) {
	mixed = m.Clone()
	mixed.Operators = known
	for i := range mixed.Layers {
		if l := &mixed.Layers[i]; slices.Contains(known.names, l.Type) && random.IntN(2) == 0 {
			l.Type = "mine." + l.Type
			changed++
		}
	}
	return mixed, changed
}

func TestLayersOfTheProgramComputeTheSameBitsAsOperators(t *testing.T) {
	seeds := 60
	if testing.Short() {
		seeds = 20
	}
	r := newRig(t)
	random := rand.New(rand.NewPCG(7, 7))
	changed := 0
	for seed := range uint64(seeds) {
		m := randomModel(t, seed)
		mixed, count := withOwnLayers(m, r.layers, random)
		changed += count
		for _, issue := range mixed.Validate() {
			require.Equal(t, ir.Warning, issue.Severity, "seed %d: %v", seed, issue)
		}
		plain, other := r.settings(m), r.settings(mixed)
		other.ID = "mixed"
		x, y := r.start(plain), r.start(other)
		for _, of := range lengths {
			inputs, err := irtest.Inputs(m, of)
			require.NoError(t, err)
			require.Equal(t, r.run(x, inputs), r.run(y, inputs), "seed %d, %v", seed, of)
		}
		require.NoError(t, x.Close(false))
		require.NoError(t, y.Close(false))
		require.Zero(t, r.layers.kept.Load())
	}
	assert.Greater(t, changed, seeds)
	assert.Greater(t, r.layers.runs.Load(), int64(changed))
}

// gained is x, mine.gain, and a Relu: the layer has a parameter that the definition does not list.
func gained(t testing.TB, known *ownLayers) *ir.Model {
	b := irtest.New(t)
	x := b.Input("x", dtype.F32, "batch", "sequence", 8)
	b.Output(b.Node("y", "Relu", "", b.Node("scaled", "Tanh", "", x)))
	m := b.Model().Clone()
	m.Operators = known
	for i := range m.Layers {
		if m.Layers[i].Type == "Tanh" {
			m.Layers[i].Type = "mine.gain"
		}
	}
	return m
}

func TestEachFunctionOfALayerFailsOnce(t *testing.T) { eachFunctionFailsOnce(t, newRig(t)) }

func TestEachFunctionOfALayerFailsOnceInASession(t *testing.T) {
	eachFunctionFailsOnce(t, newRuntimeRig(t))
}

func eachFunctionFailsOnce(t *testing.T, r *rig) {
	m := gained(t, r.layers)
	builder := &model.Builder{}
	before := r.books()
	reached := map[string]int{}
	for n := 1; ; n++ {
		calls, failed := 0, ""
		r.layers.fails = func(what string) error {
			reached[what]++
			// Validation infers again with other lengths.
			if calls++; calls == n || what == "infer" && what == failed {
				failed = what
				return device.Errorf(device.CodeDevice, "layer.test", "the layer fails in %s", what)
			}
			return nil
		}
		x, err := builder.Build(context.Background(), r.request(m))
		if failed == "" {
			require.NoError(t, err)
			require.NoError(t, x.Close(false))
			break
		}
		require.Error(t, err, failed)
		require.ErrorContains(t, err, "the layer fails in "+failed)
		require.Equal(t, before, r.books(), "call %d, %s", n, failed)
		require.Zero(t, r.layers.kept.Load(), "call %d, %s", n, failed)
	}
	for _, what := range []string{"infer", "parameters", "initialize", "keep", "plan", "run"} {
		assert.Positive(t, reached[what], what)
	}
}

func TestWeightsOfALayerHaveTheNameOfItsParameter(t *testing.T) {
	r := newRig(t)
	m := gained(t, r.layers)
	stored := m.Clone()
	require.NoError(t, stored.AddLayerParameters(func(string) bool { return true }))
	last := stored.Parameters[len(stored.Parameters)-1]
	require.Equal(t, "layer of scaled.gain", last.Name)
	require.Equal(t, "layer of scaled.gain", last.Source)
	inputs, err := irtest.Inputs(m, lengths[0])
	require.NoError(t, err)
	builder := &model.Builder{}
	outputs := map[bool]map[string][]byte{}
	for _, has := range []bool{false, true} {
		request := r.request(m)
		request.Weights = nil
		if has {
			request.Weights = sourceOf(t, stored)
		}
		x, err := builder.Build(context.Background(), request)
		require.NoError(t, err)
		outputs[has] = r.run(x, inputs)
		require.NoError(t, x.Close(false))
	}
	assert.NotEqual(t, outputs[false], outputs[true], "the weights have other elements than the layer makes")
}
