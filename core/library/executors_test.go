package library_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir/irtest"
	"ferrum_mem/core/library"
	"ferrum_mem/core/model"
	"ferrum_mem/core/vmm"
	"ferrum_mem/drivers/host"
	"ferrum_mem/engines"
)

// expectedOfModels has the errors that a correct program may get besides those of expected when other
// threads use and end its models.
var expectedOfModels = append(slices.Clone(expected),
	device.CodeInvalidState, device.CodeAlreadyExists, device.CodeModelAlreadyExists, device.CodeModelNotFound,
	device.CodeOutOfPhysicalMemory, device.CodeOutOfVirtualMemory)

// models has everything that the workers of the test below share.
type models struct {
	*library.Library
	definition                                []byte
	devices, computes, pools, executors, x, y shelf
	// built and ran count builds and runs that succeeded.
	built, ran atomic.Uint64
}

// step makes one random call.
func (m *models) step(r *rand.Rand) error {
	isForced := r.IntN(4) == 0
	timeout := time.Duration(r.IntN(2)) * time.Millisecond
	name := []string{"chat", "code"}[r.IntN(2)]
	executor := func(call func(e *library.Executor) error) error {
		return do(m.Executors.Executor, m.executors.any(r), call)
	}
	build := func() error {
		q := library.BuildRequest{
			Model: name, Definition: m.definition, Compute: m.computes.any(r), ElasticPool: m.pools.any(r),
			Limits: vmm.ModelLimits{MaxBytes: []uint64{0, 128 << 10}[r.IntN(2)]},
		}
		if stopAt := r.IntN(20); stopAt < 10 {
			calls := 0
			q.Token, q.Progress = 1, func(model.Progress) bool { calls++; return calls != stopAt }
		}
		id, err := m.Executors.Build(q)
		if err == nil {
			m.built.Add(1)
		}
		return m.executors.put(r, id, err)
	}
	run := func() error {
		rows := r.IntN(2)
		return executor(func(e *library.Executor) error {
			outputs := []library.NamedTensor{{Name: "y"}}
			if rows == 0 && r.IntN(2) == 0 {
				outputs[0].ID = m.y.any(r)
			}
			given := outputs[0].ID
			err := e.Run([]library.NamedTensor{{Name: "x", ID: m.x.any(r)}}, outputs, 0, timeout)
			if err == nil {
				m.ran.Add(1)
			}
			if err == nil && outputs[0].ID != given {
				err = end(m.Tensors.Tensor, outputs[0].ID, func(t *library.Tensor) error { return t.Destroy() })
			}
			return err
		})
	}
	// seldom makes a call in one of n cases: what ends everything else must not be frequent.
	seldom := func(n int, call func() error) func() error {
		return func() error {
			if r.IntN(n) > 0 {
				return nil
			}
			return call()
		}
	}
	calls := []func() error{
		build, build, run, run, run, run,
		func() error { d, err := m.DeviceOpen("cpu:0"); return m.devices.put(r, d, err) },
		seldom(20, func() error {
			return end(m.Device, m.devices.any(r), func(d *library.Device) error { return d.Close(isForced) })
		}),
		func() error {
			c, err := m.Computes.Open(library.ComputeConfig{Config: backend.DefaultConfig(), DeviceHandle: m.devices.any(r)})
			return m.computes.put(r, c, err)
		},
		seldom(4, func() error {
			return end(m.Computes.Compute, m.computes.any(r), func(c *library.Compute) error { return c.Close(isForced) })
		}),
		func() error {
			p, err := m.ElasticPoolCreate(m.devices.any(r), vmm.ElasticConfig{PageBytes: 64 << 10, LimitBytes: 4 << 20, ReadyPages: -1})
			return m.pools.put(r, p, err)
		},
		seldom(4, func() error {
			return end(m.ElasticPool, m.pools.any(r), func(p *library.ElasticPool) error { return p.Destroy(isForced) })
		}),
		func() error {
			t, err := m.Tensors.Create(library.TensorMemory{ElasticPool: m.pools.any(r), Model: "tensors"}, int32(dtype.F32), []int64{2, 4}, 0)
			return m.x.put(r, t, err)
		},
		func() error {
			return end(m.ElasticPool, m.pools.any(r), func(p *library.ElasticPool) error {
				return p.RegisterModel("tensors", vmm.ModelConfig{VirtualBytes: 1 << 20})
			})
		},
		func() error {
			t, err := m.Tensors.Create(library.TensorMemory{ElasticPool: m.pools.any(r), Model: "tensors"}, int32(dtype.F32), []int64{2, 3}, 0)
			return m.y.put(r, t, err)
		},
		func() error {
			return end(m.Tensors.Tensor, m.x.any(r), func(t *library.Tensor) error { return t.Destroy() })
		},
		func() error {
			return executor(func(e *library.Executor) error {
				return second(e.Sleep(library.SleepRequest{SleepRequest: vmm.SleepRequest{Backing: vmm.SleepToHost}, Timeout: timeout}))
			})
		},
		func() error {
			return executor(func(e *library.Executor) error { return second(e.Wake(library.WakeRequest{Timeout: timeout})) })
		},
		func() error {
			return executor(func(e *library.Executor) error { return second(e.PlanJSON([]byte(`{"batch": 3}`))) })
		},
		func() error {
			return executor(func(e *library.Executor) error { return second(e.InfoJSON()) })
		},
		func() error {
			return executor(func(e *library.Executor) error { return second(e.ReportJSON()) })
		},
		func() error { return second(m.Executors.ListJSON()) },
		func() error { return executor(func(e *library.Executor) error { return e.AddName(name) }) },
		func() error { id, err := m.Executors.Find(name); return m.executors.put(r, id, err) },
		func() error { id, err := m.Executors.RemoveName(name); return m.executors.put(r, id, err) },
		func() error {
			return end(m.Executors.Executor, m.executors.any(r), func(e *library.Executor) error { return e.Destroy(isForced) })
		},
		func() error { m.LeakReportJSON(); return nil },
		func() error { return m.Init(nil) },
		seldom(20, func() error { return m.Shutdown(isForced) }),
	}
	return calls[r.IntN(len(calls))]()
}

