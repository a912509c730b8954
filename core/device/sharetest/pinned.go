package sharetest

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// Pinned tests a device with device.PinnedHost. The suite locks up to 4 allocations at once.
type Pinned struct {
	// SizeBytes is the size of most allocations; 0: the granularity of the device.
	SizeBytes uint64
	// Open returns a device that no other test uses.
	Open func(t testing.TB) device.Device
	// Refuse makes the system fail the next AllocPinned or FreePinned of a device, as
	// it does when memory is short, and Allow ends that; nil: the test cannot cause it.
	Refuse, Allow func(dev device.Device)
}

// Run runs the suite.
func (p Pinned) Run(t *testing.T) {
	for name, test := range map[string]func(*testing.T, pinnedSubject){
		"one memory": pinnedIsOneMemory, "refusals": pinnedRefusals, "threads": pinnedThreads, "ends": pinnedEnds,
	} {
		t.Run(name, func(t *testing.T) {
			test(t, p.open(t))
		})
	}
	if p.Refuse != nil {
		t.Run("faults", p.faults)
	}
}

// pinnedSubject is an open device and the size of its allocations.
type pinnedSubject struct {
	device.Device
	pinned device.PinnedHost
	size   uint64
}

func (p Pinned) open(t testing.TB) pinnedSubject {
	dev := p.Open(t)
	pinned, is := dev.(device.PinnedHost)
	require.True(t, is && dev.Info().PinnedHost, "the device has the capability and says so")
	size := p.SizeBytes
	if size == 0 {
		size = dev.Info().GranularityBytes
	}
	return pinnedSubject{dev, pinned, size}
}

// pinnedIsOneMemory: the process reads what the device writes, and the device reads
// what the process writes.
func pinnedIsOneMemory(t *testing.T, dev pinnedSubject) {
	pinned, size := dev.pinned, dev.size
	made, err := pinned.AllocPinned(size)
	require.NoError(t, err)
	other, err := pinned.AllocPinned(size)
	require.NoError(t, err)
	require.NotZero(t, made.HostAddr)
	for _, at := range []device.PinnedMemory{made, other} {
		require.Zero(t, uint64(at.Addr)%dev.Info().AlignmentBytes)
		require.Zero(t, uint64(at.HostAddr)%dev.Info().AlignmentBytes)
	}
	plain, plainSize := segment(t, dev, size)
	fill(t, dev, made.Addr, 3, size)
	fill(t, dev, other.Addr, 4, size)
	s, err := dev.NewStream()
	require.NoError(t, err)
	require.NoError(t, s.CopyFromHost(plain, made.HostAddr, size))
	require.NoError(t, s.Synchronize(device.Forever))
	requireBytes(t, dev, plain, 3, size)
	fill(t, dev, plain, 5, size)
	require.NoError(t, s.CopyToHost(made.HostAddr, plain, size))
	require.NoError(t, s.Synchronize(device.Forever))
	requireBytes(t, dev, made.Addr, 5, size)
	requireBytes(t, dev, other.Addr, 4, size)
	require.NoError(t, s.Copy(made.Addr, other.Addr, size))
	require.NoError(t, s.Synchronize(device.Forever))
	requireBytes(t, dev, made.Addr, 4, size)
	require.NoError(t, s.Close())
	require.NoError(t, pinned.FreePinned(made.Addr, size))
	requireBytes(t, dev, other.Addr, 4, size)
	require.NoError(t, pinned.FreePinned(other.Addr, size))
	require.NoError(t, dev.Free(plain, plainSize))
	closed(t, dev)
}

