package vmm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// 64 threads on one pool with its worker: each writes to its ranges and reads the same
// bytes again, under changing limits.
func TestThreadsOnOnePoolKeepTheirBytes(t *testing.T) {
	for _, backing := range []device.Backing{device.BackingMovable, device.BackingPrivate} {
		dev := devicetest.Open(devicetest.Config{TotalBytes: 64 * mib, Backed: true})
		e := engine.New(dev, engine.Options{})
		p, err := NewPool(e, Config{Name: "p", CapacityBytes: 96 * page, PageBytes: page, LimitBytes: 64 * page, Backing: backing})
		require.NoError(t, err)
		var wg sync.WaitGroup
		failures := make(chan error, 64)
		for thread := range 64 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				failures <- work(dev, p, rand.New(rand.NewPCG(1, uint64(thread))), byte(thread+1))
			}()
		}
		wg.Wait()
		close(failures)
		for err := range failures {
			require.NoError(t, err)
		}
		p.Physical().worker.stop()
		p.Physical().CompleteFrees()
		require.NoError(t, p.Physical().audit(dev))
		require.NoError(t, p.Close(true))
		require.Zero(t, dev.HeldBytes())
		require.Zero(t, dev.OpenEvents())
		require.NoError(t, e.Close())
	}
}

// work is one thread of TestThreadsOnOnePoolKeepTheirBytes.
func work(dev *devicetest.Device, p *Pool, random *rand.Rand, mark byte) error {
	for range 120 {
		first, pages := random.Uint64N(90), 1+random.Uint64N(4)
		addr, err := p.Alloc(first*page, pages*page)
		switch {
		case errors.Is(err, device.CodeAlreadyMapped), errors.Is(err, device.CodeOutOfPhysicalMemory):
			continue
		case err != nil:
			return err
		}
		if err := dev.FillNow(addr, mark, pages*page); err != nil {
			return err
		}
		switch random.IntN(12) {
		case 0:
			if err := p.SetLimit((48 + random.Uint64N(32)) * page); err != nil {
				return err
			}
		case 1:
			if _, err := p.Compact(); err != nil {
				return err
			}
		case 2:
			if err := p.Synchronize(); err != nil {
				return err
			}
		case 3:
			if _, err := p.Physical().ReleaseCached(2 * page); err != nil {
				return err
			}
		}
		if found, differs, err := dev.FirstOther(addr, mark, pages*page); err != nil || differs {
			return fmt.Errorf("%+v %w", found, err)
		}
		var stream device.Stream
		if random.IntN(2) == 0 {
			stream = dev.DefaultStream()
			if err := stream.HostFunction(func() {}); err != nil {
				return err
			}
		}
		if err := p.Free(first*page, pages*page, stream); err != nil {
			return err
		}
	}
	return nil
}
