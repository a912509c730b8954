package tensor_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/tensor"
	"ferrum_mem/core/weights"
	"ferrum_mem/drivers/testdevice"
)

// The tests run on the host, and on the device that testdevice names. Bytes are read and
// written by copies of the device, which the package under test does not use.

func TestMain(m *testing.M) {
	os.Exit(testdevice.Main(m, map[string]string{
		"TestOnDeviceConvertedCopies": "a device converts no elements",
	}))
}

type rig struct {
	t      require.TestingT
	engine *engine.Engine
	pool   *pool.Pool
	stream device.Stream
	buffer *offheap.Block
}

func newRig(t require.TestingT) *rig {
	r := &rig{t: t, engine: engine.New(testdevice.Open(t, 256<<20), engine.Options{})}
	var err error
	r.pool, err = pool.New(r.engine, pool.Config{Name: "tensors", GrowthIncrementBytes: 4 << 20, AutoExpansion: true})
	require.NoError(t, err)
	r.stream, err = r.engine.Device().NewStream()
	require.NoError(t, err)
	r.buffer, err = offheap.NewBlock(1 << 20)
	require.NoError(t, err)
	return r
}

// close closes everything without force, so whatever is left is an error.
func (r *rig) close() {
	require.NoError(r.t, r.stream.Close())
	require.Zero(r.t, r.pool.Statistics().LiveBlocks.Current)
	require.NoError(r.t, r.pool.Close(false))
	require.NoError(r.t, r.engine.Close())
	r.buffer.Free()
}

func (r *rig) make(kind dtype.DType, shape ...int64) *tensor.Tensor {
	made, err := tensor.New(weights.InPool(r.pool, ""), kind, shape, r.stream)
	require.NoError(r.t, err)
	return made
}

func (r *rig) host() device.HostAddr {
	return device.HostAddr(offheap.AddressOf(r.buffer.Bytes()))
}

// put writes bytes from the address of the first element on.
func (r *rig) put(to *tensor.Tensor, bytes []byte) {
	if len(bytes) == 0 {
		return
	}
	copy(r.buffer.Bytes(), bytes)
	require.NoError(r.t, r.stream.CopyFromHost(to.Addr(), r.host(), uint64(len(bytes))))
	require.NoError(r.t, r.stream.Synchronize(device.Forever))
}

// get reads bytes from the address of the first element on.
func (r *rig) get(from *tensor.Tensor, size uint64) []byte {
	require.NoError(r.t, r.stream.Synchronize(device.Forever))
	if size == 0 {
		return nil
	}
	require.NoError(r.t, r.stream.CopyToHost(r.host(), from.Addr(), size))
	require.NoError(r.t, r.stream.Synchronize(device.Forever))
	return append([]byte{}, r.buffer.Bytes()[:size]...)
}
