package cuda

import (
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/vmm"
)

// slowQuery is the time that each query of a stream takes in this test. The capture begins
// during that time.
const slowQuery = 10 * time.Millisecond

// moment has a stream of the program, and objects of the library that use it.
type moment struct {
	*pooledDevice
	t *testing.T
	p *program
	// exposed is a stream of the library whose handle the program knows.
	exposed device.Stream
	// ends release what the moment has made.
	ends []func() error
}

// block allocates a block for a stream.
func (m *moment) block(s device.Stream) device.Addr { return m.part(m.t, s) }

// inCapture runs do while the stream of the program captures.
func (m *moment) inCapture(do func()) {
	m.p.beginCapture(captureGlobal)
	do()
	m.p.sim.must("cuGraphExecDestroy", m.p.endCapture())
}

// act is a call of the library in another thread. It may return CodeInvalidState because of
// the capture.
type act func() error

// moments lists what the library does with streams that the call does not name, and frees
// that name the stream. A finaliser, for example, frees on any thread.
var moments = map[string]func(m *moment) act{
	"free on the stream": func(m *moment) act {
		b := m.block(m.p.stream)
		return func() error { return m.pool.Free(b, m.p.stream) }
	},
	"free of many on the stream": func(m *moment) act {
		b := []device.Addr{m.block(m.p.stream), m.block(nil)}
		return func() error { return m.pool.FreeBatch(b, m.p.stream) }
	},
	"free on another stream": func(m *moment) act {
		b := m.block(m.p.stream)
		return func() error { return m.pool.Free(b, nil) }
	},
	"free of a recorded block": func(m *moment) act {
		b := m.block(nil)
		require.NoError(m.t, m.pool.RecordStream(b, m.p.stream))
		require.NoError(m.t, m.pool.RecordStream(b, m.exposed))
		return func() error { return m.pool.Free(b, nil) }
	},
	"reset": func(m *moment) act {
		m.block(m.p.stream)
		return func() error { return m.pool.Reset(m.p.stream) }
	},
	"a look at a block that was freed in an earlier capture": func(m *moment) act {
		b := m.block(m.p.stream)
		m.inCapture(func() { require.NoError(m.t, m.pool.Free(b, nil)) })
		return func() error { m.pool.CompleteFrees(); return nil }
	},
	"a trim after an earlier capture": func(m *moment) act {
		b := m.block(m.p.stream)
		m.inCapture(func() { require.NoError(m.t, m.pool.Free(b, nil)) })
		return func() error { _, err := m.pool.Trim(0); return err }
	},
	"release of a graph on another stream": func(m *moment) act {
		b := m.block(m.p.stream)
		var graph uint64
		m.inCapture(func() {
			var err error
			graph, err = m.pool.CaptureBegin(m.p.stream, 0)
			require.NoError(m.t, err)
			require.NoError(m.t, m.pool.Free(b, m.p.stream))
		})
		require.NoError(m.t, m.pool.CaptureEnd(graph))
		return func() error { return m.pool.CaptureRelease(graph, m.exposed) }
	},
	"free of pages": func(m *moment) act {
		v := m.pages()
		require.NoError(m.t, v.RecordStream(0, everyBytes, m.p.stream))
		return func() error { return v.Free(0, everyBytes, nil) }
	},
	"a record of many streams": func(m *moment) act {
		v := m.pages()
		require.NoError(m.t, v.RecordStream(0, everyBytes, m.p.stream))
		var others []device.Stream
		for range 20 {
			s, err := m.NewStream()
			require.NoError(m.t, err)
			others = append(others, s)
			m.ends = append(m.ends, s.Close)
		}
		return func() (err error) {
			for _, s := range others {
				err = cmp.Or(err, v.RecordStream(0, everyBytes, s))
			}
			return err
		}
	},
	"free of a block of a manager": func(m *moment) act {
		f, of, h := m.managed()
		return func() error {
			if err := f.Free(h); err != nil {
				return err
			}
			return of.Close(false)
		}
	},
	"defragmentation": func(m *moment) act {
		_, of, _ := m.managed()
		return func() error { _, err := of.Defragment(); return err }
	},
	"close of a manager": func(m *moment) act {
		_, of, _ := m.managed()
		return func() error { return of.Close(true) }
	},
	"a wait for the device": func(m *moment) act {
		return func() error { return m.Synchronize(device.Forever) }
	},
	"a wait for the device with a limit": func(m *moment) act {
		return func() error { return m.Synchronize(time.Hour) }
	},
	"a wait for the stream": func(m *moment) act {
		return func() error { return m.p.stream.Synchronize(device.Forever) }
	},
}

