package cuda

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
	"ferrum_mem/internal/dl"
)

// pooledDevice is a device with a pool.
type pooledDevice struct {
	*openDevice
	engine *engine.Engine
	pool   *pool.Pool
}

func openPooled(t testing.TB) *pooledDevice {
	o := open(t, 0)
	e := engine.New(o, engine.Options{})
	c := pool.DefaultConfig()
	c.InitialSizeBytes, c.GrowthIncrementBytes = 2<<20, 2<<20
	p, err := pool.New(e, c)
	require.NoError(t, err)
	return &pooledDevice{openDevice: o, engine: e, pool: p}
}

func (d *pooledDevice) close(t testing.TB) {
	require.NoError(t, d.pool.Close(false))
	require.NoError(t, d.engine.Close())
	newSimulator(t).clean()
}

// settle waits for the work of a stream, and makes the pool release what waited for it.
func (d *pooledDevice) settle(t testing.TB, s device.Stream) {
	require.NoError(t, s.Synchronize(device.Forever))
	d.pool.CompleteFrees()
}

const partBytes = 96 << 10

func (d *pooledDevice) part(t require.TestingT, s device.Stream) device.Addr {
	block, err := d.pool.Alloc(pool.Request{SizeBytes: partBytes, Stream: s})
	require.NoError(t, err)
	return block.Addr
}

func fill(t require.TestingT, s device.Stream, addr device.Addr, value byte) {
	require.NoError(t, s.Fill(addr, device.Pattern{Value: uint64(value), WidthBytes: 1}, partBytes))
}

// work captures a graph that uses one block for two purposes, one after the other. The
// graph writes the result to out, which was allocated before the capture, and to a block
// that stays live.
func (d *pooledDevice) work(t require.TestingT, s device.Stream, out device.Addr, value byte) (left device.Addr) {
	first := d.part(t, s)
	fill(t, s, first, value)
	left = d.part(t, s)
	require.NoError(t, s.Copy(left, first, partBytes))
	require.NoError(t, d.pool.Free(first, s))
	second := d.part(t, s)
	fill(t, s, second, value+1)
	require.NoError(t, s.Copy(out, second, partBytes))
	require.NoError(t, d.pool.Free(second, s))
	return left
}

// churn allocates and fills blocks until stop is set. It trims the pool from time to time.
func (d *pooledDevice) churn(t *testing.T, stop *atomic.Bool) {
	s, err := d.NewStream()
	assert.NoError(t, err)
	for round := 0; !stop.Load() && !t.Failed(); round++ {
		var held []device.Addr
		for range 6 {
			block, err := d.pool.Alloc(pool.Request{SizeBytes: partBytes, Stream: s})
			if assert.NoError(t, err) {
				assert.NoError(t, s.Fill(block.Addr, device.Pattern{Value: 0xee, WidthBytes: 1}, partBytes))
				held = append(held, block.Addr)
			}
		}
		for _, addr := range held {
			assert.NoError(t, d.pool.Free(addr, s))
		}
		if round%4 == 0 {
			assert.NoError(t, s.Synchronize(device.Forever))
			_, err = d.pool.Trim(0)
			assert.NoError(t, err)
		}
	}
	assert.NoError(t, s.Close())
}

// Several threads capture graphs in all modes while other threads allocate, free and trim.
// Each run of a graph writes the correct bytes, because no other owner gets the memory of
// the graph.
func TestGraphsKeepTheirMemory(t *testing.T) {
	d := openPooled(t)
	var stop atomic.Bool
	var others, captures sync.WaitGroup
	for range 2 {
		others.Add(1)
		go func() { defer others.Done(); d.churn(t, &stop) }()
	}
	for mode := range 3 {
		captures.Add(1)
		go func() {
			defer captures.Done()
			p := newProgram(t, d.openDevice)
			for round := range 4 {
				value := byte(16*mode + 2*round + 1)
				out := d.part(t, p.stream)
				p.beginCapture(mode)
				graph, err := d.pool.CaptureBegin(p.stream, 0)
				require.NoError(t, err)
				left := d.work(t, p.stream, out, value)
				exec := p.endCapture()
				require.NoError(t, d.pool.CaptureEnd(graph))
				for range 3 {
					fill(t, p.stream, out, 0)
					p.launch(exec)
					require.Equal(t, bytes.Repeat([]byte{value + 1}, partBytes), get(t, p.stream, out, partBytes))
					require.Equal(t, bytes.Repeat([]byte{value}, partBytes), get(t, p.stream, left, partBytes))
				}
				info, err := d.pool.CaptureInfo(graph)
				require.NoError(t, err)
				require.EqualValues(t, 1, info.LiveBlocks)
				require.NoError(t, d.pool.Free(left, p.stream))
				// The pool releases the graph while its last run is still queued.
				p.launch(exec)
				require.NoError(t, d.pool.CaptureRelease(graph, p.stream))
				require.Equal(t, bytes.Repeat([]byte{value + 1}, partBytes), get(t, p.stream, out, partBytes))
				p.sim.must("cuGraphExecDestroy", exec)
				require.NoError(t, d.pool.Free(out, p.stream))
			}
			p.close()
		}()
	}
	captures.Wait()
	stop.Store(true)
	others.Wait()
	d.pool.CompleteFrees()
	require.Empty(t, d.pool.PrivatePools())
	d.close(t)
}

