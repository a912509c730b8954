package cpu

import (
	"encoding/binary"
	"unsafe"
)

// indexed is a request that reads indices from memory.
type indexed interface {
	// indices returns the address of the list.
	indices() uint64
	// outOfRange returns the error for the index at a place of a list.
	outOfRange(place int64, list uint64) error
}

// CopyElements copies elements of 1, 2, 4, 8 or 16 bytes from x to y, whatever their type is:
// a transpose, a slice, a concatenation. Strides count elements. x and y do not overlap, or have
// the same address and strides.
type CopyElements struct {
	Bytes    int64
	Rank     int64
	Dims     [Rank]int64
	X        uint64
	XStrides [Rank]int64
	Y        uint64
	YStrides [Rank]int64
}

func (*CopyElements) kernel() kernel { return kernelCopy }

func (r *CopyElements) address() unsafe.Pointer { return unsafe.Pointer(r) }

func (r *CopyElements) layout() (uintptr, []*uint64) {
	return unsafe.Sizeof(*r), []*uint64{&r.X, &r.Y}
}

func (r *CopyElements) clone() Request { c := *r; return &c }

func (r *CopyElements) check() error {
	switch r.Bytes {
	case 1, 2, 4, 8, 16:
		return checkBatch(r.Rank, &r.Dims)
	}
	return unsupported("copies of elements of %d bytes each", r.Bytes)
}

// Gather computes y[d, i] = x[d, indices[i]] for runs of bytes, where d is an index of the other
// dimensions. A negative index counts from the end. Strides count bytes. Indices are adjacent: I32
// if IsShort is 1, else I64. An index that is not in [-Length, Length) is CodeInvalidArgument. x
// and y do not overlap.
type Gather struct {
	Rank                    int64
	Dims                    [Rank]int64
	Count, Length, RunBytes int64

	X        uint64
	XStrides [Rank]int64
	XIndex   int64

	Indices uint64
	IsShort int64

	Y        uint64
	YStrides [Rank]int64
	YIndex   int64
}

func (*Gather) kernel() kernel { return kernelGather }

func (r *Gather) address() unsafe.Pointer { return unsafe.Pointer(r) }

func (r *Gather) layout() (uintptr, []*uint64) {
	return unsafe.Sizeof(*r), []*uint64{&r.X, &r.Indices, &r.Y}
}

func (r *Gather) clone() Request { c := *r; return &c }

func (r *Gather) check() error {
	if r.Count < 0 || r.Length < 0 || r.RunBytes < 0 {
		return invalid("Gather of %d runs out of %d", r.Count, r.Length)
	}
	return checkBatch(r.Rank, &r.Dims)
}

func (r *Gather) indices() uint64 { return r.Indices }

func (r *Gather) outOfRange(place int64, list uint64) error {
	var index int64
	if r.IsShort != 0 {
		index = int64(int32(binary.NativeEndian.Uint32(bytesAt(list+uint64(4*place), 4))))
	} else {
		index = int64(binary.NativeEndian.Uint64(bytesAt(list+uint64(8*place), 8)))
	}
	return invalid("the index %d of Gather, at place %d, is out of the %d elements", index, place, r.Length)
}

// bytesAt reads memory outside of the Go heap.
func bytesAt(address uint64, count int) []byte {
	return unsafe.Slice((*byte)(pointer(address)), count)
}

// pointer turns an address into a pointer. The memory is outside of the Go heap.
//
//go:noinline
func pointer(address uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }
