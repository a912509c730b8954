package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// greenStream creates a green context with a stream, and returns both.
func greenStream(sim simulator) (stream, green uintptr) {
	resource := make([]byte, 4096)
	var description uintptr
	const multiprocessors, defaultStream = 1, 1
	sim.must("cuDeviceGetDevResource", 0, dl.Pointer(&resource[0]), multiprocessors)
	sim.must("cuDevResourceGenerateDesc", dl.Pointer(&description), dl.Pointer(&resource[0]), 1)
	sim.must("cuGreenCtxCreate", dl.Pointer(&green), description, 0, defaultStream)
	sim.must("cuGreenCtxStreamCreate", dl.Pointer(&stream), green, streamNonBlocking, 0)
	return stream, green
}

// A stream of a green context runs in the device's primary context, so the library adopts
// it like any other stream. When the program destroys the green context, only calls on that
// stream fail.
func TestStreamsOfGreenContexts(t *testing.T) {
	for _, generation := range []string{newest, "13000"} {
		t.Run(generation, func(t *testing.T) {
			if !alone(t, envLibrary+"="+simulated(generation)) {
				return
			}
			o, sim := open(t, 0), newSimulator(t)
			addr, err := o.Alloc(64 << 10)
			require.NoError(t, err)
			native, green := greenStream(sim)
			s, err := o.AdoptStream(device.ForeignStream{Native: uint64(native)})
			require.NoError(t, err)
			require.NoError(t, s.Fill(addr, device.Pattern{Value: 9, WidthBytes: 1}, 64<<10))
			require.NoError(t, s.Synchronize(device.Forever))
			require.Equal(t, []byte{9}, get(t, s, addr+65535, 1))

			sim.must("cuGreenCtxDestroy", green)
			refused := requireCode(t, device.CodeInvalidState, s.Fill(addr, device.Pattern{WidthBytes: 1}, 16))
			require.EqualValues(t, resultStreamDetached, refused.Native)
			require.NoError(t, o.DefaultStream().Fill(addr, device.Pattern{Value: 3, WidthBytes: 1}, 64<<10))
			require.NoError(t, s.Close())
			require.NoError(t, o.ctx.within("test", func() error { sim.must("cuStreamDestroy_v2", native); return nil }))
			require.NoError(t, o.Free(addr, 64<<10))
			require.NoError(t, o.Close())
			require.Empty(t, sim.text("simcuda_leaks"))
		})
	}
}

// If the driver cannot report the context of a stream, the library rejects the stream.
func TestStreamOfUnknownContextIsRejected(t *testing.T) {
	if !alone(t, "SIMCUDA_FAULT=cuStreamGetCtx_v2:0:801") {
		return
	}
	o, sim := open(t, 0), newSimulator(t)
	native, green := greenStream(sim)
	_, err := o.AdoptStream(device.ForeignStream{Native: uint64(native)})
	requireCode(t, device.CodeUnsupported, err)
	sim.must("cuGreenCtxDestroy", green)
	require.NoError(t, o.ctx.within("test", func() error { sim.must("cuStreamDestroy_v2", native); return nil }))
	require.NoError(t, o.Close())
	require.Empty(t, sim.text("simcuda_leaks"))
}