// linear is a definition of y = x · W.
func linear(t *testing.T) []byte {
	b := irtest.New(t)
	x := b.Input("x", dtype.F32, "batch", 4)
	b.Output(b.Node("y", "MatMul", "", x, b.Parameter("weight", 4, 3)))
	m := b.Model()
	for i := range m.Parameters {
		m.Parameters[i].Source = ""
	}
	text, err := m.JSON()
	require.NoError(t, err)
	return text
}

// Threads build, run, put to sleep and end models, and end what these use, in any order. Nothing crashes,
// hangs, or is left.
func TestAnyThreadUsesAndEndsModels(t *testing.T) {
	steps := 3000
	if testing.Short() {
		steps = 1000
	}
	m := &models{definition: linear(t), Library: library.New(library.Options{
		Drivers: func(library.Settings) ([]device.Driver, error) {
			cpu, err := host.New(host.Config{Devices: 1, MemoryBytes: 256 << 20})
			return []device.Driver{cpu}, err
		},
		Engines: engines.List(),
	})}
	require.NoError(t, m.Init(nil))
	wrong := make(chan error, 4)
	var workers []<-chan struct{}
	for seed := range uint64(4) {
		workers = append(workers, device.Go("models", func() {
			r := rand.New(rand.NewPCG(seed, 1))
			for range steps {
				if err := m.step(r); !slices.Contains(expectedOfModels, device.CodeOf(err)) {
					wrong <- err
					return
				}
			}
		}))
	}
	for _, worker := range workers {
		<-worker
	}
	select {
	case err := <-wrong:
		require.NoError(t, err)
	default:
	}
	t.Logf("%d builds and %d runs", m.built.Load(), m.ran.Load())
	require.NotZero(t, m.built.Load())
	require.NotZero(t, m.ran.Load())
	for m.Shutdown(true) == nil {
	}
	require.NoError(t, m.Init(nil))
	require.Equal(t, `{"leaks":[],"omitted":0,"total_bytes":0}`, strings.TrimSpace(string(m.LeakReportJSON())))
	dev, err := m.DeviceOpen("cpu:0")
	require.NoError(t, err)
	require.Zero(t, at(m.Device, dev).Statistics().Reserved.Current)
	require.NoError(t, at(m.Device, dev).Close(false))
	require.NoError(t, m.Shutdown(false))
}
