package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool"
	"ferrum_mem/internal/dl"
)

// poolStreams opens a stream of each kind that the driver has. The test itself destroys
// native.
func poolStreams(t *testing.T, o *openDevice) (streams map[string]device.Stream, native uintptr) {
	sim := newSimulator(t)
	require.NoError(t, o.ctx.within("test", func() error {
		sim.must("cuStreamCreate", dl.Pointer(&native), streamNonBlocking)
		return nil
	}))
	streams = map[string]device.Stream{}
	var err error
	streams["own"], err = o.NewStream()
	require.NoError(t, err)
	for name, handle := range map[string]uint64{"adopted": uint64(native), "legacy": 1} {
		streams[name], err = o.AdoptStream(device.ForeignStream{Native: handle})
		require.NoError(t, err)
	}
	return streams, native
}

// A block of one stream is freed on another stream or without a stream. The pool does not
// give it to a new owner while work is queued. That is true even if the stream is closed in
// between, because closing drains the stream.
func TestPoolBlocksWaitForTheirStream(t *testing.T) {
	d := openPooled(t)
	streams, native := poolStreams(t, d.openDevice)
	other, err := d.NewStream()
	require.NoError(t, err)
	for name, own := range streams {
		for _, freed := range []device.Stream{nil, other} {
			block := d.part(t, own)
			gate, reached := make(chan struct{}), make(chan struct{})
			require.NoError(t, own.HostFunction(func() {
				close(reached)
				<-gate
			}))
			<-reached
			require.NoError(t, d.pool.Free(block, freed), name)
			var got []device.Addr
			for range 8 {
				for _, s := range []device.Stream{nil, other} {
					addr := d.part(t, s)
					require.NotEqual(t, block, addr, name)
					got = append(got, addr)
				}
			}
			require.Equal(t, block, d.part(t, own), "%s: its own has it at once", name)
			close(gate)
			require.NoError(t, own.Synchronize(device.Forever))
			require.NoError(t, d.pool.FreeBatch(append(got, block), nil))
			require.Zero(t, d.pool.Statistics().LiveBlocks.Current)
		}
		// The library closes the stream first. After that the program may destroy the
		// native stream.
		left, large := d.part(t, own), d.part(t, own)
		require.NoError(t, own.Close())
		if name == "adopted" {
			sim := newSimulator(t)
			require.NoError(t, d.ctx.within("test", func() error {
				sim.must("cuStreamDestroy_v2", native)
				return nil
			}))
		}
		require.NoError(t, d.pool.Free(left, nil), name)
		require.NoError(t, d.pool.FreeBatch([]device.Addr{large}, other), name)
		block, err := d.pool.Alloc(pool.Request{SizeBytes: partBytes, Stream: other})
		require.NoError(t, err)
		require.NoError(t, d.pool.Free(block.Addr, nil))
	}
	require.NoError(t, other.Close())
	d.close(t)
}
