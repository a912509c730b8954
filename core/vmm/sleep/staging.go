package sleep

import "sync/atomic"

const (
	// lockedBuffers is the number of page-locked staging buffers of a lane: its thread
	// copies from or to one while the device uses the other.
	lockedBuffers = 2
	// maxStaging bounds the staging memory of a transfer.
	maxStaging = 128 << 20
)

// staged counts the staging memory of all transfers.
var staged atomic.Int64

// StagingBytes returns the size of the staging memory that all sleeps and wakes of the
// process hold now. It is host memory. The sizes of kept contents do not include it.
func StagingBytes() uint64 { return uint64(staged.Load()) }

// staging has the buffers of a lane between the device and pageable memory or a file.
type staging struct {
	keepers *Keepers
	// each is the size of a buffer.
	each uint64
	// made counts the buffers that exist, most bounds them. spare has those that no copy
	// uses.
	made, most int
	spare      []*Block
	// asked states that page-locked memory was requested, locked that it was provided.
	asked, locked bool
}

// bufferBytes returns the size of a staging buffer of a transfer: that of its longest
// chunk, within the bounds.
func (k *Keepers) bufferBytes(longest uint64, lanes int) uint64 {
	const unit = 1 << 20
	share := uint64(maxStaging/(lockedBuffers*lanes)) / unit * unit
	return min(longest, k.BufferBytes, share)
}

// hasPinned reports whether the buffers are page-locked. The first call allocates one.
func (s *staging) hasPinned() bool {
	if !s.asked {
		s.asked, s.most = true, 1
		if s.keepers.TakePinned != nil && s.add(s.keepers.TakePinned) == nil {
			s.locked, s.most = true, lockedBuffers
		}
	}
	return s.locked
}

// grow allocates a spare buffer if there is none and more are possible. It fails only if
// the lane has no buffer at all.
func (s *staging) grow() error {
	take := s.keepers.TakeBlock
	if s.hasPinned() {
		take = s.keepers.TakePinned
	}
	if len(s.spare) > 0 || s.made == s.most {
		return nil
	}
	err := s.add(take)
	if err != nil && s.made > 0 {
		s.most, err = s.made, nil
	}
	return err
}

func (s *staging) add(take func(uint64) (*Block, error)) error {
	b, err := take(s.each)
	if err != nil {
		return err
	}
	staged.Add(int64(len(b.Bytes)))
	s.spare = append(s.spare, b)
	s.made++
	return nil
}

// freeStaged frees a staging buffer.
func freeStaged(b *Block) error {
	size := int64(len(b.Bytes))
	err := b.Free()
	if err == nil {
		staged.Add(-size)
	}
	return err
}
