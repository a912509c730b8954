package tensor

import (
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/weights"
)

// storage is memory that the tensors over it share.
type storage struct {
	engine *engine.Engine
	addr   device.Addr
	bytes  uint64
	// free returns the memory to its owner. If it fails, the memory is as before.
	free func() error
	// sleeper identifies what hold keeps awake; nil for memory of another owner.
	sleeper any
	// hold keeps the memory awake until release is called; nil for memory that never sleeps.
	hold func() (release func(), err error)
	// record states that work of a stream uses the memory; nil for memory of another owner.
	record func(stream device.Stream) error
	// readOnly states that no element may be written.
	readOnly bool

	// tensors counts the open tensors and uses. Once it is 0, no tensor is added.
	tensors atomic.Int64
}

// newStorage allocates memory for the first tensor over it.
func newStorage(memory weights.Memory, size uint64, stream device.Stream) (*storage, error) {
	s := &storage{engine: memory.Engine(), bytes: size, free: func() error { return nil }}
	s.tensors.Store(1)
	if size == 0 {
		return s, nil
	}
	var err error
	if s.addr, err = memory.Alloc(size, stream); err != nil {
		return nil, err
	}
	s.free = func() error { return memory.Free(s.addr, size) }
	s.sleeper, s.hold = memory.Sleeper(), memory.KeepAwake
	s.record = func(stream device.Stream) error { return memory.RecordStream(s.addr, size, stream) }
	return s, nil
}

// join counts another tensor. It fails if the last tensor has been closed.
func (s *storage) join() error {
	for {
		open := s.tensors.Load()
		if open == 0 {
			return device.Errorf(device.CodeInvalidState, "tensor", "the tensor is closed").On(s.engine.ID())
		}
		if s.tensors.CompareAndSwap(open, open+1) {
			return nil
		}
	}
}

// leave counts a closed tensor, and frees the memory after the last one. If that fails, the
// tensor stays open.
func (s *storage) leave() error {
	if s.tensors.Add(-1) > 0 {
		return nil
	}
	err := s.free()
	if err != nil {
		s.tensors.Add(1)
	}
	return err
}