// pages returns a pool of pages with one live page.
func (m *moment) pages() *vmm.Pool {
	v, err := vmm.NewPool(m.engine, vmm.Config{CapacityBytes: 4 * everyBytes, PageBytes: everyBytes, ReadyPages: noneReady})
	require.NoError(m.t, err)
	_, err = v.Alloc(0, everyBytes)
	require.NoError(m.t, err)
	m.ends = append(m.ends, func() error { return v.Close(true) })
	return v
}

// managed returns a manager with a block that the stream of the program has used.
func (m *moment) managed() (*manager.Factory, *manager.Manager, manager.MemoryHandle) {
	f := manager.NewFactory()
	c := manager.DefaultConfig()
	small := pool.DefaultConfig()
	small.InitialSizeBytes, small.GrowthIncrementBytes = everyBytes, everyBytes
	c.PoolConfigs[manager.General] = small
	of, err := f.CreateMemoryManager(m.engine, c)
	require.NoError(m.t, err)
	h, err := of.AllocTyped(manager.Request{SizeBytes: partBytes, Relocatable: true})
	require.NoError(m.t, err)
	s, err := f.CreateStreamManager(m.engine).AdoptStream(device.ForeignStream{Native: uint64(m.p.handle)})
	require.NoError(m.t, err)
	require.NoError(m.t, f.FillAsync(manager.Fill{Memory: h, SizeBytes: partBytes, Pattern: device.Pattern{WidthBytes: 1}}, s))
	require.NoError(m.t, f.SynchronizeStream(s, device.Forever))
	m.ends = append(m.ends, func() error { _, err := f.CloseDevice(m.engine, true); return err })
	return f, of, h
}

// A program may begin a capture on its stream at any moment. A call of the library in
// another thread, which does not ask for the work of that stream, does not invalidate the
// capture. The test makes each query of a stream slow. It begins the capture during the
// first query of a call, then during the second one, until the call has ended before.
func TestACaptureMayBeginDuringAnyCall(t *testing.T) {
	if !alone(t) {
		return
	}
	sim := newSimulator(t)
	for _, query := range slowQueries {
		sim.delay(query, slowQuery)
	}
	for name, prepare := range moments {
		t.Run(name, func(t *testing.T) {
			for n := 1; beginDuring(t, prepare, n); n++ {
				require.Less(t, n, 50, "queries of one call")
			}
		})
	}
}

var slowQueries = []string{"cuStreamQuery", "cuStreamSynchronize", "cuCtxSynchronize"}

// beginDuring begins a capture during the n-th query of a call, or after the call. It
// returns false if the call had ended.
func beginDuring(t *testing.T, prepare func(*moment) act, n int) (reached bool) {
	m := &moment{pooledDevice: openPooled(t), t: t}
	m.p = newProgram(t, m.openDevice)
	sim := m.p.sim
	sim.call("simcuda_clear_violations")
	var err error
	m.exposed, err = m.NewStream()
	require.NoError(t, err)
	_, err = m.exposed.(device.Native).NativeHandle()
	require.NoError(t, err)
	call := prepare(m)
	queries := func() (made int) {
		for _, query := range slowQueries {
			made += sim.calls(query)
		}
		return made
	}
	before := queries()
	ended := make(chan error, 1)
	go func() { ended <- call() }()
	for queries() < before+n && len(ended) == 0 {
		time.Sleep(slowQuery / 500)
	}
	reached = queries() >= before+n
	m.p.beginCapture(captureGlobal)
	if err := <-ended; err != nil {
		requireCode(t, device.CodeInvalidState, err)
	}
	require.EqualValues(t, captureStands, m.p.captureStatus(), "during query %d", n)
	require.Empty(t, sim.text("simcuda_violations"), "during query %d", n)
	sim.must("cuGraphExecDestroy", m.p.endCapture())
	for _, end := range m.ends {
		require.NoError(t, end())
	}
	require.NoError(t, m.exposed.Close())
	m.settle(t, m.p.stream)
	require.NoError(t, m.pool.Reset(m.p.stream))
	m.settle(t, m.p.stream)
	m.p.close()
	m.close(t)
	return reached
}