// Two graphs that share a private pool run one after the other. Together they hold little
// more memory than one.
func TestGraphsThatShareAPoolShareMemory(t *testing.T) {
	d := openPooled(t)
	p := newProgram(t, d.openDevice)
	var graphs, execs [3]uint64
	var held uint64
	out := d.part(t, p.stream)
	for i := range graphs {
		p.beginCapture(captureThreadLocal)
		var err error
		graphs[i], err = d.pool.CaptureBegin(p.stream, graphs[max(i-1, 0)])
		require.NoError(t, err)
		left := d.work(t, p.stream, out, byte(40*i))
		require.NoError(t, d.pool.Free(left, p.stream))
		execs[i] = uint64(p.endCapture())
		require.NoError(t, d.pool.CaptureEnd(graphs[i]))
		info, err := d.pool.CaptureInfo(graphs[0])
		require.NoError(t, err)
		require.EqualValues(t, i+1, info.Sharing)
		if i == 0 {
			held = info.HeldBytes
		}
		require.Equal(t, held, info.HeldBytes)
	}
	for range 3 {
		for i, exec := range execs {
			p.launch(uintptr(exec))
			require.Equal(t, bytes.Repeat([]byte{byte(40*i + 1)}, partBytes), get(t, p.stream, out, partBytes))
		}
	}
	for i, graph := range graphs {
		require.Len(t, d.pool.PrivatePools(), 1)
		p.sim.must("cuGraphExecDestroy", uintptr(execs[i]))
		require.NoError(t, d.pool.CaptureRelease(graph, p.stream))
	}
	d.settle(t, p.stream)
	require.Empty(t, d.pool.PrivatePools())
	require.NoError(t, d.pool.Free(out, p.stream))
	p.close()
	d.close(t)
}

// This test shows that the damage which the tests above exclude can happen. Without a
// private pool another owner gets the memory of a graph. Without the checks of this package
// a free invalidates the capture.
func TestDamageWithoutPrivatePoolsIsDetected(t *testing.T) {
	if !alone(t) {
		return
	}
	d := openPooled(t)
	p := newProgram(t, d.openDevice)
	out := d.part(t, p.stream)
	p.beginCapture(captureGlobal)
	first := d.part(t, p.stream)
	fill(t, p.stream, first, 7)
	require.NoError(t, p.stream.Copy(out, first, partBytes))
	exec := p.endCapture()
	require.NoError(t, d.pool.Free(first, p.stream))
	other := d.part(t, p.stream)
	require.Equal(t, first, other, "no graph is known to use the block")
	fill(t, p.stream, other, 9)
	p.launch(exec)
	require.Equal(t, bytes.Repeat([]byte{7}, partBytes), get(t, p.stream, other, partBytes), "the graph wrote into it")
	p.sim.must("cuGraphExecDestroy", exec)

	p.beginCapture(captureGlobal)
	requireCode(t, device.CodeInvalidState, d.pool.Free(other, p.stream))
	require.Empty(t, p.sim.text("simcuda_violations"))
	p.stream.(*stream).mayCapture.Store(false)
	requireCode(t, device.CodeInvalidState, d.pool.Free(other, p.stream))
	require.Contains(t, p.sim.text("simcuda_violations"), "cuStreamQuery")
	var graph uintptr
	require.EqualValues(t, 901, p.sim.call("cuStreamEndCapture", p.handle, dl.Pointer(&graph)), "the capture is invalidated")
}

