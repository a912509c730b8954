package manager

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/manager/mappings"
)

// mapBuffers allocates the staging copies of mappings in memory that test devices know,
// and returns their bytes by address.
type mapBuffers struct {
	dev   *devicetest.Device
	bytes map[device.HostAddr][]byte
	freed map[device.HostAddr]bool
}

func copiesOn(r *rig) *mapBuffers {
	m := &mapBuffers{dev: r.dev, bytes: map[device.HostAddr][]byte{}, freed: map[device.HostAddr]bool{}}
	r.factory.staging.takeMapCopy = func(size uint64) (*mappings.Copy, error) {
		buffer := make([]byte, size)
		addr := r.dev.HostBuffer(buffer)
		m.bytes[addr] = buffer
		return &mappings.Copy{Addr: addr, Free: func() {
			if m.freed[addr] {
				panic("a copy was freed twice")
			}
			m.freed[addr] = true
		}}, nil
	}
	return m
}

// live returns the number of copies that were not freed.
func (m *mapBuffers) live() int { return len(m.bytes) - len(m.freed) }

func backed(t *testing.T) (*rig, *Manager, *mapBuffers) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	return r, r.manager(t, nil), copiesOn(r)
}

func TestAStagedMappingCopiesWhatItsAccessNeeds(t *testing.T) {
	r, m, copies := backed(t)
	h := m.mustAlloc(t, 100)
	content := counting(100)
	r.write(t, h, content)

	for access, want := range map[HostAccess]byte{HostRead: content[20], HostReadWrite: 0xAA, HostWrite: 0xAA} {
		t.Run(access.String(), func(t *testing.T) {
			r.write(t, h, content)
			reads := r.dev.Calls(devicetest.CopyToHost)
			mapped, err := r.factory.Map(MapRequest{Memory: h, OffsetBytes: 20, SizeBytes: 8, Access: access})
			require.NoError(t, err)
			require.EqualValues(t, 8, mapped.SizeBytes)
			require.True(t, mapped.Staged)
			seen := copies.bytes[mapped.HostAddr]
			if access.reads() {
				require.Equal(t, content[20:28], seen)
			} else {
				require.Equal(t, reads, r.dev.Calls(devicetest.CopyToHost), "a write-only mapping reads nothing")
			}
			for i := range seen {
				seen[i] = 0xAA
			}
			info, err := r.factory.HandleInfo(h)
			require.NoError(t, err)
			require.True(t, info.IsMapped)
			requireError(t, r.factory.Free(h), device.CodeBusy, "1 mapping")
			require.NoError(t, r.factory.Unmap(h, mapped.ID))
			require.Equal(t, want, r.bytes(t, h)[20])
			require.Equal(t, content[:20], r.bytes(t, h)[:20])
			require.Equal(t, content[28:], r.bytes(t, h)[28:])
			require.Zero(t, copies.live())
			requireError(t, r.factory.Unmap(h, mapped.ID), device.CodeNotMapped)
		})
	}
	require.NoError(t, r.factory.Free(h))
}

func TestMappingsNestAndWritersDoNotOverlap(t *testing.T) {
	r, m, copies := backed(t)
	h := m.mustAlloc(t, 100)
	request := MapRequest{Memory: h, OffsetBytes: 10, SizeBytes: 20, Access: HostReadWrite}
	outer, err := r.factory.Map(request)
	require.NoError(t, err)
	inner, err := r.factory.Map(request)
	require.NoError(t, err)
	require.Equal(t, outer, inner)
	copies.bytes[inner.HostAddr][0] = 7
	require.NoError(t, r.factory.Unmap(h, inner.ID))
	require.NotEqual(t, byte(7), r.bytes(t, h)[10], "the last unmap writes back")

	for _, access := range []HostAccess{HostWrite, HostReadWrite} {
		_, err = r.factory.Map(MapRequest{Memory: h, OffsetBytes: 29, SizeBytes: 1, Access: access})
		requireError(t, err, device.CodeBusy, "overlap", "offset_bytes 29")
		beside, err := r.factory.Map(MapRequest{Memory: h, OffsetBytes: 30, SizeBytes: 1, Access: access})
		require.NoError(t, err)
		require.NoError(t, r.factory.Unmap(h, beside.ID))
	}
	reader, err := r.factory.Map(MapRequest{Memory: h, SizeBytes: 100, Access: HostRead})
	require.NoError(t, err)
	require.NoError(t, r.factory.Unmap(h, 0), "0 is the newest")
	requireError(t, r.factory.Unmap(h, reader.ID), device.CodeNotMapped)
	require.NoError(t, r.factory.Unmap(h, outer.ID))
	require.Equal(t, byte(7), r.bytes(t, h)[10])
	require.Zero(t, copies.live())
}

