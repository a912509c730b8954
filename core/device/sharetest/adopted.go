package sharetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// Adopted tests a device with device.Adopter.
type Adopted struct {
	// Open returns a device that no other test uses.
	Open func(t testing.TB) device.Device
	// Theirs returns that many bytes of external memory that the device can use, until
	// the test ends.
	Theirs func(t testing.TB, dev device.Device, size uint64) device.Addr
	// Watches states that the device knows what its queued work uses.
	Watches bool
}

const adoptedBytes = 64 << 10

// Run runs the suite.
func (a Adopted) Run(t *testing.T) {
	for name, test := range map[string]func(*testing.T, device.Device, device.Adopter){
		"use": a.use, "read only": a.readOnly, "shared": a.shared, "refusals": a.refusals, "queued work": a.queued, "ends": a.ends,
	} {
		t.Run(name, func(t *testing.T) {
			dev := a.Open(t)
			adopter, is := dev.(device.Adopter)
			require.True(t, is, "the device has the capability")
			test(t, dev, adopter)
		})
	}
}

// use: external memory is used between Adopt and Disown, in adjacent parts, and only
// its owner uses it before and after.
func (a Adopted) use(t *testing.T, dev device.Device, adopter device.Adopter) {
	at, s := a.Theirs(t, dev, adoptedBytes), dev.DefaultStream()
	requireCode(t, device.CodeInvalidAddress, s.Fill(at, one(1), 1))
	const half = adoptedBytes / 2
	require.NoError(t, adopter.Adopt(at, half, device.AccessReadWrite, device.Alone))
	fill(t, dev, at, 1, half)
	requireCode(t, device.CodeInvalidAddress, s.Fill(at, one(9), half+1))
	requireCode(t, device.CodeInvalidAddress, s.Fill(at+half, one(9), 1))
	require.NoError(t, adopter.Adopt(at+half, half, device.AccessReadWrite, device.Alone))
	fill(t, dev, at+half, 2, half)
	plain, size := segment(t, dev, adoptedBytes)
	require.NoError(t, s.Copy(plain, at, half))
	require.NoError(t, s.Copy(plain+half, at+half, half))
	require.NoError(t, s.Synchronize(device.Forever))
	requireBytes(t, dev, plain, 1, half)
	requireBytes(t, dev, plain+half, 2, half)
	require.NoError(t, adopter.Disown(at, half, device.Alone))
	requireCode(t, device.CodeInvalidAddress, s.Fill(at, one(9), 1))
	requireBytes(t, dev, at+half, 2, half)
	require.NoError(t, adopter.Disown(at+half, half, device.Alone))
	require.NoError(t, adopter.Adopt(at, adoptedBytes, device.AccessReadWrite, device.Alone))
	requireBytes(t, dev, at, 1, half)
	requireBytes(t, dev, at+half, 2, half)
	require.NoError(t, adopter.Disown(at, adoptedBytes, device.Alone))
	require.NoError(t, dev.Free(plain, size))
	closed(t, dev)
}