// A capture that fails half-way leaks nothing.
func TestAFailedCaptureLeaksNothing(t *testing.T) {
	if !alone(t) {
		return
	}
	d := openPooled(t)
	p := newProgram(t, d.openDevice)
	out := d.part(t, p.stream)
	p.beginCapture(captureGlobal)
	graph, err := d.pool.CaptureBegin(p.stream, 0)
	require.NoError(t, err)
	first := d.part(t, p.stream)
	// The program makes a call that the capture forbids.
	require.EqualValues(t, 900, p.sim.call("cuStreamQuery", p.handle))
	_, err = d.pool.Alloc(pool.Request{SizeBytes: 1, Stream: p.stream})
	requireCode(t, device.CodeInvalidState, err)
	require.NoError(t, d.pool.Free(first, p.stream))
	require.NoError(t, d.pool.Free(out, p.stream))
	requireCode(t, device.CodeInvalidState, d.pool.CaptureRelease(graph, nil))
	var made uintptr
	require.EqualValues(t, 901, p.sim.call("cuStreamEndCapture", p.handle, dl.Pointer(&made)))
	require.NoError(t, d.pool.CaptureRelease(graph, p.stream))
	d.settle(t, p.stream)
	require.Empty(t, d.pool.PrivatePools())
	p.close()
	require.NoError(t, d.pool.Close(false))
	require.NoError(t, d.engine.Close())
	require.Empty(t, p.sim.text("simcuda_leaks"))
}

// A device is lost while a stream captures. Every call then reports the loss, and the
// program can release everything.
func TestDeviceIsLostDuringACapture(t *testing.T) {
	if !alone(t) {
		return
	}
	d := openPooled(t)
	p := newProgram(t, d.openDevice)
	out := d.part(t, p.stream)
	p.beginCapture(captureGlobal)
	_, err := d.pool.CaptureBegin(p.stream, 0)
	require.NoError(t, err)
	left := d.work(t, p.stream, out, 3)
	p.sim.fault("async", 1, resultIllegalAddress)
	fill(t, d.DefaultStream(), d.part(t, nil), 1)
	requireCode(t, device.CodeDeviceLost, d.DefaultStream().Synchronize(device.Forever))
	requireCode(t, device.CodeDeviceLost, d.pool.Free(left, p.stream))
	_, err = d.pool.CaptureBegin(p.stream, 0)
	requireCode(t, device.CodeDeviceLost, err)
	requireCode(t, device.CodeBusy, d.pool.Close(false))
	require.NoError(t, d.pool.Close(true))
	require.NoError(t, p.stream.Close())
	require.NoError(t, d.engine.Close())
}

// Each call of the vendor driver fails once, at every place in the life of a graph. A
// failed call can be repeated, the capture stays valid, and nothing leaks.
func TestFailedCallsOfAGraphCanBeRepeated(t *testing.T) {
	sim := newSimulator(t)
	for _, name := range []string{
		"cuStreamGetCaptureInfo_v2", "cuMemAlloc_v2", "cuMemFree_v2", "cuEventCreate", "cuEventRecord",
		"cuStreamQuery", "cuEventQuery",
	} {
		failed := 0
		for n := 1; n <= 12; n++ {
			d := openPooled(t)
			p := newProgram(t, d.openDevice)
			run := blocked(t, p.stream)
			before := sim.calls(name)
			sim.fault(name, n, resultOutOfMemory)
			again := func(call func() error) {
				if call() != nil {
					failed++
					require.NoError(t, call(), "%s %d, again", name, n)
				}
			}
			var out, inside, other pool.Block
			var graph uint64
			alloc := func(to *pool.Block, s device.Stream) {
				again(func() (err error) {
					*to, err = d.pool.Alloc(pool.Request{SizeBytes: partBytes, Stream: s})
					return err
				})
			}
			alloc(&out, p.stream)
			alloc(&other, nil)
			p.beginCapture(captureGlobal)
			again(func() (err error) { graph, err = d.pool.CaptureBegin(p.stream, 0); return err })
			alloc(&inside, p.stream)
			again(func() error { return d.pool.RecordStream(other.Addr, p.stream) })
			again(func() error { return d.pool.Free(out.Addr, p.stream) })
			again(func() error { return d.pool.Free(other.Addr, nil) })
			again(func() error { return d.pool.Free(inside.Addr, p.stream) })
			exec := p.endCapture()
			again(func() error { return d.pool.CaptureEnd(graph) })
			p.launch(exec)
			again(func() error { return d.pool.CaptureRelease(graph, p.stream) })
			d.pool.CompleteFrees()
			require.Len(t, d.pool.PrivatePools(), 1)
			run()
			made := sim.calls(name) - before
			sim.call("simcuda_clear_faults")
			require.NoError(t, d.Synchronize(device.Forever))
			d.pool.CompleteFrees()
			require.Empty(t, d.pool.PrivatePools(), "%s %d", name, n)
			p.sim.must("cuGraphExecDestroy", exec)
			p.close()
			d.close(t)
			if made < n {
				break
			}
		}
		if slices.Contains([]string{"cuStreamGetCaptureInfo_v2", "cuEventRecord", "cuStreamQuery"}, name) {
			require.Positive(t, failed, "%s was never made to fail", name)
		}
	}
}
