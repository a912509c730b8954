package cuda

import (
	"fmt"
	"runtime"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// kernel is a kernel of a module.
type kernel struct {
	module *module
	name   string
	handle uintptr
	limits device.KernelLimits
}

var _ device.Kernel = (*kernel)(nil)

func (k *kernel) Limits() device.KernelLimits {
	limits := k.limits
	limits.ArgumentBytes = append([]int(nil), limits.ArgumentBytes...)
	return limits
}

// Launch checks everything that the vendor driver would reject, so that the error names the
// wrong argument.
func (k *kernel) Launch(on device.Stream, l device.Launch) error {
	const op = "cuda.launch"
	o := k.module.owner
	if on == nil {
		return o.ctx.errorf(device.CodeNullPointer, op, "stream: must not be nil")
	}
	s, ok := on.(*stream)
	if !ok || s == nil || s.owner != o {
		return o.ctx.errorf(device.CodeInvalidArgument, op, "stream: is not one of this device")
	}
	if err := k.check(op, l); err != nil {
		return err
	}
	k.module.using.RLock()
	defer k.module.using.RUnlock()
	if k.module.closed {
		return o.ctx.errorf(device.CodeInvalidState, op, "kernel %s: its module is closed", k.name)
	}
	return s.use(op, func() error { return k.launch(op, s, l) })
}

// launch queues a kernel whose arguments were checked. The caller has the context current
// and keeps the module loaded.
func (k *kernel) launch(op string, s *stream, l device.Launch) error {
	total := 0
	for _, argument := range l.Arguments {
		total += (len(argument) + 15) &^ 15
	}
	// One buffer holds all arguments; pointers has the start of each. Both are longer by
	// one item because a kernel may have no arguments.
	values, pointers := make([]byte, total+16), make([]uintptr, len(l.Arguments)+1)
	at := 0
	for i, argument := range l.Arguments {
		copy(values[at:], argument)
		pointers[i] = dl.Pointer(&values[at])
		at += (len(argument) + 15) &^ 15
	}
	what := fmt.Sprintf("kernel %s, grid %d x %d x %d, block %d x %d x %d, %v shared", k.name,
		l.Grid.X, l.Grid.Y, l.Grid.Z, l.Block.X, l.Block.Y, l.Block.Z, device.Size(l.SharedBytes))
	err := s.owner.ctx.call(op, what, &s.owner.ctx.api.launch, k.handle,
		uintptr(l.Grid.X), uintptr(l.Grid.Y), uintptr(l.Grid.Z),
		uintptr(l.Block.X), uintptr(l.Block.Y), uintptr(l.Block.Z),
		uintptr(l.SharedBytes), s.handle, dl.Pointer(&pointers[0]), 0)
	runtime.KeepAlive(values)
	runtime.KeepAlive(pointers)
	return err
}

// check compares a launch with the limits of the kernel.
func (k *kernel) check(op string, l device.Launch) error {
	o := k.module.owner
	for _, one := range []struct {
		what     string
		is, most uint32
	}{
		{"grid x", l.Grid.X, k.limits.Grid.X}, {"grid y", l.Grid.Y, k.limits.Grid.Y}, {"grid z", l.Grid.Z, k.limits.Grid.Z},
		{"block x", l.Block.X, k.limits.Block.X}, {"block y", l.Block.Y, k.limits.Block.Y}, {"block z", l.Block.Z, k.limits.Block.Z},
	} {
		if one.is == 0 || one.is > one.most {
			return o.ctx.errorf(device.CodeInvalidArgument, op, "kernel %s: %s %d: want 1 to %d", k.name, one.what, one.is, one.most)
		}
	}
	flat, most := uint64(l.Block.X)*uint64(l.Block.Y), uint64(k.limits.Threads)
	if flat > most || flat*uint64(l.Block.Z) > most {
		return o.ctx.errorf(device.CodeInvalidArgument, op, "kernel %s: block %d x %d x %d: at most %d threads are possible",
			k.name, l.Block.X, l.Block.Y, l.Block.Z, most)
	}
	if l.SharedBytes > k.limits.SharedBytes {
		return o.ctx.errorf(device.CodeInvalidArgument, op, "kernel %s: shared memory of %v, at most %v are possible",
			k.name, device.Size(l.SharedBytes), device.Size(k.limits.SharedBytes))
	}
	if len(l.Arguments) != len(k.limits.ArgumentBytes) {
		return o.ctx.errorf(device.CodeInvalidSize, op, "kernel %s: %s, and it takes %d",
			k.name, device.Count(len(l.Arguments), "argument"), len(k.limits.ArgumentBytes))
	}
	for i, argument := range l.Arguments {
		if len(argument) != k.limits.ArgumentBytes[i] {
			return o.ctx.errorf(device.CodeInvalidSize, op, "kernel %s: argument %d has %v, and it takes %d",
				k.name, i, device.Size(len(argument)), k.limits.ArgumentBytes[i])
		}
	}
	return nil
}
