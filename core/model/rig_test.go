package model_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/ir/irtest"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/model"
	"ferrum_mem/core/operator/reference"
	"ferrum_mem/core/tensor"
	"ferrum_mem/core/vmm"
	"ferrum_mem/core/weights"
	"ferrum_mem/drivers/host"
)

// requireError checks the code of an error, and that its message names something.
func requireError(t testing.TB, code device.Code, err error, names ...string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, device.CodeOf(err), "%v", err)
	var typed *device.Error
	require.True(t, errors.As(err, &typed))
	for _, name := range names {
		require.ErrorContains(t, err, name)
	}
}

// rig is a device with a backend and an elastic pool.
type rig struct {
	t       testing.TB
	dev     *brittle
	device  *engine.Engine
	backend *backend.Backend
	pool    *vmm.Elastic
	// layers are the layer types of the program.
	layers *ownLayers
}

const pageBytes = 64 << 10

func newRig(t testing.TB) *rig { return newRigOf(t, 1<<30, 1) }

func newRigOf(t testing.TB, limitBytes uint64, threads int) *rig {
	t.Helper()
	return newRigOn(t, "", limitBytes, threads)
}

// newRigOn opens the backend with an instruction set; "": the best one.
func newRigOn(t testing.TB, instructions string, limitBytes uint64, threads int) *rig {
	t.Helper()
	c := backend.DefaultConfig()
	c.Threads, c.Options.InstructionSet = threads, instructions
	return newRigWith(t, limitBytes, c)
}

func newRigWith(t testing.TB, limitBytes uint64, c backend.Config) *rig {
	t.Helper()
	driver, err := host.New(host.Config{MemoryBytes: 2 << 30})
	require.NoError(t, err)
	inner, err := driver.Open(0)
	require.NoError(t, err)
	r := &rig{t: t, layers: newOwnLayers(t), dev: &brittle{Device: inner, VirtualMemory: inner.(device.VirtualMemory)}}
	r.dev.first = &brittleStream{Stream: inner.DefaultStream(), of: r.dev}
	r.device = engine.New(r.dev, engine.Options{})
	factory := manager.NewFactory()
	registry := backend.NewRegistry(backend.Settings{
		Engines: r.dev.engines(), Devices: func() []device.ID { return []device.ID{r.device.ID()} }, Operators: r.layers,
	})
	r.backend, err = registry.Open(factory, r.device, c)
	require.NoError(t, err)
	r.pool, err = vmm.NewElastic(r.device, vmm.ElasticConfig{
		Name: "models", LimitBytes: limitBytes, PageBytes: pageBytes, ReadyPages: -1, Stepped: true,
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		r.dev.failAt(0)
		require.Empty(t, r.pool.Models(), "no model is left")
		require.NoError(t, r.pool.Close(false))
		require.NoError(t, r.backend.Close(false), "no operation, sequence or tensor is left")
		require.Zero(t, r.layers.kept.Load(), "no layer is kept")
		_, err := factory.CloseDevice(r.device, false)
		require.NoError(t, err)
		require.NoError(t, r.device.Close(), "no memory is left")
	})
	return r
}

// sourceOf makes the weights of a definition: safetensors in memory with irtest.Elements.
func sourceOf(t testing.TB, m *ir.Model) *weights.Source {
	t.Helper()
	header, data := map[string]any{}, []byte{}
	var add func(p *ir.Parameter)
	add = func(p *ir.Parameter) {
		for i := range p.Parts {
			add(&p.Parts[i])
		}
		if p.Source == "" || header[p.Source] != nil {
			return
		}
		elements, err := irtest.Elements(p)
		require.NoError(t, err)
		bytes, err := elements.Bytes()
		require.NoError(t, err)
		header[p.Source] = map[string]any{"dtype": "F32", "shape": p.Shape, "data_offsets": []int{len(data), len(data) + len(bytes)}}
		data = append(data, bytes...)
	}
	for i := range m.Parameters {
		add(&m.Parameters[i])
	}
	text, err := json.Marshal(header)
	require.NoError(t, err)
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	source, err := weights.OpenMemory("test", append(append(file, text...), data...), weights.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, source.Close()) })
	return source
}

func (r *rig) settings(m *ir.Model) model.Settings {
	return model.Settings{ID: "test", Definition: m, Weights: sourceOf(r.t, m), Backend: r.backend, Pool: r.pool}
}

// start builds a model that is closed at the end of the test.
func (r *rig) start(s model.Settings) *model.Executor {
	r.t.Helper()
	x, err := model.New(context.Background(), s)
	require.NoError(r.t, err)
	r.t.Cleanup(func() {
		if !x.HasEnded() {
			require.NoError(r.t, x.Close(false))
		}
	})
	return x
}

