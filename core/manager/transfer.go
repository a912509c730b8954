package manager

import (
	"math/bits"

	"ferrum_mem/core/device"
)

// Transfer is a copy between two blocks, of one device or of two.
type Transfer struct {
	Src, Dst MemoryHandle
	// SizeBytes is not 0.
	SizeBytes      uint64
	SrcOffsetBytes uint64
	DstOffsetBytes uint64
}

// NewTransfer returns a copy from the start of one block to the start of another.
func NewTransfer(src, dst MemoryHandle, sizeBytes uint64) Transfer {
	return Transfer{Src: src, Dst: dst, SizeBytes: sizeBytes}
}

// WithSrcOffset returns the transfer with another offset in the source.
func (t Transfer) WithSrcOffset(bytes uint64) Transfer {
	t.SrcOffsetBytes = bytes
	return t
}

// WithDstOffset returns the transfer with another offset in the destination.
func (t Transfer) WithDstOffset(bytes uint64) Transfer {
	t.DstOffsetBytes = bytes
	return t
}

// Fill is a range of a block to fill with a pattern. Offset and size are
// multiples of the pattern's width, and the size is not 0.
type Fill struct {
	Memory      MemoryHandle
	OffsetBytes uint64
	SizeBytes   uint64
	Pattern     device.Pattern
}

// span is a range of a block, with the names of its parts for errors.
type span struct {
	offsetName string
	offset     uint64
	size       uint64
}

// within checks that the span lies in a block of that size.
func (s span) within(op string, blockBytes uint64) error {
	if s.size == 0 {
		return device.Errorf(device.CodeInvalidSize, op, "size_bytes is 0")
	}
	end, carry := bits.Add64(s.offset, s.size, 0)
	if carry != 0 {
		return device.Errorf(device.CodeOverflow, op,
			"%s %d + size_bytes %d does not fit 64 bits", s.offsetName, s.offset, s.size)
	}
	if end > blockBytes {
		return device.Errorf(device.CodeInvalidOffset, op,
			"%s %d with size_bytes %d ends outside of the block, which has %v",
			s.offsetName, s.offset, s.size, device.Size(blockBytes))
	}
	return nil
}

// check rejects an invalid pattern, and a range that is not made of whole patterns.
func (f Fill) check(op string, start device.Addr) error {
	width := uint64(f.Pattern.WidthBytes)
	switch f.Pattern.WidthBytes {
	case 1, 2, 4:
	default:
		return device.Errorf(device.CodeInvalidArgument, op,
			"pattern_bytes %d is not 1, 2 or 4", f.Pattern.WidthBytes)
	}
	if f.Pattern.Value>>(8*width) != 0 {
		return device.Errorf(device.CodeInvalidArgument, op,
			"pattern %#x does not fit pattern_bytes %d", f.Pattern.Value, width)
	}
	if f.SizeBytes%width != 0 {
		return device.Errorf(device.CodeInvalidSize, op,
			"size_bytes %d is not a multiple of pattern_bytes %d", f.SizeBytes, width)
	}
	if f.OffsetBytes%width != 0 || (uint64(start)+f.OffsetBytes)%width != 0 {
		return device.Errorf(device.CodeInvalidOffset, op,
			"offset_bytes %d in a block at %#x is not a multiple of pattern_bytes %d",
			f.OffsetBytes, uint64(start), width)
	}
	return nil
}
