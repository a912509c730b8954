package tensor

import (
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
)

// storage is memory that the tensors over it share.
type storage struct {
	engine *engine.Engine
	addr   device.Addr
	bytes  uint64
	// free returns the memory to its owner. If it fails, the memory is as before.
	free func() error
	// hold keeps the memory awake until release is called; nil for memory that never sleeps.
	hold func() (release func(), err error)
	// record states that work of a stream uses the memory; nil for memory of another owner.
	record func(stream device.Stream) error

	mu sync.Mutex
	// tensors counts the open tensors.
	tensors int
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