func TestMapRefusesBadInput(t *testing.T) {
	r, m, _ := backed(t)
	h := m.mustAlloc(t, 100)
	cases := map[string]struct {
		request MapRequest
		code    device.Code
		word    string
	}{
		"no size":      {MapRequest{Memory: h}, device.CodeInvalidSize, "size_bytes is 0"},
		"too long":     {MapRequest{Memory: h, OffsetBytes: 99, SizeBytes: 2}, device.CodeInvalidOffset, "offset_bytes 99"},
		"overflow":     {MapRequest{Memory: h, OffsetBytes: 1<<64 - 1, SizeBytes: 2}, device.CodeOverflow, "64 bits"},
		"access":       {MapRequest{Memory: h, SizeBytes: 1, Access: 3}, device.CodeInvalidArgument, "access 3"},
		"access below": {MapRequest{Memory: h, SizeBytes: 1, Access: -1}, device.CodeInvalidArgument, "access -1"},
		"to no end":    {MapRequest{Memory: h, OffsetBytes: 100, SizeBytes: MapToEnd}, device.CodeInvalidOffset, "offset_bytes 100"},
		"handle":       {MapRequest{Memory: 1, SizeBytes: 1}, device.CodeInvalidHandle, "memory"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := r.factory.Map(c.request)
			requireError(t, err, c.code, c.word)
		})
	}
	requireError(t, r.factory.Unmap(1, 0), device.CodeInvalidHandle, "memory")
	requireError(t, r.factory.Unmap(h, 0), device.CodeNotMapped, "mapping 0")
	r.factory.staging.takeMapCopy = takeMapCopy
	_, err := takeMapCopy(1 << 63)
	requireError(t, err, device.CodeOutOfMemory, "size_bytes 9223372036854775808")
	_, err = takeMapCopy(1 << 62)
	requireError(t, err, device.CodeOutOfMemory, "size_bytes 4611686018427387904")
	made, err := takeMapCopy(1 << 22)
	require.NoError(t, err)
	require.NotZero(t, made.Addr)
	made.Free()
}

// A mapping waits for queued work, and sees its results.
func TestMapSeesQueuedWork(t *testing.T) {
	r, m, copies := backed(t)
	h := m.mustAlloc(t, 64)
	s, held := r.heldStream(t)
	require.NoError(t, r.factory.FillAsync(Fill{Memory: h, SizeBytes: 64,
		Pattern: device.Pattern{Value: 9, WidthBytes: 1}}, s))
	got := make(chan Mapping)
	device.Go("map", func() {
		mapped, err := r.factory.Map(MapRequest{Memory: h, SizeBytes: 64})
		if err != nil {
			panic(err)
		}
		got <- mapped
	})
	held.Release()
	mapped := <-got
	require.Equal(t, byte(9), copies.bytes[mapped.HostAddr][63])
	require.NoError(t, r.factory.Unmap(h, mapped.ID))
}

// Whichever driver call fails, a failed Map leaves nothing mapped, a failed Unmap loses
// nothing, and no copy is left.
func TestAMappingThatFailsLeavesNothing(t *testing.T) {
	for n := 1; ; n++ {
		r := newRig(t, devicetest.Config{Backed: true})
		m, copies := r.manager(t, nil), copiesOn(r)
		h := m.mustAlloc(t, 64)
		r.write(t, h, counting(64))
		s, err := r.streams.CreateStream()
		require.NoError(t, err)
		require.NoError(t, r.factory.FillAsync(Fill{Memory: h, SizeBytes: 4,
			Pattern: device.Pattern{Value: 1, WidthBytes: 1}}, s))
		r.dev.FailNth(devicetest.Any, n, nil)
		mapped, err := r.factory.Map(MapRequest{Memory: h, SizeBytes: 64, Access: HostReadWrite})
		if err != nil {
			require.Equal(t, device.CodeDevice, device.CodeOf(err), "%v", err)
			require.Zero(t, copies.live(), "call %d", n)
			mapped, err = r.factory.Map(MapRequest{Memory: h, SizeBytes: 64, Access: HostReadWrite})
			require.NoError(t, err)
		}
		copies.bytes[mapped.HostAddr][63] = 0x55
		if err = r.factory.Unmap(h, mapped.ID); err != nil {
			require.Equal(t, device.CodeDevice, device.CodeOf(err), "%v", err)
			require.NoError(t, r.factory.Unmap(h, mapped.ID))
		}
		require.Equal(t, byte(0x55), r.bytes(t, h)[63])
		require.Zero(t, copies.live())
		require.NoError(t, r.factory.Free(h))
		left := r.dev.ClearFaults()
		r.finish(t)
		if left > 0 {
			require.Greater(t, n, 5)
			return
		}
	}
}

func TestForcedCloseEndsMappings(t *testing.T) {
	r, m, copies := backed(t)
	h := m.mustAlloc(t, 64)
	_, err := r.factory.Map(MapRequest{Memory: h, SizeBytes: 64, Access: HostReadWrite})
	require.NoError(t, err)
	requireError(t, m.Close(false), device.CodeBusy)
	require.NoError(t, m.Close(true))
	require.Zero(t, copies.live())
	requireError(t, r.factory.Unmap(h, 0), device.CodeInvalidHandle)
}

// Advanced calls accept the blocks of plain calls, and plain calls those of advanced
// ones: there is one object behind both.
func TestAdvancedCallsAcceptPlainBlocks(t *testing.T) {
	r, m, _ := backed(t)
	plain := m.mustAlloc(t, 100)
	mapped, err := r.factory.Map(MapRequest{Memory: plain, SizeBytes: 1})
	require.NoError(t, err)
	require.NoError(t, r.factory.SetUsageHint(plain, HintResident))
	adopted, err := m.Adopt(Adoption{Addr: foreignAddr, SizeBytes: 100})
	require.NoError(t, err)
	require.NoError(t, r.factory.Copy(NewTransfer(adopted, plain, 100)))
	require.NoError(t, r.factory.Unmap(plain, mapped.ID))
	require.EqualValues(t, 2, m.LiveByType()[General])
	require.NoError(t, r.factory.Free(adopted))
	require.NoError(t, r.factory.Free(plain))
}