// readOnly: no work can write to memory that was adopted for reading.
func (a Adopted) readOnly(t *testing.T, dev device.Device, adopter device.Adopter) {
	const half = adoptedBytes / 2
	at, s := a.Theirs(t, dev, adoptedBytes), dev.DefaultStream()
	plain, size := segment(t, dev, adoptedBytes)
	require.NoError(t, adopter.Adopt(at, adoptedBytes, device.AccessReadWrite, device.Alone))
	fill(t, dev, at, 3, adoptedBytes)
	fill(t, dev, plain, 4, adoptedBytes)
	require.NoError(t, adopter.Disown(at, adoptedBytes, device.Alone))
	for _, wrong := range []device.Access{-1, device.AccessNone, device.AccessReadWrite + 1} {
		requireCode(t, device.CodeInvalidArgument, adopter.Adopt(at, half, wrong, device.Alone))
	}
	require.NoError(t, adopter.Adopt(at, half, device.AccessRead, device.Alone))
	requireCode(t, device.CodeAlreadyExists, adopter.Adopt(at, half, device.AccessReadWrite, device.Alone))
	require.NoError(t, adopter.Adopt(at+half, half, device.AccessReadWrite, device.Alone))
	bytes := make([]byte, 8)
	requireCode(t, device.CodePermissionDenied, s.Fill(at, one(9), 1))
	requireCode(t, device.CodePermissionDenied, s.Fill(at+half-1, one(9), 1))
	requireCode(t, device.CodePermissionDenied, s.Copy(at, plain, half))
	requireCode(t, device.CodePermissionDenied, s.Copy(at, at+8, 8))
	requireCode(t, device.CodePermissionDenied, s.CopyFromHost(at, hostAddr(bytes), 8))
	require.NoError(t, s.Copy(at+half, at, half/2))
	require.NoError(t, s.Copy(plain, at, half))
	require.NoError(t, s.Synchronize(device.Forever))
	requireBytes(t, dev, plain, 3, half)
	requireBytes(t, dev, at, 3, half)
	require.NoError(t, adopter.Disown(at, half, device.Alone))
	require.NoError(t, adopter.Disown(at+half, half, device.Alone))
	require.NoError(t, adopter.Adopt(at, half, device.AccessReadWrite, device.Alone))
	fill(t, dev, at, 5, half)
	require.NoError(t, adopter.Disown(at, half, device.Alone))
	require.NoError(t, dev.Free(plain, size))
	closed(t, dev)
}

// shared: ranges that were adopted as Shared may overlap, also one that was adopted alone. Each
// ends by itself.
func (a Adopted) shared(t *testing.T, dev device.Device, adopter device.Adopter) {
	const half = adoptedBytes / 2
	at, s := a.Theirs(t, dev, adoptedBytes), dev.DefaultStream()
	own, size := segment(t, dev, adoptedBytes)
	requireCode(t, device.CodeAlreadyExists, adopter.Adopt(own, 64, device.AccessReadWrite, device.Shared))
	require.NoError(t, adopter.Adopt(at, adoptedBytes, device.AccessReadWrite, device.Shared))
	require.NoError(t, adopter.Adopt(at, adoptedBytes, device.AccessRead, device.Shared))
	require.NoError(t, adopter.Adopt(at+1024, half, device.AccessRead, device.Shared))
	require.NoError(t, adopter.Adopt(at+half, half, device.AccessReadWrite, device.Alone))
	fill(t, dev, at, 1, adoptedBytes)
	// The range that was adopted alone is read-only, but another one allows to write.
	require.NoError(t, adopter.Disown(at+half, half, device.Alone))
	require.NoError(t, adopter.Adopt(at+half, half, device.AccessRead, device.Alone))
	fill(t, dev, at+half, 2, half)
	require.NoError(t, adopter.Disown(at, adoptedBytes, device.Shared))
	fill(t, dev, at, 3, half)
	require.NoError(t, adopter.Disown(at, adoptedBytes, device.Shared))
	requireCode(t, device.CodeInvalidAddress, adopter.Disown(at, adoptedBytes, device.Shared))
	requireCode(t, device.CodeInvalidAddress, s.Fill(at, one(9), 8))
	requireCode(t, device.CodePermissionDenied, s.Fill(at+1024, one(9), 8))
	requireCode(t, device.CodePermissionDenied, s.Fill(at+half, one(9), 8))
	requireBytes(t, dev, at+1024, 3, half-1024)
	requireCode(t, device.CodeInvalidAddress, adopter.Disown(at+1024, half, device.Alone))
	require.NoError(t, adopter.Disown(at+half, half, device.Alone))
	requireBytes(t, dev, at+half, 2, 1024)
	requireCode(t, device.CodeBusy, dev.Close())
	require.NoError(t, adopter.Disown(at+1024, half, device.Shared))
	require.NoError(t, dev.Free(own, size))
	closed(t, dev)
}

