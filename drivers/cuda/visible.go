package cuda

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

var _ device.HostVisible = (*openDevice)(nil)

// firstOtherText is the kernel that searches memory on the device.
//
//go:embed kernels/first_other.ptx
var firstOtherText []byte

const (
	firstOtherName = "ferrum_first_other"
	// firstOtherBlock and firstOtherBlocks are the size of its grid: enough to fill a large
	// device.
	firstOtherBlock  = 256
	firstOtherBlocks = 2048
	// firstOtherWord is the number of bytes that one of its threads reads at a time.
	firstOtherWord = 16
)

const (
	// lookBytes is the number of bytes that are copied to the host for one step of the
	// search.
	lookBytes = 1 << 20
	// kernelBytes is the size from which on the device searches. A launch and the copy of
	// its result take as long as the copy of so many bytes.
	kernelBytes = 64 << 10
)

// searcher has the objects that a search of a device's memory needs. It is created on first
// use, and locked while it is used.
type searcher struct {
	ctx   *driverContext
	scrub *scrubber
	// compiles states whether the device can run kernels. load loads a module of them.
	compiles bool
	load     func(op string, code []byte) (*module, error)

	mu sync.Mutex
	// copied is the host buffer for bytes of the device. The vendor driver may still write
	// to it after a failed wait, so it is never freed.
	copied []byte
	// settled states that the kernel is loaded or that the device cannot have one.
	settled bool
	module  *module
	kernel  *kernel
	// result is the device memory to which the kernel writes. found is the copy on the
	// host.
	result uint64
	found  [8]byte
}

// FillNow fills memory on the driver's own stream and waits for the fill.
func (o *openDevice) FillNow(addr device.Addr, value byte, size uint64) error {
	const op = "cuda.fill_now"
	if err := o.check(op, "address", addr, size, device.AccessReadWrite); err != nil {
		return err
	}
	what := fmt.Sprintf("address %#x, size %d", uint64(addr), size)
	return o.ctx.within(op, func() error {
		err := o.ctx.call(op, what, &o.ctx.api.fill8, uintptr(addr), uintptr(value), uintptr(size), o.scrub.stream.handle)
		if err != nil {
			return err
		}
		return o.scrub.settle(op, what)
	})
}

// scrubber is a stream of this driver. It fills pages with zeros, and fills and searches
// memory without regard to any other stream.
type scrubber struct {
	ctx    *driverContext
	stream *stream
}

// settle waits for the driver's own stream. If the wait fails it is owed before any other
// call: the memory in use may be freed or unmapped next, and work that still writes there
// would break the context.
func (s *scrubber) settle(op, what string) error {
	err := s.ctx.call(op, what, &s.ctx.api.streamSynchronize, s.stream.handle)
	if err != nil && s.ctx.lost.Load() == nil {
		s.ctx.finishFirst(op, what, &s.ctx.api.streamSynchronize, s.stream.handle)
	}
	return err
}

// FirstOther searches for the first byte that differs from value. A kernel searches large
// ranges. Small ranges are copied to the host, and all ranges if the device cannot run the
// kernel.
func (o *openDevice) FirstOther(addr device.Addr, value byte, size uint64) (device.Difference, bool, error) {
	const op = "cuda.first_other"
	if err := o.check(op, "address", addr, size, device.AccessRead); err != nil {
		return device.Difference{}, false, err
	}
	l := &o.looker
	l.mu.Lock()
	defer l.mu.Unlock()
	if size >= kernelBytes {
		if err := o.looker.prepareKernel(op); err != nil {
			return device.Difference{}, false, err
		}
	}
	if size >= kernelBytes && l.kernel != nil {
		return o.looker.firstOtherThere(op, uint64(addr), value, size)
	}
	return o.looker.firstOtherHere(op, uint64(addr), value, size)
}

// firstOtherHere searches copies on the host, one part after the other.
func (l *searcher) firstOtherHere(op string, addr uint64, value byte, size uint64) (device.Difference, bool, error) {
	for done := uint64(0); done < size; done += lookBytes {
		part, err := l.copyHere(op, addr+done, min(size-done, lookBytes))
		if err != nil {
			return device.Difference{}, false, err
		}
		// All bytes are equal if each byte equals the next one.
		if part[0] == value && bytes.Equal(part[1:], part[:len(part)-1]) {
			continue
		}
		for i, found := range part {
			if found != value {
				return device.Difference{OffsetBytes: done + uint64(i), Found: found}, true, nil
			}
		}
	}
	return device.Difference{}, false, nil
}

