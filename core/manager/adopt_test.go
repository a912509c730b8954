package manager

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

const foreignAddr = device.Addr(1) << 30

func TestAdoptedBlocksAreUsedAndNeverFreed(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	m := r.manager(t, nil)
	copiesOn(r)
	h, err := m.Adopt(Adoption{Type: Cache, Addr: foreignAddr, SizeBytes: 100, Tag: "theirs"})
	require.NoError(t, err)
	info, err := r.factory.HandleInfo(h)
	require.NoError(t, err)
	require.True(t, info.Adopted)
	require.Equal(t, foreignAddr, info.Addr)
	require.EqualValues(t, 100, info.SizeBytes)
	require.Equal(t, Cache, info.Type)
	require.Equal(t, "theirs", info.Tag)
	require.Equal(t, Adopted{Blocks: 1, Bytes: 100}, m.Adopted())
	require.EqualValues(t, 1, m.LiveByType()[Cache])
	require.Zero(t, m.Statistics().Reserved.Current, "no pool counts it")

	content := counting(100)
	r.write(t, h, content)
	require.Equal(t, content, r.bytes(t, h))
	own := m.mustAlloc(t, 100)
	require.NoError(t, r.factory.Copy(NewTransfer(h, own, 100)))
	require.Equal(t, content, r.bytes(t, own))
	mapped, err := r.factory.Map(MapRequest{Memory: h, SizeBytes: MapToEnd})
	require.NoError(t, err)
	requireError(t, r.factory.Free(h), device.CodeBusy, "1 mapping")
	require.NoError(t, r.factory.Unmap(h, mapped.ID))

	s, held := r.heldStream(t)
	require.NoError(t, r.factory.FillAsync(Fill{Memory: h, SizeBytes: 100,
		Pattern: device.Pattern{Value: 9, WidthBytes: 1}}, s))
	requireError(t, r.factory.Free(h), device.CodeBusy, "1 queued operations")
	require.Equal(t, Adopted{Blocks: 1, Bytes: 100}, m.Adopted())
	held.Release()
	require.NoError(t, r.factory.Free(h))
	requireError(t, r.factory.Free(h), device.CodeInvalidHandle)
	require.Equal(t, Adopted{}, m.Adopted())
	again, err := m.Adopt(Adoption{Addr: foreignAddr, SizeBytes: 100})
	require.NoError(t, err)
	requireError(t, m.Close(false), device.CodeBusy)
	require.NoError(t, m.Close(true))
	_, err = r.factory.HandleInfo(again)
	requireError(t, err, device.CodeInvalidHandle)
	require.NoError(t, r.dev.Adopt(foreignAddr, 100, device.AccessReadWrite, device.Alone), "the memory still belongs to its owner")
	require.NoError(t, r.dev.Disown(foreignAddr, 100, device.Alone))
}

func TestAdoptRefusesBadInput(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	m := r.manager(t, nil)
	for name, c := range map[string]struct {
		a    Adoption
		code device.Code
		word string
	}{
		"type":     {Adoption{Type: 9, Addr: 1, SizeBytes: 1}, device.CodeInvalidArgument, "memory_type 9"},
		"address":  {Adoption{SizeBytes: 1}, device.CodeInvalidAddress, "address is 0"},
		"size":     {Adoption{Addr: 1}, device.CodeInvalidSize, "size_bytes is 0"},
		"overflow": {Adoption{Addr: 2, SizeBytes: 1<<64 - 1}, device.CodeOverflow, "0x2"},
		"tag":      {Adoption{Addr: 1, SizeBytes: 1, Tag: string(make([]byte, TagMax+1))}, device.CodeInvalidArgument, "tag"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := m.Adopt(c.a)
			requireError(t, err, c.code, c.word)
		})
	}
	info, err := r.factory.HandleInfo(m.mustAlloc(t, 1))
	require.NoError(t, err)
	_, err = m.Adopt(Adoption{Addr: foreignAddr, SizeBytes: 10})
	require.NoError(t, err)
	_, err = m.Adopt(Adoption{Addr: foreignAddr + 9, SizeBytes: 10})
	requireError(t, err, device.CodeAlreadyExists)
	require.NotZero(t, info.Addr)
	require.NoError(t, m.Close(true))
	_, err = m.Adopt(Adoption{Addr: 1, SizeBytes: 1})
	requireError(t, err, device.CodeInvalidHandle)

	bare := cleanRig(t, devicetest.Config{NoLinks: true})
	_, err = bare.manager(t, nil).Adopt(Adoption{Addr: 1, SizeBytes: 1})
	requireError(t, err, device.CodeUnsupported)
	_, err = bare.streams.AdoptStream(device.ForeignStream{Native: 1})
	requireError(t, err, device.CodeUnsupported)
}

func TestAnAdoptionThatFailsLeavesNothing(t *testing.T) {
	for n := 1; ; n++ {
		r := newRig(t, devicetest.Config{Backed: true})
		m := r.manager(t, nil)
		r.dev.FailNth(devicetest.Any, n, nil)
		adoption := Adoption{Addr: foreignAddr, SizeBytes: 100}
		h, err := m.Adopt(adoption)
		if err != nil {
			require.Equal(t, Adopted{}, m.Adopted())
			h, err = m.Adopt(adoption)
			require.NoError(t, err)
		}
		if err := r.factory.Free(h); err != nil {
			require.Equal(t, Adopted{Blocks: 1, Bytes: 100}, m.Adopted())
			require.NoError(t, r.factory.Free(h))
		}
		left := r.dev.ClearFaults()
		r.finish(t)
		if left > 0 {
			require.Greater(t, n, 2)
			return
		}
	}
}