// put makes a tensor in the memory of the backend.
func (r *rig) put(from *reference.Tensor) *tensor.Tensor {
	r.t.Helper()
	shape := make([]int64, len(from.Shape))
	for i, length := range from.Shape {
		shape[i] = int64(length)
	}
	made, err := tensor.New(r.backend.Memory(), from.Type, shape, r.stream())
	require.NoError(r.t, err)
	bytes, err := from.Bytes()
	require.NoError(r.t, err)
	require.NoError(r.t, made.Write(bytes, r.stream()))
	return made
}

func (r *rig) stream() device.Stream { return r.device.Device().DefaultStream() }

// bytesOf returns the elements of a tensor.
func (r *rig) bytesOf(of *tensor.Tensor) []byte {
	r.t.Helper()
	bytes := make([]byte, of.SizeBytes())
	require.NoError(r.t, of.Read(bytes, r.stream()))
	return bytes
}

func (r *rig) closeAll(tensors map[string]*tensor.Tensor) {
	r.t.Helper()
	for _, one := range tensors {
		require.NoError(r.t, one.Close())
	}
}

// run runs a model with inputs of package irtest, and returns the bytes of all outputs.
func (r *rig) run(x *model.Executor, given map[string]*reference.Tensor) map[string][]byte {
	r.t.Helper()
	inputs, outputs := map[string]*tensor.Tensor{}, map[string]*tensor.Tensor{}
	for name, of := range given {
		inputs[name] = r.put(of)
	}
	definition, err := x.Definition()
	require.NoError(r.t, err)
	for _, name := range definition.Graph.Outputs {
		outputs[name] = nil
	}
	require.NoError(r.t, x.Run(context.Background(), inputs, outputs, model.RunOptions{}))
	got := map[string][]byte{}
	for name, of := range outputs {
		got[name] = r.bytesOf(of)
	}
	r.closeAll(inputs)
	r.closeAll(outputs)
	return got
}

// values converts the outputs of a run for irtest.Difference.
func values(t testing.TB, want map[string]*reference.Tensor, got map[string][]byte) map[string]*reference.Tensor {
	t.Helper()
	made := map[string]*reference.Tensor{}
	for name, of := range want {
		one, err := reference.FromBytes(of.Type, of.Shape, got[name])
		require.NoError(t, err)
		made[name] = one
	}
	return made
}

// naive runs the operations of a definition one after the other. Each tensor has memory of its own, and no
// parameter is packed.
func (r *rig) naive(m *ir.Model, given map[string]*reference.Tensor) map[string][]byte {
	r.t.Helper()
	var all []*tensor.Tensor
	keep := func(one *tensor.Tensor) *tensor.Tensor { all = append(all, one); return one }
	layers, parameters := map[string]*ir.Layer{}, map[string]*tensor.Tensor{}
	for i := range m.Layers {
		layers[m.Layers[i].Name] = &m.Layers[i]
	}
	for i := range m.Parameters {
		elements, err := irtest.Elements(&m.Parameters[i])
		require.NoError(r.t, err)
		parameters[m.Parameters[i].Name] = keep(r.put(elements))
	}
	results := map[string][]*tensor.Tensor{}
	for _, n := range m.Graph.Nodes {
		layer := layers[n.LayerName]
		if layer.Type == ir.InputType {
			results[n.ID] = []*tensor.Tensor{keep(r.put(given[n.ID]))}
			continue
		}
		inputs := make([]*tensor.Tensor, len(layer.Inputs))
		for i, in := range layer.Inputs {
			inputs[i] = parameters[in.Name]
		}
		for _, e := range m.Graph.Edges {
			if e.Target == n.ID {
				inputs[at(e.TargetInput)] = results[e.Source][at(e.SourceOutput)]
			}
		}
		text := []byte{}
		if layer.Config != nil {
			var err error
			text, err = json.Marshal(layer.Config)
			require.NoError(r.t, err)
		}
		op, err := r.backend.Prepare(layer.Type, text, 0)
		require.NoError(r.t, err)
		outputs := make([]*tensor.Tensor, len(layer.Outputs))
		require.NoError(r.t, op.Run(inputs, outputs, nil))
		require.NoError(r.t, op.Close())
		for _, one := range outputs {
			keep(one)
		}
		results[n.ID] = outputs
	}
	got := map[string][]byte{}
	for _, id := range m.Graph.Outputs {
		got[id] = r.bytesOf(results[id][0])
	}
	for _, one := range all {
		require.NoError(r.t, one.Close())
	}
	return got
}

func at(number *uint32) int {
	if number == nil {
		return 0
	}
	return int(*number)
}

// ids returns a tensor of indices.
func (r *rig) ids(rows, columns int64, elements ...int64) *tensor.Tensor {
	made := reference.New(dtype.I64, []uint64{uint64(rows), uint64(columns)})
	copy(made.Ints, elements)
	return r.put(made)
}