func pinnedRefusals(t *testing.T, dev pinnedSubject) {
	pinned, size := dev.pinned, dev.size
	for _, wrong := range []uint64{0, 1, size - 1, size + 1} {
		_, err := pinned.AllocPinned(wrong)
		requireCode(t, device.CodeInvalidSize, err)
	}
	_, err := pinned.AllocPinned(1 << 62)
	require.Contains(t, []device.Code{device.CodeOutOfMemory, device.CodeResourceExhausted}, device.CodeOf(err), "%v", err)
	made, err := pinned.AllocPinned(2 * size)
	require.NoError(t, err)
	plain, plainSize := segment(t, dev, size)
	for _, err := range []error{
		pinned.FreePinned(made.Addr, size), pinned.FreePinned(made.Addr, 4*size), pinned.FreePinned(made.Addr, 0),
		pinned.FreePinned(made.Addr+device.Addr(size), size), pinned.FreePinned(0, 2*size),
		pinned.FreePinned(plain, plainSize), dev.Free(made.Addr, 2*size),
	} {
		requireCode(t, device.CodeInvalidAddress, err)
	}
	// A rejected call has changed nothing.
	fill(t, dev, made.Addr, 6, 2*size)
	requireBytes(t, dev, made.Addr, 6, 2*size)
	requireCode(t, device.CodeInvalidAddress, dev.DefaultStream().Fill(made.Addr, one(6), 2*size+1))
	require.NoError(t, pinned.FreePinned(made.Addr, 2*size))
	requireCode(t, device.CodeInvalidAddress, pinned.FreePinned(made.Addr, 2*size))
	requireCode(t, device.CodeInvalidAddress, dev.DefaultStream().Fill(made.Addr, one(6), 1))
	require.NoError(t, dev.Free(plain, plainSize))
	closed(t, dev)
}

// pinnedThreads: threads allocate and free at once, and no two of them get the same
// memory.
func pinnedThreads(t *testing.T, dev pinnedSubject) {
	pinned, size := dev.pinned, dev.size
	var mu sync.Mutex
	held := map[device.Addr]bool{}
	var workers []<-chan struct{}
	wrong := make(chan error, 4)
	for range 4 {
		workers = append(workers, device.Go("pinned", func() {
			for range 20 {
				made, err := pinned.AllocPinned(size)
				if err != nil {
					wrong <- err
					return
				}
				mu.Lock()
				twice := held[made.Addr]
				held[made.Addr] = true
				mu.Unlock()
				if twice {
					wrong <- device.Errorf(device.CodeInternal, "sharetest", "%#x was given twice", uint64(made.Addr))
					return
				}
				mu.Lock()
				delete(held, made.Addr)
				err = pinned.FreePinned(made.Addr, size)
				mu.Unlock()
				if err != nil {
					wrong <- err
					return
				}
			}
		}))
	}
	for _, worker := range workers {
		<-worker
	}
	close(wrong)
	require.NoError(t, <-wrong)
	closed(t, dev)
}

func pinnedEnds(t *testing.T, dev pinnedSubject) {
	pinned, size := dev.pinned, dev.size
	made, err := pinned.AllocPinned(size)
	require.NoError(t, err)
	requireCode(t, device.CodeBusy, dev.Close())
	fill(t, dev, made.Addr, 1, size)
	require.NoError(t, pinned.FreePinned(made.Addr, size))
	closed(t, dev)
	_, err = pinned.AllocPinned(size)
	requireCode(t, device.CodeInvalidState, err)
	requireCode(t, device.CodeInvalidState, pinned.FreePinned(made.Addr, size))
}

// faults: a call that the system fails changes nothing.
func (p Pinned) faults(t *testing.T) {
	dev := p.open(t)
	pinned, size := dev.pinned, dev.size
	p.Refuse(dev.Device)
	_, err := pinned.AllocPinned(size)
	refused := []device.Code{device.CodeOutOfMemory, device.CodeResourceExhausted, device.CodeDevice}
	require.Truef(t, slices.Contains(refused, device.CodeOf(err)), "%v", err)
	p.Allow(dev.Device)
	made, err := pinned.AllocPinned(size)
	require.NoError(t, err)
	fill(t, dev, made.Addr, 2, size)
	p.Refuse(dev.Device)
	require.Error(t, pinned.FreePinned(made.Addr, size))
	p.Allow(dev.Device)
	requireBytes(t, dev, made.Addr, 2, size)
	require.NoError(t, pinned.FreePinned(made.Addr, size))
	closed(t, dev)
}