// The owner of an adopted stream may have queued work that the library does not know. A
// free waits for all of it.
func TestAFreeWaitsForAllWorkOfAnAdoptedStream(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	m := r.manager(t, nil)
	s, err := r.streams.AdoptStream(device.ForeignStream{Native: 77})
	require.NoError(t, err)
	dev, _, err := r.factory.Stream(s)
	require.NoError(t, err)
	require.EqualValues(t, 77, dev.(*devicetest.Stream).Foreign())
	h := m.mustAlloc(t, 64)
	require.NoError(t, r.factory.FillAsync(Fill{Memory: h, SizeBytes: 64,
		Pattern: device.Pattern{Value: 3, WidthBytes: 1}}, s))
	require.NoError(t, r.factory.SynchronizeStream(s, device.Forever))
	records := r.dev.Calls(devicetest.RecordEvent)
	require.NoError(t, r.factory.Free(h))
	require.Equal(t, records+1, r.dev.Calls(devicetest.RecordEvent), "an event is recorded although the library has queued no work")
	require.NoError(t, r.factory.DestroyStream(s, false))
	requireError(t, r.factory.DestroyStream(s, false), device.CodeInvalidHandle)
	_, err = r.streams.AdoptStream(device.ForeignStream{})
	requireError(t, err, device.CodeInvalidArgument)
	left, err := r.factory.CloseDevice(r.engine, false)
	require.Equal(t, 1, left.Managers)
	requireError(t, err, device.CodeBusy, "0 streams")
}

func TestAPrefetchIsWorkOnItsBlock(t *testing.T) {
	p := cleanPair(t)
	f := p.first.factory
	h := p.a.mustAlloc(t, 100)
	s, held := p.first.heldStream(t)
	require.NoError(t, f.Prefetch(h, p.second.engine, s))
	require.Equal(t, 1, p.first.dev.Calls(devicetest.Prefetch))
	info, err := f.HandleInfo(h)
	require.NoError(t, err)
	require.EqualValues(t, 1, info.OperationsInFlight)
	require.NoError(t, f.Prefetch(h, p.first.engine, DefaultStream))
	held.Release()
	stats, tracked, err := f.AccessStats(h)
	require.NoError(t, err)
	require.True(t, tracked)
	require.False(t, stats.Accessed, "a prefetch is not counted as an access")
	there, err := p.second.streams.CreateStream()
	require.NoError(t, err)
	requireError(t, f.Prefetch(h, p.second.engine, there), device.CodeInvalidArgument, "test:1")
	requireError(t, f.Prefetch(1, p.first.engine, DefaultStream), device.CodeInvalidHandle)
	p.first.dev.FailNth(devicetest.Prefetch, 1, nil)
	requireError(t, f.Prefetch(h, p.first.engine, DefaultStream), device.CodeDevice)
	elsewhere := cleanRig(t, devicetest.Config{Backend: "other"})
	requireError(t, f.Prefetch(h, elsewhere.engine, DefaultStream), device.CodeUnsupported)
	require.NoError(t, f.Free(h))
}

// A read-only block can be read, copied from and mapped for reading. Everything that
// would write is rejected and changes nothing.
func TestAdoptedToBeReadOnly(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	m := r.manager(t, nil)
	copiesOn(r)
	h, err := m.Adopt(Adoption{Addr: foreignAddr, SizeBytes: 100, ReadOnly: true})
	require.NoError(t, err)
	info, err := r.factory.HandleInfo(h)
	require.NoError(t, err)
	require.True(t, info.ReadOnly && info.Adopted)
	own := m.mustAlloc(t, 100)
	r.write(t, own, counting(100))
	source := r.dev.HostBuffer(counting(100))
	mapping := func(access HostAccess) error {
		_, err := r.factory.Map(MapRequest{Memory: h, SizeBytes: MapToEnd, Access: access})
		return err
	}
	for name, err := range map[string]error{
		"copy":        r.factory.Copy(NewTransfer(own, h, 100)),
		"copy itself": r.factory.Copy(NewTransfer(h, h, 10)),
		"copy async":  r.factory.CopyAsync(NewTransfer(own, h, 100), 0),
		"write":       r.factory.Write(h, 0, source, 100),
		"fill":        r.factory.FillAsync(Fill{Memory: h, SizeBytes: 100, Pattern: device.Pattern{Value: 1, WidthBytes: 1}}, 0),
		"map":         mapping(HostReadWrite),
		"map write":   mapping(HostWrite),
	} {
		require.NotNil(t, err, name)
		requireError(t, err, device.CodePermissionDenied, "read-only")
	}
	require.NoError(t, r.factory.Copy(NewTransfer(h, own, 100)))
	require.Equal(t, make([]byte, 100), r.bytes(t, own), "the contents are those from before")
	mapped, err := r.factory.Map(MapRequest{Memory: h, SizeBytes: MapToEnd, Access: HostRead})
	require.NoError(t, err)
	require.NoError(t, r.factory.Unmap(h, mapped.ID))
	require.NoError(t, r.factory.Free(h))
}
