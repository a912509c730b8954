package backend_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
)

// ownPlan adds 1 to each element, with the reference of Add.
type ownPlan struct {
	of    *ownBackend
	inner compute.Plan
}

func (p *ownPlan) WorkspaceBytes() uint64 { return 100 }
func (p *ownPlan) InPlace(int, int) bool {
	return p.of.failure("in_place") == nil
}
func (p *ownPlan) Run(inputs, outputs []device.Addr, workspace device.Addr) error {
	if err := p.of.failure("run"); err != nil {
		return err
	}
	return p.inner.Run(inputs, outputs, workspace)
}

// makeOwn returns a backend of the program that computes with the test engine.
func (r *rig) makeOwn() *ownBackend {
	has, _ := properties()
	own := &ownBackend{has: has, version: "7"}
	own.makePlan = func(request compute.Request) (compute.Plan, error) {
		inner, err := r.made.Plan(request)
		return &ownPlan{of: own, inner: inner}, err
	}
	return own
}

func mine(c *backend.Config) { c.Type, c.Name = backend.Custom, "mine" }

func TestRunsOnABackendOfTheProgram(t *testing.T) {
	r := newRig(t)
	own := r.makeOwn()
	require.NoError(t, r.registry.Register("mine", own))
	b := r.start(mine)
	require.Equal(t, "mine", b.Name())
	require.Equal(t, "7", b.Version())
	require.Equal(t, own.has, b.Capabilities())
	add := prepare(t, b, "Add", "")
	x := r.put(b, []float32{1, 2}, 2)
	outputs := tensors{nil}
	require.NoError(t, add.Run(tensors{x, x}, outputs, r.stream))
	require.Equal(t, []float32{2, 4}, get(outputs[0]))
	sequence, err := b.NewSequence()
	require.NoError(t, err)
	require.NoError(t, sequence.Add(add, tensors{x, x}, outputs))
	require.NoError(t, sequence.Run(nil))
	_, err = add.Pack(1, x, backend.Packing{})
	requireError(t, device.CodeUnsupported, err, "mine")
	require.NoError(t, b.Synchronize(r.device.ID(), device.Forever))
	requireError(t, device.CodeBusy, r.registry.Unregister("mine"), "mine")

	// What fails or panics is a typed error, and the last error.
	calls := map[string]func() error{
		"run": func() error { return add.Run(tensors{x, x}, tensors{nil}, r.stream) },
		"plan": func() error {
			y := r.put(b, make([]float32, 3), 3)
			defer closeTensors(t, y)
			return add.Run(tensors{y, y}, tensors{nil}, r.stream)
		},
		"in_place":        func() error { return add.Run(tensors{x, x}, tensors{x}, r.stream) },
		"synchronize":     func() error { return b.Synchronize(r.device.ID(), device.Forever) },
		"supports_device": func() error { _, err := b.SupportsDevice(device.ID{Backend: "cuda"}); return err },
	}
	live := b.Pool().Statistics().LiveBlocks.Current
	for name, call := range calls {
		own.fail = func(at string) error {
			if at == name {
				return device.Errorf(device.CodeDevice, "test", "%s fails", at)
			}
			return nil
		}
		if name == "in_place" {
			requireError(t, device.CodeInvalidArgument, call(), "in place")
		} else {
			requireError(t, device.CodeDevice, call(), "mine", name+" fails")
			require.Contains(t, *b.Status().LastError, name+" fails")
		}
		own.fail = func(at string) error {
			if at == name {
				panic("no " + at)
			}
			return nil
		}
		if name == "in_place" {
			requireError(t, device.CodeInvalidArgument, call(), "in place")
		} else {
			requireError(t, device.CodeInternal, call(), "mine", "no "+name)
			require.Contains(t, *b.Status().LastError, "no "+name)
		}
		require.Equal(t, live, b.Pool().Statistics().LiveBlocks.Current, name)
	}
	own.fail = func(at string) error {
		if at == "run" {
			panic("broken")
		}
		return nil
	}
	open := r.hold(r.stream)
	require.NoError(t, sequence.Run(r.stream))
	open()
	requireError(t, device.CodeInternal, r.stream.Synchronize(device.Forever), "broken")
	own.fail = nil
	own.makePlan = func(compute.Request) (compute.Plan, error) { return nil, nil }
	requireError(t, device.CodeInternal, calls["plan"](), "no plan")

	require.NoError(t, sequence.Close())
	require.NoError(t, add.Close())
	closeTensors(t, x, outputs[0])
	require.NoError(t, b.Close(false))
	require.NoError(t, r.registry.Unregister("mine"))
	require.Equal(t, 1, own.closed)
}

func TestABackendOfTheProgramMayNotSupportADevice(t *testing.T) {
	r := newRig(t)
	own := r.makeOwn()
	require.NoError(t, r.registry.Register("mine", own))
	own.refused = true
	c := backend.DefaultConfig()
	mine(&c)
	_, err := r.registry.Open(r.factory, r.device, c)
	requireError(t, device.CodeUnsupportedDevice, err, "mine")
	own.fail = func(string) error { panic("broken") }
	_, err = r.registry.Open(r.factory, r.device, c)
	requireError(t, device.CodeInternal, err, "mine", "broken")
	own.fail = nil
	require.NoError(t, r.registry.Unregister("mine"))
}

// On a device whose memory the host cannot address, a run waits for its stream, and shapes come from a host
// device.
func TestABackendOfTheProgramOnAnotherDevice(t *testing.T) {
	r, near := newHiddenRig(t), newRig(t)
	require.NoError(t, r.registry.Register("mine", r.makeOwn()))
	b, host := r.start(mine), near.start(nil)
	add, expand := prepare(t, b, "Add", ""), prepare(t, b, "Expand", "")
	x, there, here := r.put(b, []float32{1, 2}, 2), r.list(b, 2, 2), near.list(host, 2, 2)
	waited := false
	require.NoError(t, r.stream.HostFunction(func() { time.Sleep(10 * time.Millisecond); waited = true }))
	outputs := tensors{nil}
	require.NoError(t, add.Run(tensors{x, x}, outputs, r.stream))
	require.True(t, waited)
	require.Zero(t, r.dev.queued)
	require.Equal(t, []float32{2, 4}, get(outputs[0]))
	requireError(t, device.CodeUnsupportedDevice, expand.Run(tensors{x, there}, tensors{nil}, r.stream), `input "shape"`, "the host cannot read")
	second := tensors{nil}
	require.NoError(t, expand.Run(tensors{x, here}, second, r.stream))
	require.Equal(t, []float32{1, 2, 1, 2}, get(second[0]))
	closeTensors(t, x, there, here, outputs[0], second[0])
	require.NoError(t, add.Close())
	require.NoError(t, expand.Close())
	require.NoError(t, b.Close(false))
	require.NoError(t, host.Close(false))
	require.NoError(t, r.registry.Unregister("mine"))
}
