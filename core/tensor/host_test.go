package tensor_test

import (
	"encoding/binary"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/tensor"
	"ferrum_mem/core/weights"
	"ferrum_mem/drivers/host"
)

func floats(values ...float32) (bytes []byte) {
	for _, v := range values {
		bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(v))
	}
	return bytes
}

// close closes tensors and waits until the pool has their memory.
func (r *rig) closeAll(tensors ...*tensor.Tensor) {
	for _, one := range tensors {
		require.NoError(r.t, one.Close())
	}
	require.NoError(r.t, r.stream.Synchronize(device.Forever))
	require.Eventually(r.t, func() bool { return r.pool.Statistics().LiveBlocks.Current == 0 }, 10*time.Second, time.Millisecond)
}

func TestOnDeviceReadsAndWritesInTheOrderOfTheShape(t *testing.T) {
	r := newRig(t)
	defer r.close()
	a := r.make(dtype.F32, 2, 3)
	turned, err := a.Transpose(0, 1)
	require.NoError(t, err)
	require.NoError(t, turned.Write(floats(0, 3, 1, 4, 2, 5), r.stream))
	got := make([]byte, 24)
	require.NoError(t, a.Read(got, r.stream))
	require.Equal(t, floats(0, 1, 2, 3, 4, 5), got)
	require.NoError(t, turned.Read(got, r.stream))
	require.Equal(t, floats(0, 3, 1, 4, 2, 5), got)
	require.Equal(t, device.CodeInvalidSize, device.CodeOf(a.Read(got[:23], r.stream)))
	wide, err := a.Expand(2, 2, 3)
	require.NoError(t, err)
	require.Equal(t, device.CodeInvalidArgument, device.CodeOf(wide.Write(make([]byte, 48), r.stream)))
	twice := make([]byte, 48)
	require.NoError(t, wide.Read(twice, r.stream))
	require.Equal(t, floats(0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5), twice)
	r.closeAll(a, turned, wide)
}

func TestOnDeviceFills(t *testing.T) {
	r := newRig(t)
	defer r.close()
	a := r.make(dtype.F32, 3, 4)
	require.NoError(t, a.Fill(1.5, r.stream))
	column, err := a.Narrow(1, 1, 1)
	require.NoError(t, err)
	require.NoError(t, column.Fill(-2, r.stream))
	got := make([]byte, 48)
	require.NoError(t, a.Read(got, r.stream))
	require.Equal(t, floats(1.5, -2, 1.5, 1.5, 1.5, -2, 1.5, 1.5, 1.5, -2, 1.5, 1.5), got)
	small, wide := r.make(dtype.BF16, 3), r.make(dtype.F64, 2)
	require.NoError(t, small.Fill(1, r.stream))
	require.NoError(t, small.Read(got[:6], r.stream))
	require.Equal(t, []byte{0x80, 0x3F, 0x80, 0x3F, 0x80, 0x3F}, got[:6])
	require.NoError(t, wide.Fill(0, r.stream))
	require.NoError(t, wide.Read(got[:16], r.stream))
	require.Equal(t, make([]byte, 16), got[:16])
	require.NoError(t, wide.Fill(1.5, r.stream))
	require.NoError(t, wide.Read(got[:16], r.stream))
	require.Equal(t, []byte{0, 0, 0, 0, 0, 0, 0xF8, 0x3F}, got[:8])
	require.Equal(t, got[:8], got[8:16])
	r.closeAll(a, column, small, wide)
}