// copyHere copies at most lookBytes. The caller holds searcher.mu, and the searcher owns the
// result.
func (l *searcher) copyHere(op string, addr, size uint64) ([]byte, error) {
	if l.copied == nil {
		l.copied = make([]byte, lookBytes)
	}
	what := fmt.Sprintf("address %#x, size %d", addr, size)
	err := l.ctx.within(op, func() error {
		err := l.ctx.call(op, what, &l.ctx.api.copyOut, dl.Pointer(&l.copied[0]), uintptr(addr), uintptr(size), l.scrub.stream.handle)
		if err != nil {
			return err
		}
		return l.scrub.settle(op, what)
	})
	return l.copied[:size], err
}

// prepareKernel loads the kernel once. It returns no error if the device cannot run the
// kernel or has no memory for it now: the search then uses copies. The caller holds
// searcher.mu.
func (l *searcher) prepareKernel(op string) error {
	if l.settled || !l.compiles {
		return nil
	}
	err := l.loadKernel(op)
	if err != nil {
		l.dropKernel()
	}
	if l.ctx.lost.Load() != nil {
		return err
	}
	l.settled = device.CodeOf(err) != device.CodeOutOfMemory
	return nil
}

func (l *searcher) loadKernel(op string) (err error) {
	if l.module, err = l.load(op, firstOtherText); err != nil {
		return err
	}
	if l.kernel, err = l.module.kernel(op, firstOtherName); err != nil {
		return err
	}
	return l.ctx.within(op, func() error {
		return l.ctx.call(op, "result of a kernel", &l.ctx.api.memoryAlloc, dl.Pointer(&l.result), uintptr(len(l.found)))
	})
}

// dropKernel releases the kernel's module and memory. The caller holds searcher.mu, or closes
// the device.
func (l *searcher) dropKernel() {
	if l.result != 0 {
		l.ctx.owe("result of a kernel", &l.ctx.api.memoryFree, uintptr(l.result))
	}
	if l.module != nil {
		l.ctx.owe(firstOtherName, &l.ctx.api.moduleUnload, l.module.handle)
	}
	l.module, l.kernel, l.result = nil, nil, 0
}

// firstOtherThere searches with the kernel. The caller holds searcher.mu.
func (l *searcher) firstOtherThere(op string, addr uint64, value byte, size uint64) (device.Difference, bool, error) {
	number := func(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }
	blocks := min(size/(firstOtherBlock*firstOtherWord)+1, firstOtherBlocks)
	run := device.Launch{
		Grid: device.Extent{X: uint32(blocks), Y: 1, Z: 1}, Block: device.Extent{X: firstOtherBlock, Y: 1, Z: 1},
		Arguments: [][]byte{
			number(addr), number(size), binary.LittleEndian.AppendUint32(nil, uint32(value)), number(l.result),
		},
	}
	if err := l.kernel.check(op, run); err != nil {
		return device.Difference{}, false, err
	}
	what := fmt.Sprintf("address %#x, size %d", addr, size)
	err := l.ctx.within(op, func() error {
		queued := l.ctx.call(op, what, &l.ctx.api.fill8, uintptr(l.result), math.MaxUint8, uintptr(len(l.found)), l.scrub.stream.handle)
		if queued == nil {
			queued = l.kernel.launch(op, l.scrub.stream, run)
		}
		if queued == nil {
			queued = l.ctx.call(op, what, &l.ctx.api.copyOut, dl.Pointer(&l.found), uintptr(l.result), uintptr(len(l.found)), l.scrub.stream.handle)
		}
		if err := l.scrub.settle(op, what); queued == nil {
			queued = err
		}
		return queued
	})
	first := binary.LittleEndian.Uint64(l.found[:])
	if err != nil || first == math.MaxUint64 {
		return device.Difference{}, false, err
	}
	found, err := l.copyHere(op, addr+first, 1)
	if err != nil {
		return device.Difference{}, false, err
	}
	return device.Difference{OffsetBytes: first, Found: found[0]}, true, nil
}
