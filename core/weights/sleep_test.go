package weights_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm"
	"ferrum_mem/core/weights"
)

// hiddenPages is a hidden device with address space and pages.
type hiddenPages struct {
	*hidden
	device.VirtualMemory
}

func (d *hiddenPages) Info() device.Info {
	info := d.hidden.Info()
	info.VirtualMemory = true
	return info
}

// A Sleep of the memory of a load waits from before its first allocation until its end, also while no
// copy is queued. No byte of a tensor is lost.
func TestASleepWaitsForALoad(t *testing.T) {
	m := newModel(t, 3<<20, 100, 1<<20)
	d := openHidden(t, true)
	inner := d.Device
	e := engine.New(&hiddenPages{hidden: d, VirtualMemory: inner.(device.VirtualMemory)}, engine.Options{})
	p, err := vmm.NewPool(e, vmm.Config{Name: "pages", CapacityBytes: 64 << 20, PageBytes: 1 << 20})
	require.NoError(t, err)
	for n := 1; ; n++ {
		s := m.open(t)
		slept := make(chan error, 1)
		reads := weights.OnRead(s, n, func() {
			_, err := p.Sleep(context.Background(), vmm.SleepRequest{Tag: "weights", NoWait: true, Backing: vmm.SleepDiscard})
			assert.ErrorIs(t, err, device.CodeTimeout, "read %d", n)
			go func() {
				_, err := p.Sleep(context.Background(), vmm.SleepRequest{Tag: "weights"})
				slept <- err
			}()
			time.Sleep(time.Millisecond)
		})
		set, err := s.Load(context.Background(), all(t, s), weights.LoadOptions{Memory: weights.InRange(p, 0, "weights"), Threads: 2, StagingBytes: 1 << 20})
		require.NoError(t, err)
		if reads() >= n {
			require.NoError(t, <-slept)
			_, err := p.Wake(context.Background(), vmm.WakeRequest{})
			require.NoError(t, err)
		}
		for _, of := range set.Tensors {
			require.True(t, bytes.Equal(m.bytes[of.Name], copied(t, inner, of)), "%s, read %d", of.Name, n)
		}
		require.NoError(t, set.Free())
		if reads() < n {
			break
		}
	}
	require.NoError(t, p.Close(false))
	require.NoError(t, e.Close())
}

// A load into memory that is asleep fails, and what it has begun ends.
func TestALoadIntoASleepingTag(t *testing.T) {
	m := newModel(t, 1<<20)
	e := newHost(t)
	p, err := vmm.NewPool(e, vmm.Config{Name: "pages", CapacityBytes: 64 << 20, PageBytes: 1 << 20})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close(true)) }()
	_, err = p.AllocTagged(vmm.AllocRequest{OffsetBytes: 32 << 20, SizeBytes: 1 << 20, Tag: "weights"})
	require.NoError(t, err)
	_, err = p.Sleep(context.Background(), vmm.SleepRequest{Tag: "weights"})
	require.NoError(t, err)
	s := m.open(t)
	_, err = s.Load(context.Background(), all(t, s), weights.LoadOptions{Memory: weights.InRange(p, 0, "weights")})
	require.ErrorIs(t, err, device.CodeInvalidState)
	_, err = p.Wake(context.Background(), vmm.WakeRequest{})
	require.NoError(t, err)
	set, err := s.Load(context.Background(), all(t, s), weights.LoadOptions{Memory: weights.InRange(p, 0, "weights")})
	require.NoError(t, err)
	m.assertLoaded(t, set)
	require.NoError(t, set.Free())
}