func (a Adopted) refusals(t *testing.T, dev device.Device, adopter device.Adopter) {
	at := a.Theirs(t, dev, adoptedBytes)
	own, size := segment(t, dev, adoptedBytes)
	const part, half = 1024, adoptedBytes / 2
	require.NoError(t, adopter.Adopt(at+half, part, device.AccessReadWrite, device.Alone))
	for _, c := range []struct {
		code device.Code
		addr device.Addr
		size uint64
	}{
		{device.CodeInvalidSize, at, 0},
		{device.CodeOverflow, at, ^uint64(0)},
		{device.CodeAlreadyExists, at + half, part},
		{device.CodeAlreadyExists, at + half, 1},
		{device.CodeAlreadyExists, at + half + part - 1, 1},
		{device.CodeAlreadyExists, at, half + 1},
		{device.CodeAlreadyExists, at, adoptedBytes},
		{device.CodeAlreadyExists, own, size},
		{device.CodeAlreadyExists, own + 64, 64},
	} {
		requireCode(t, c.code, adopter.Adopt(c.addr, c.size, device.AccessReadWrite, device.Alone))
	}
	requireCode(t, device.CodeInvalidAddress, adopter.Adopt(0, 16, device.AccessReadWrite, device.Alone))
	requireCode(t, device.CodeInvalidAddress, adopter.Adopt(4096, 16, device.AccessReadWrite, device.Alone))
	requireCode(t, device.CodeInvalidAddress, adopter.Adopt(at, 1<<60, device.AccessReadWrite, device.Alone))
	nothingThere(t, dev, adopter)
	for _, err := range []error{
		adopter.Disown(at, half, device.Alone), adopter.Disown(at+half, part-1, device.Alone), adopter.Disown(at+half, part+1, device.Alone),
		adopter.Disown(at+half+1, part-1, device.Alone), adopter.Disown(own, size, device.Alone), adopter.Disown(0, 0, device.Alone),
		dev.Free(at+half, part),
	} {
		requireCode(t, device.CodeInvalidAddress, err)
	}
	// A rejected call has changed nothing.
	fill(t, dev, at+half, 7, part)
	requireBytes(t, dev, at+half, 7, part)
	require.NoError(t, adopter.Disown(at+half, part, device.Alone))
	requireCode(t, device.CodeInvalidAddress, adopter.Disown(at+half, part, device.Alone))
	require.NoError(t, dev.Free(own, size))
	closed(t, dev)
}

// nothingThere: address space without memory cannot be adopted.
func nothingThere(t *testing.T, dev device.Device, adopter device.Adopter) {
	virtual, is := dev.(device.VirtualMemory)
	if !is || !dev.Info().VirtualMemory {
		return
	}
	size := virtual.Granularity().RecommendedBytes
	space, err := virtual.Reserve(size, size)
	require.NoError(t, err)
	requireCode(t, device.CodeInvalidAddress, adopter.Adopt(space, 1, device.AccessReadWrite, device.Alone))
	require.NoError(t, virtual.Unreserve(space, size))
}

// queued tests that memory in use by queued work is not disowned, if the device knows of the work,
// and that the work completes.
func (a Adopted) queued(t *testing.T, dev device.Device, adopter device.Adopter) {
	at := a.Theirs(t, dev, adoptedBytes)
	require.NoError(t, adopter.Adopt(at, adoptedBytes, device.AccessReadWrite, device.Alone))
	s, err := dev.NewStream()
	require.NoError(t, err)
	g := holdUp(t, s)
	require.NoError(t, s.Fill(at, one(8), adoptedBytes))
	if a.Watches {
		requireCode(t, device.CodeBusy, adopter.Disown(at, adoptedBytes, device.Alone))
	}
	close(g.release)
	require.NoError(t, s.Synchronize(device.Forever))
	requireBytes(t, dev, at, 8, adoptedBytes)
	require.NoError(t, s.Close())
	require.NoError(t, adopter.Disown(at, adoptedBytes, device.Alone))
	closed(t, dev)
}

func (a Adopted) ends(t *testing.T, dev device.Device, adopter device.Adopter) {
	at := a.Theirs(t, dev, adoptedBytes)
	require.NoError(t, adopter.Adopt(at, adoptedBytes, device.AccessReadWrite, device.Alone))
	requireCode(t, device.CodeBusy, dev.Close())
	fill(t, dev, at, 1, adoptedBytes)
	require.NoError(t, adopter.Disown(at, adoptedBytes, device.Alone))
	closed(t, dev)
	requireCode(t, device.CodeInvalidState, adopter.Adopt(at, adoptedBytes, device.AccessReadWrite, device.Alone))
	requireCode(t, device.CodeInvalidState, adopter.Disown(at, adoptedBytes, device.Alone))
}
