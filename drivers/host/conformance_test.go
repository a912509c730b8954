package host

import (
	"sync"
	"syscall"
	"testing"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/sharetest"
	"ferrum_mem/drivers/host/mapping"
)

// shortOfMemory are the calls of a system that, on demand, locks no more memory and does
// not release locked memory.
type shortOfMemory struct {
	mu     sync.Mutex
	short  bool
	locked int
}

func (s *shortOfMemory) be(short bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.short = short
}

func (s *shortOfMemory) mapper() mapping.Calls {
	real := mapping.System()
	m := real
	m.Lock = func(address, size uint64) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.short {
			return syscall.EAGAIN
		}
		s.locked++
		return real.Lock(address, size)
	}
	m.Release = func(address, size uint64) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.short && s.locked > 0 {
			return syscall.ENOMEM
		}
		return real.Release(address, size)
	}
	return m
}

func TestPinnedMemoryConforms(t *testing.T) {
	system := &shortOfMemory{}
	sharetest.Pinned{
		Open: func(t testing.TB) device.Device {
			system = &shortOfMemory{}
			return openForced(t, system.mapper())
		},
		Refuse: func(device.Device) { system.be(true) },
		Allow:  func(device.Device) { system.be(false) },
	}.Run(t)
}

func TestAdoptedMemoryConforms(t *testing.T) {
	sharetest.Adopted{
		Open: func(t testing.TB) device.Device { return openOne(t) },
		Theirs: func(t testing.TB, _ device.Device, size uint64) device.Addr {
			host, _ := hostBuffer(t, size)
			return device.Addr(host)
		},
		Watches: true,
	}.Run(t)
}

func TestLinkedMemoryConforms(t *testing.T) {
	sharetest.Linked{
		Open: func(t testing.TB) (a, b device.Device) {
			both := openSome(t, Config{Devices: 2, MemoryBytes: 1 << 30})
			return both[0], both[1]
		},
		Watches: true,
	}.Run(t)
}

// worker is an external queue with one goroutine that runs its work.
type worker struct{ queue chan func() }

func (w *worker) Stream() device.ForeignStream {
	return device.ForeignStream{Enqueue: func(work func()) error {
		w.queue <- work
		return nil
	}}
}

func (w *worker) Queue(work func()) { w.queue <- work }

func TestAdoptedStreamsConform(t *testing.T) {
	sharetest.AdoptedStream{
		Open: func(t testing.TB) device.Device { return openOne(t) },
		Theirs: func(t testing.TB, _ device.Device) sharetest.Owner {
			w := &worker{make(chan func(), 64)}
			done := device.Go("theirs", func() {
				for work := range w.queue {
					work()
				}
			})
			t.Cleanup(func() {
				close(w.queue)
				<-done
			})
			return w
		},
		Wrong: []device.ForeignStream{{Native: 5}},
	}.Run(t)
}

func TestSystemPressureConforms(t *testing.T) {
	sharetest.SystemPressure(t, openOne(t))
}
