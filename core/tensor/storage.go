package tensor

import (
	"sync"

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
	// memory is where the memory was allocated; nil for memory of another owner.
	memory weights.Memory
	// hold keeps the memory awake until release is called; nil for memory that never sleeps.
	hold func() (release func(), err error)
	// record states that work of a stream uses the memory; nil for memory of another owner.
	record func(stream device.Stream) error
	// readOnly states that no element may be written.
	readOnly bool

	mu sync.Mutex
	// tensors counts the open tensors.
	tensors int
}

// newStorage allocates memory for the first tensor over it.
func newStorage(memory weights.Memory, size uint64, stream device.Stream) (*storage, error) {
	s := &storage{engine: memory.Engine(), bytes: size, tensors: 1, free: func() error { return nil }}
	if size == 0 {
		return s, nil
	}
	var err error
	if s.addr, err = memory.Alloc(size, stream); err != nil {
		return nil, err
	}
	s.free = func() error { return memory.Free(s.addr, size) }
	s.memory, s.hold = memory, memory.KeepAwake
	s.record = func(stream device.Stream) error { return memory.RecordStream(s.addr, size, stream) }
	return s, nil
}

// join counts another tensor. It fails if the last tensor has been closed.
func (s *storage) join() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tensors == 0 {
		return device.Errorf(device.CodeInvalidState, "tensor", "the tensor is closed").On(s.engine.ID())
	}
	s.tensors++
	return nil
}

// leave counts a closed tensor, and frees the memory after the last one. If that fails, the
// tensor stays open.
func (s *storage) leave() error {
	s.mu.Lock()
	s.tensors--
	isLast := s.tensors == 0
	s.mu.Unlock()
	if !isLast {
		return nil
	}
	err := s.free()
	if err != nil {
		s.mu.Lock()
		s.tensors++
		s.mu.Unlock()
	}
	return err
}