// Elements are copied to another device, and back as another type.
func TestOnDeviceElementsGoToAnotherDevice(t *testing.T) {
	r := newRig(t)
	defer r.close()
	driver, err := host.New(host.Config{Devices: 1, MemoryBytes: 64 << 20})
	require.NoError(t, err)
	opened, err := driver.Open(0)
	require.NoError(t, err)
	there := engine.New(opened, engine.Options{})
	other, err := pool.New(there, pool.Config{Name: "other", GrowthIncrementBytes: 4 << 20, AutoExpansion: true})
	require.NoError(t, err)

	const rows, columns = 3000, 1500 // more than one part
	a := r.make(dtype.F16, rows, columns)
	require.NoError(t, a.Fill(0.5, r.stream))
	last, err := a.Narrow(0, rows-1, 1)
	require.NoError(t, err)
	require.NoError(t, last.Fill(7, r.stream))
	moved, err := a.To(weights.InPool(other, ""), dtype.F32, r.stream)
	require.NoError(t, err)
	got := make([]byte, rows*columns*4)
	require.NoError(t, moved.Read(got, there.Device().DefaultStream()))
	require.Equal(t, floats(0.5), got[:4])
	require.Equal(t, floats(0.5, 7), got[(rows-1)*columns*4-4:][:8])
	require.Equal(t, floats(7), got[len(got)-4:])
	back, err := moved.To(weights.InPool(r.pool, ""), dtype.I32, there.Device().DefaultStream())
	require.NoError(t, err)
	require.NoError(t, back.Read(got, r.stream))
	require.Equal(t, []byte{7, 0, 0, 0}, got[len(got)-4:])

	// Without a pool for the result nothing is left.
	_, err = a.To(weights.InPool(other, ""), dtype.C64, r.stream)
	require.Equal(t, device.CodeUnsupported, device.CodeOf(err))
	require.NoError(t, moved.Close())
	r.closeAll(a, last, back)
	require.NoError(t, other.Close(false))
	require.NoError(t, there.Close())
}

// Memory that is read-only is never written, and Hold is asked before each use.
func TestOnDeviceReadOnlyAndHeldMemory(t *testing.T) {
	r := newRig(t)
	defer r.close()
	block, err := r.pool.Alloc(pool.Request{SizeBytes: 64})
	require.NoError(t, err)
	held, sleeps := 0, false
	layout := r.make(dtype.F32, 4)
	shape := layout.Layout()
	wrapped, err := tensor.Wrap(tensor.Foreign{
		Engine: r.engine, Addr: block.Addr, SizeBytes: 64, ReadOnly: true,
		Hold: func() (func(), error) {
			if sleeps {
				return nil, device.Errorf(device.CodeInvalidState, "test", "it sleeps")
			}
			held++
			return func() { held-- }, nil
		},
	}, dtype.F32, shape)
	require.NoError(t, err)
	require.True(t, wrapped.ReadOnly())
	for _, err := range []error{wrapped.Fill(0, r.stream), wrapped.Write(make([]byte, 16), r.stream), wrapped.Copy(layout, r.stream)} {
		require.Equal(t, device.CodePermissionDenied, device.CodeOf(err), "%v", err)
	}
	require.NoError(t, layout.Copy(wrapped, r.stream))
	require.NoError(t, r.stream.Synchronize(device.Forever))
	require.Zero(t, held)
	sleeps = true
	require.Equal(t, device.CodeBusy, device.CodeOf(layout.Copy(wrapped, r.stream)))
	require.Equal(t, device.CodeBusy, device.CodeOf(wrapped.Read(make([]byte, 16), r.stream)))
	require.NoError(t, wrapped.Close())
	require.NoError(t, r.pool.Free(block.Addr, nil))
	r.closeAll(layout)
}

// A tensor that is closed during a read keeps its memory until the read has ended.
func TestReadsOfATensorThatIsClosedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		a := r.make(dtype.F32, 2)
		require.NoError(t, a.Write(floats(1, 2), r.stream))
		goOn, got, done := make(chan bool), make([]byte, 8), make(chan error, 1)
		require.NoError(t, r.stream.HostFunction(func() { <-goOn }))
		go func() { done <- a.Read(got, r.stream) }()
		synctest.Wait() // the read waits for the stream
		require.NoError(t, a.Close())
		live := r.pool.Statistics().LiveBlocks.Current
		close(goOn)
		require.NoError(t, <-done)
		require.EqualValues(t, 1, live)
		require.Equal(t, floats(1, 2), got)
	})
}
