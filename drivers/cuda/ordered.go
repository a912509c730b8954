package cuda

import (
	"fmt"
	"runtime"
	"slices"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/gpu/ranges"
	"ferrum_mem/internal/dl"
)

var _ device.StreamOrdered = (*openDevice)(nil)

// orderedPool is a memory pool of the vendor driver that only this package uses, and the
// stream in whose order memory is allocated from it and freed. Both are created on first
// use. The pool releases unused memory to the device at each wait for that stream. Access
// between contexts does not give another device access to the memory of the pool; only
// cuMemPoolSetAccess does.
type orderedPool struct {
	ctx *driverContext
	// newStream creates a stream of the device.
	newStream func(op string, priority int) (*stream, error)

	mu     sync.Mutex
	handle uintptr
	stream *stream
	// accessors are the other devices that may use the memory. make gives them access when it
	// creates the pool.
	accessors []int32
}

// inOrder runs body with the pool and its stream.
func (p *orderedPool) inOrder(op string, body func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stream == nil {
		s, err := p.newStream(op, 0)
		if err != nil {
			return err
		}
		p.stream = s
	}
	if p.handle == 0 {
		if err := p.make(op); err != nil {
			return err
		}
	}
	return body()
}

// make creates the pool and gives the guests access. On an error no pool remains. The
// caller holds p.mu.
func (p *orderedPool) make(op string) error {
	return p.ctx.within(op, func() error {
		var made uintptr
		properties := &poolProperties{kind: allocationPinned, location: location{locationDevice, p.ctx.cuDevice}}
		err := p.ctx.call(op, "", &p.ctx.api.poolCreate, dl.Pointer(&made), dl.Pointer(properties))
		runtime.KeepAlive(properties)
		if err != nil {
			return err
		}
		if err := p.open(op, made, p.accessors); err != nil {
			p.ctx.undo(op, "after other devices could not get access to it", &p.ctx.api.poolDestroy, made)
			return err
		}
		p.handle = made
		return nil
	})
}

// open allows devices to read and write the memory of a pool, including memory that is
// already allocated. The caller has the context current.
func (p *orderedPool) open(op string, pool uintptr, accessors []int32) error {
	if len(accessors) == 0 {
		return nil
	}
	given := make([]accessDescription, len(accessors))
	for i, accessor := range accessors {
		given[i] = accessDescription{location: location{locationDevice, accessor}, access: accessReadWrite}
	}
	err := p.ctx.call(op, fmt.Sprintf("devices %v", accessors), &p.ctx.api.poolAccess,
		pool, dl.Pointer(&given[0]), uintptr(len(given)))
	runtime.KeepAlive(given)
	return err
}

// allowAccess allows another device to use stream-ordered memory that is allocated now or later.
// The access remains while both devices are open, like access between contexts.
func (p *orderedPool) allowAccess(op string, accessor int32) error {
	if accessor == p.ctx.cuDevice {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.Contains(p.accessors, accessor) {
		return nil
	}
	if p.handle != 0 {
		err := p.ctx.within(op, func() error { return p.open(op, p.handle, []int32{accessor}) })
		if err != nil {
			return err
		}
	}
	p.accessors = append(p.accessors, accessor)
	return nil
}

// AllocOrdered waits until the pool's stream has allocated the memory. The stream has no
// other work.
func (o *openDevice) AllocOrdered(size uint64) (device.Addr, error) {
	const op = "cuda.alloc_ordered"
	if !o.info.StreamOrdered {
		return 0, o.noPools(op)
	}
	if err := o.startAllocation(op, size); err != nil {
		return 0, err
	}
	var base uint64
	what := fmt.Sprintf("size %d", size)
	err := o.orderedPool.inOrder(op, func() error {
		return o.ctx.within(op, func() error {
			err := o.ctx.call(op, what, &o.ctx.api.poolAlloc, dl.Pointer(&base), uintptr(size), o.orderedPool.handle, o.orderedPool.stream.handle)
			if err != nil {
				return err
			}
			err = o.ctx.call(op, what, &o.ctx.api.streamSynchronize, o.orderedPool.stream.handle)
			if err != nil {
				o.ctx.undo(op, what, &o.ctx.api.orderedFree, uintptr(base), o.orderedPool.stream.handle)
			}
			return err
		})
	})
	if err != nil {
		o.drop(1)
		return 0, err
	}
	o.ranges.Insert(span{Base: base, Size: size, Kind: ranges.Ordered})
	return device.Addr(base), nil
}

// FreeOrdered waits until the pool's stream has freed the memory. If only the wait fails,
// the memory is freed all the same, a little later.
func (o *openDevice) FreeOrdered(addr device.Addr, size uint64) error {
	const op = "cuda.free_ordered"
	if err := o.ctx.checkOpen(op); err != nil {
		return err
	}
	if !o.info.StreamOrdered {
		return o.noPools(op)
	}
	s, found := o.ranges.Remove(ranges.Ordered, uint64(addr), size)
	if !found {
		return o.ctx.errorf(device.CodeInvalidAddress, op,
			"address %#x, size %d: no allocated memory has this address and size", uint64(addr), size)
	}
	p := &o.orderedPool
	p.mu.Lock()
	defer p.mu.Unlock()
	err := o.ctx.releasing(op, func() error {
		what := fmt.Sprintf("address %#x, size %d", uint64(addr), size)
		if err := o.ctx.call(op, what, &o.ctx.api.orderedFree, uintptr(addr), p.stream.handle); err != nil {
			return err
		}
		_ = o.ctx.call(op, what, &o.ctx.api.streamSynchronize, p.stream.handle)
		return nil
	})
	if err != nil {
		o.ranges.Insert(s)
		return err
	}
	o.drop(1)
	return nil
}

func (o *openDevice) noPools(op string) error {
	return o.ctx.errorf(device.CodeUnsupported, op, "the device has no pools, or the driver lacks %v%v",
		o.driver.lacking[groupOrdered], o.driver.lacking[groupPools])
}

// end destroys the pool together with its device, which the caller is closing.
func (p *orderedPool) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.handle != 0 {
		p.ctx.owe("a pool", &p.ctx.api.poolDestroy, p.handle)
		p.handle = 0
	}
	if p.stream != nil {
		p.stream.end()
	}
}
