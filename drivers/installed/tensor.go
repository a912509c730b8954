package installed

import (
	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// Tensor is an input or an output of a run. Elements are in the order of the shape without
// gaps, and begin at a multiple of 8 bytes.
type Tensor struct {
	Name string
	// DType is a ferrum_dtype.
	DType    uint32
	Shape    []int64
	Elements []byte
}

// wrap makes a tensor of the library over the elements on an open device.
func (t *Tensor) wrap(l *Library, id uint64) (handle uint64, err error) {
	if len(t.Shape) > rankMax || len(t.Elements) == 0 {
		return 0, device.Errorf(device.CodeInvalidArgument, "installed.tensor", "input %q: expected elements, and at most %d dimensions", t.Name, rankMax)
	}
	desc := newStruct[tensorDesc]()
	desc.dtype, desc.rank, desc.flags = t.DType, uint32(len(t.Shape)), contiguous|readOnly
	copy(desc.shape[:], t.Shape)
	out := new(uint64)
	at := dl.Pointer(&t.Elements[0])
	err = l.call(&l.tensorWrap, uintptr(id), at, uintptr(len(t.Elements)), dl.Pointer(desc), 0, 0, dl.Pointer(out))
	return *out, err
}

// read copies a tensor of the library.
func (l *Library) read(n namedTensor) (*Tensor, error) {
	desc := newStruct[tensorDesc]()
	if err := l.call(&l.tensorDescribe, uintptr(n.tensor), dl.Pointer(desc)); err != nil {
		return nil, err
	}
	t := &Tensor{Name: dl.Constant(n.name), DType: desc.dtype, Elements: make([]byte, desc.sizeBytes)}
	t.Shape = append(t.Shape, desc.shape[:min(desc.rank, rankMax)]...)
	if len(t.Elements) == 0 {
		return t, nil
	}
	return t, l.call(&l.tensorRead, uintptr(n.tensor), dl.Pointer(&t.Elements[0]), uintptr(len(t.Elements)), 0)
}
