package segments

import (
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/gate"
	"ferrum_mem/drivers/host/mapping"
)

const granule = 64 << 10

// capacity is a capacity that counts.
type capacity struct {
	bytes uint64
	held  atomic.Uint64
}

func (r *capacity) Hold(op string, size uint64) error {
	if r.held.Add(size) > r.bytes {
		r.held.Add(-size)
		return device.Errorf(device.CodeOutOfMemory, op, "size %d: no free memory", size)
	}
	return nil
}

func (r *capacity) ReleaseBytes(size uint64) { r.held.Add(-size) }

func (r *capacity) Bytes() uint64 { return r.bytes }

func (r *capacity) FreeBytes() uint64 { return r.bytes - r.held.Load() }

// rig is an allocator and the external memory beside it. refuse holds the error of the
// system, by call.
type rig struct {
	*Allocator
	foreign  *Foreign
	capacity *capacity
	refuse   map[string]error
	// gone are addresses that are not mapped any more.
	gone map[uint64]bool
}

func open(t testing.TB) *rig {
	t.Helper()
	r := &rig{capacity: &capacity{bytes: 1 << 30}, refuse: map[string]error{}, gone: map[uint64]bool{}}
	real := mapping.System()
	calls := &mapping.Calls{
		Reserve: func(size uint64) (uint64, error) {
			if err := r.refuse["reserve"]; err != nil {
				return 0, err
			}
			return real.Reserve(size)
		},
		Release: func(address, size uint64) error {
			if err := r.refuse["release"]; err != nil {
				return err
			}
			return real.Release(address, size)
		},
		Lock:       func(uint64, uint64) error { return r.refuse["lock"] },
		AdviseHuge: real.AdviseHuge,
		IsMapped:   func(address, _ uint64) bool { return !r.gone[address] },
	}
	id := device.ID{Backend: "cpu", Index: 2}
	gate := gate.New(id)
	r.Allocator = New(id, calls, granule, r.capacity, gate, func() (limit, locked uint64) { return 8 * granule, 6 * granule })
	r.foreign = NewForeign(id, calls, gate)
	return r
}

// counters returns the counters that a failed call must leave unchanged.
func (r *rig) counters() (string, uint64, int) {
	return r.gate.Left(), r.capacity.held.Load(), len(r.segments.list)
}

func requireCode(t require.TestingT, code device.Code, err error, words ...string) {
	require.Error(t, err)
	require.Equal(t, code, device.CodeOf(err), err.Error())
	var typed *device.Error
	require.ErrorAs(t, err, &typed)
	require.Equal(t, "cpu:2", typed.Device)
	for _, word := range words {
		require.ErrorContains(t, err, word)
	}
}

// A call that the system rejects changes nothing, and returns the reason.
func TestARejectedCallChangesNothing(t *testing.T) {
	r := open(t)
	addr, err := r.Alloc(2 * granule)
	require.NoError(t, err)
	for _, c := range []struct {
		refused string
		err     syscall.Errno
		call    func() error
		code    device.Code
		words   string
	}{
		{"reserve", syscall.ENOMEM, func() error { _, err := r.Alloc(granule); return err }, device.CodeOutOfMemory, "did not map it"},
		{"reserve", syscall.EPERM, func() error { _, err := r.Alloc(granule); return err }, device.CodeMappingFailed, "did not map it"},
		{"reserve", syscall.ENOMEM, func() error { _, err := r.AllocPinned(granule); return err }, device.CodeOutOfMemory, "did not map it"},
		{"lock", syscall.EPERM, func() error { _, err := r.AllocPinned(granule); return err }, device.CodeResourceExhausted, "RLIMIT_MEMLOCK"},
		{"lock", syscall.EAGAIN, func() error { _, err := r.AllocPinned(3 * granule); return err }, device.CodeResourceExhausted, "of which 384 KiB are in use"},
		{"lock", syscall.EAGAIN, func() error { _, err := r.AllocPinned(granule); return err }, device.CodeOutOfMemory, "did not lock it"},
		{"release", syscall.EINVAL, func() error { return r.Free(addr, 2*granule) }, device.CodeUnmappingFailed, "did not unmap it"},
	} {
		left, held, count := r.counters()
		r.refuse[c.refused] = c.err
		err := c.call()
		requireCode(t, c.code, err, c.words)
		require.ErrorIs(t, err, c.err)
		delete(r.refuse, c.refused)
		nowLeft, nowHeld, nowCount := r.counters()
		require.Equal(t, []any{left, held, count}, []any{nowLeft, nowHeld, nowCount}, "%s", c.refused)
	}
	for _, size := range []uint64{0, granule - 1, granule + 1} {
		_, err := r.Alloc(size)
		requireCode(t, device.CodeInvalidSize, err, "want a multiple of 65536")
	}
	_, err = r.Alloc(2 << 30)
	requireCode(t, device.CodeOutOfMemory, device.About(r.id, err))
	require.NoError(t, r.Free(addr, 2*granule))
	require.NoError(t, r.gate.Close("close"))
	_, err = r.Alloc(granule)
	requireCode(t, device.CodeInvalidState, err)
}
