package sharetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// Linked tests two devices of one driver that both have device.Linker.
type Linked struct {
	// Open returns both devices, which no other test uses.
	Open func(t testing.TB) (a, b device.Device)
	// Watches is as for Adopted.
	Watches bool
}

// Run runs the suite.
func (l Linked) Run(t *testing.T) {
	for name, test := range map[string]func(*testing.T, linkedPair){
		"one memory": linkedIsOneMemory, "refusals": linkedRefusals, "queued work": l.queued, "ends": linkedEnds,
	} {
		t.Run(name, func(t *testing.T) {
			p := linkedPair{}
			p.a, p.b = l.Open(t)
			var is bool
			for dev, linker := range map[device.Device]*device.Linker{p.a: &p.toA, p.b: &p.toB} {
				*linker, is = dev.(device.Linker)
				require.True(t, is && dev.Info().Linker, "the device has the capability and says so")
			}
			p.at, p.size = segment(t, p.a, 64<<10)
			test(t, p)
		})
	}
}

// linkedPair is a segment of device a. toB links memory to b.
type linkedPair struct {
	a, b     device.Device
	toA, toB device.Linker
	at       device.Addr
	size     uint64
}

// end frees the segment and closes both devices.
func (p linkedPair) end(t *testing.T) {
	require.NoError(t, p.a.Free(p.at, p.size))
	closed(t, p.b)
	closed(t, p.a)
}

func linkedIsOneMemory(t *testing.T, p linkedPair) {
	const part = 4096
	fill(t, p.a, p.at, 1, p.size)
	there, err := p.toB.Link(p.a, p.at+64, part)
	require.NoError(t, err)
	requireBytes(t, p.b, there, 1, part)
	fill(t, p.b, there, 2, part)
	requireBytes(t, p.a, p.at, 1, 64)
	requireBytes(t, p.a, p.at+64, 2, part)
	requireBytes(t, p.a, p.at+64+part, 1, p.size-64-part)
	// Work of one device waits for work of the other device.
	mine, err := p.b.NewStream()
	require.NoError(t, err)
	g := holdUp(t, mine)
	require.NoError(t, mine.Fill(there, one(3), part))
	marked, err := mine.RecordEvent()
	require.NoError(t, err)
	s := p.a.DefaultStream()
	require.NoError(t, s.WaitEvent(marked))
	require.NoError(t, s.Copy(p.at+8192, p.at+64, part))
	close(g.release)
	require.NoError(t, s.Synchronize(device.Forever))
	requireBytes(t, p.a, p.at+8192, 3, part)
	require.NoError(t, marked.Close())
	require.NoError(t, mine.Close())
	require.NoError(t, p.toB.Unlink(there, part))
	// The memory still belongs to the other device, and can be linked again.
	requireBytes(t, p.a, p.at+64, 3, part)
	there, err = p.toB.Link(p.a, p.at, p.size)
	require.NoError(t, err)
	requireBytes(t, p.b, there+64, 3, part)
	require.NoError(t, p.toB.Unlink(there, p.size))
	p.end(t)
}

// otherwise is a device without a driver.
type otherwise struct{ device.Device }

func (otherwise) Info() device.Info { return device.Info{} }

func linkedRefusals(t *testing.T, p linkedPair) {
	for _, c := range []struct {
		code device.Code
		from device.Device
		addr device.Addr
		size uint64
	}{
		{device.CodeInvalidSize, p.a, p.at, 0},
		{device.CodeOverflow, p.a, p.at, ^uint64(0)},
		{device.CodeInvalidAddress, p.a, p.at, p.size + 1},
		{device.CodeInvalidAddress, p.a, p.at + device.Addr(p.size) - 1, 2},
		{device.CodeInvalidAddress, p.a, 0, 8},
		{device.CodeInvalidAddress, p.a, 4096, 8},
		{device.CodeInvalidArgument, p.b, p.at, 8},
		{device.CodeUnsupported, nil, p.at, 8},
		{device.CodeUnsupported, otherwise{}, p.at, 8},
	} {
		_, err := p.toB.Link(c.from, c.addr, c.size)
		requireCode(t, c.code, err)
	}
	there, err := p.toB.Link(p.a, p.at, 4096)
	require.NoError(t, err)
	_, err = p.toB.Link(p.a, p.at+64, 8)
	requireCode(t, device.CodeAlreadyExists, err)
	for _, err := range []error{
		p.toB.Unlink(there, 4095), p.toB.Unlink(there+1, 4095), p.toB.Unlink(0, 0), p.b.Free(there, 4096),
		p.b.DefaultStream().Fill(there, one(1), 4097), p.toA.Unlink(p.at, 4096),
	} {
		requireCode(t, device.CodeInvalidAddress, err)
	}
	fill(t, p.b, there, 5, 4096)
	requireBytes(t, p.a, p.at, 5, 4096)
	require.NoError(t, p.toB.Unlink(there, 4096))
	requireCode(t, device.CodeInvalidAddress, p.toB.Unlink(there, 4096))
	requireCode(t, device.CodeInvalidAddress, p.b.DefaultStream().Fill(there, one(1), 1))
	p.end(t)
}

func (l Linked) queued(t *testing.T, p linkedPair) {
	there, err := p.toB.Link(p.a, p.at, 4096)
	require.NoError(t, err)
	s, err := p.b.NewStream()
	require.NoError(t, err)
	g := holdUp(t, s)
	require.NoError(t, s.Fill(there, one(6), 4096))
	if l.Watches {
		requireCode(t, device.CodeBusy, p.toB.Unlink(there, 4096))
	}
	close(g.release)
	require.NoError(t, s.Synchronize(device.Forever))
	requireBytes(t, p.a, p.at, 6, 4096)
	require.NoError(t, s.Close())
	require.NoError(t, p.toB.Unlink(there, 4096))
	p.end(t)
}

func linkedEnds(t *testing.T, p linkedPair) {
	there, err := p.toB.Link(p.a, p.at, 4096)
	require.NoError(t, err)
	requireCode(t, device.CodeBusy, p.b.Close())
	require.NoError(t, p.toB.Unlink(there, 4096))
	require.NoError(t, p.a.Free(p.at, p.size))
	closed(t, p.a)
	_, err = p.toB.Link(p.a, p.at, 8)
	require.Contains(t, []device.Code{device.CodeInvalidState, device.CodeInvalidAddress}, device.CodeOf(err), "%v", err)
	closed(t, p.b)
	_, err = p.toB.Link(p.a, p.at, 8)
	requireCode(t, device.CodeInvalidState, err)
	requireCode(t, device.CodeInvalidState, p.toB.Unlink(there, 4096))
}
