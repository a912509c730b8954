package library

import (
	"math/bits"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/strided"
	"ferrum_mem/core/tensor"
)

// DLPack is a struct of DLPack in the C ABI.
type DLPack struct {
	Versioned bool
	Managed   device.HostAddr
}

// DLContent is the content of a struct of DLPack.
type DLContent struct {
	// Data is the address of the element whose indices are all 0.
	Data device.Addr
	// Device and Index are the numbers of the device.
	Device, Index int32
	// Code, Bits and Lanes are the type.
	Code, Bits uint8
	Lanes      uint16
	// Padded states that each element of less than 8 bits has a byte of its own.
	Padded, ReadOnly bool
	Shape            []int64
	// Strides is nil for contiguous elements.
	Strides []int64
}

// Numbers of devices in DLPack.
const (
	dlCPU         = 1
	dlCUDA        = 2
	dlCUDAHost    = 3
	dlROCm        = 10
	dlROCmHost    = 11
	dlCUDAManaged = 13
)

// dlType is a type of this library with its numbers in DLPack.
type dlType struct {
	kind       dtype.DType
	code, bits uint8
}

// dlTypes are the types that DLPack has.
var dlTypes = [...]dlType{
	{dtype.I8, 0, 8}, {dtype.I16, 0, 16}, {dtype.I32, 0, 32}, {dtype.I64, 0, 64}, {dtype.I4, 0, 4},
	{dtype.U8, 1, 8}, {dtype.U16, 1, 16}, {dtype.U32, 1, 32}, {dtype.U64, 1, 64}, {dtype.U4, 1, 4},
	{dtype.F16, 2, 16}, {dtype.F32, 2, 32}, {dtype.F64, 2, 64}, {dtype.BF16, 4, 16}, {dtype.C64, 5, 64}, {dtype.Bool, 6, 8},
	{dtype.F8E4M3, 10, 8}, {dtype.F8E4M3FNUZ, 11, 8}, {dtype.F8E5M2, 12, 8}, {dtype.F8E5M2FNUZ, 13, 8}, {dtype.F8E8M0, 14, 8},
	{dtype.F6E2M3, 15, 6}, {dtype.F6E3M2, 16, 6}, {dtype.F4E2M1, 17, 4},
}

// kind finds the type of the elements.
func (v *DLContent) kind(op string) (dtype.DType, error) {
	if v.Lanes == 1 && !(v.Padded && v.Bits < 8) {
		for _, of := range dlTypes {
			if of.code == v.Code && of.bits == v.Bits {
				return of.kind, nil
			}
		}
	}
	return 0, device.Errorf(device.CodeUnsupported, op, "dlpack->managed has elements of code %d with %d bits in %d lanes, padded %t: no type of this library", v.Code, v.Bits, v.Lanes, v.Padded)
}

// DLPackStructs makes and reads the structs of DLPack, which are outside of Go's memory.
type DLPackStructs interface {
	// Make makes a struct with that content. Its deleter calls Tensors.EndExport with the handle.
	// Errors: CodeResourceExhausted.
	Make(handle uint64, v DLContent, versioned bool) (device.HostAddr, error)
	// Read returns the content of a struct, and a function that calls its deleter. Errors:
	// CodeInvalidArgument, CodeUnsupported, CodeNullPointer.
	Read(given DLPack) (v DLContent, release func(), err error)
}

// ToDLPack exports another tensor over the memory to DLPack. Errors: CodeUnsupported, CodeBusy.
func (t *Tensor) ToDLPack(versioned bool) (DLPack, error) {
	const op = "tensor.to_dlpack"
	if err := t.usable(op); err != nil {
		return DLPack{}, err
	}
	v, err := t.dlContent(op, versioned)
	if err != nil {
		return DLPack{}, on(err, t.home.device.Engine)
	}
	// Memory that sleeps is not exported. Afterwards its receiver has to know.
	release, err := t.tensor.Hold()
	if err != nil {
		return DLPack{}, t.outcome(op, 0, err)
	}
	defer release()
	same, err := t.library.Tensors.insert(op, t.home, true, t.tensor.Same)
	if err != nil {
		return DLPack{}, err
	}
	managed, err := t.library.options.DLPack.Make(same.id(), v, versioned)
	if err != nil {
		t.library.Tensors.EndExport(same.id())
		return DLPack{}, on(err, t.home.device.Engine)
	}
	return DLPack{Versioned: versioned, Managed: managed}, nil
}

func (t *Tensor) dlContent(op string, versioned bool) (DLContent, error) {
	kind, layout, id := t.tensor.Type(), t.tensor.Layout(), t.home.device.Engine.ID()
	at := slices.IndexFunc(dlTypes[:], func(of dlType) bool { return of.kind == kind })
	switch {
	case t.tensor.Packing() != "":
		return DLContent{}, device.Errorf(device.CodeUnsupported, op, "the tensor is packed as %q, which only the engine that packed it can read", t.tensor.Packing())
	case at < 0:
		return DLContent{}, device.Errorf(device.CodeUnsupported, op, "DLPack has no type for elements of %s", kind)
	case t.tensor.ReadOnly() && !versioned:
		return DLContent{}, device.Errorf(device.CodeUnsupported, op, "the tensor is read-only, which the old form of DLPack cannot state: want is_versioned 1")
	}
	v := DLContent{
		Code: dlTypes[at].code, Bits: dlTypes[at].bits, Lanes: 1, ReadOnly: t.tensor.ReadOnly(), Shape: layout.Shape(), Strides: layout.Strides(), Index: int32(id.Index),
	}
	switch id.Backend {
	case "cpu":
		v.Device, v.Index = dlCPU, 0
	case "cuda":
		v.Device = dlCUDA
	case "rocm":
		v.Device = dlROCm
	default:
		return DLContent{}, device.Errorf(device.CodeUnsupported, op, "DLPack has no addresses of memory of %s", id.Backend)
	}
	if layout.Elements() > 0 {
		v.Data = t.tensor.Addr()
	}
	return v, nil
}

// EndExport ends the tensor of a struct of DLPack. It has no effect if the tensor has ended by force.
func (x *Tensors) EndExport(handle uint64) {
	t, err := x.library.registry.tensors.Get(handle)
	if err != nil {
		return
	}
	if err := t.endByForce(x.library, handle); err != nil {
		_ = x.library.log.orLog(err, true, handle)
	}
}

// FromDLPack makes a tensor over the memory of a struct of DLPack, and owns the struct afterwards.
// deviceID 0: the device that the struct names. Errors: those of DLPackStructs.Read and Wrap.
func (x *Tensors) FromDLPack(deviceID uint64, given DLPack) (uint64, error) {
	const op = "tensor.from_dlpack"
	if _, err := x.library.started(op); err != nil {
		return 0, err
	}
	if err := x.handles(op, &TensorMemory{Device: deviceID}); err != nil {
		return 0, err
	}
	v, release, err := x.library.options.DLPack.Read(given)
	if err != nil {
		return 0, err
	}
	d, err := x.deviceOfDLPack(op, deviceID, &v)
	if err != nil {
		return 0, err
	}
	kind, err := v.kind(op)
	if err != nil {
		return 0, on(err, d.Engine)
	}
	memory := tensor.Foreign{Addr: v.Data, ReadOnly: v.ReadOnly}
	layout, err := v.layout(op, kind, &memory)
	if err != nil {
		return 0, on(err, d.Engine)
	}
	return x.wrap(op, d, memory, kind, layout, release)
}

// layout returns the layout of the elements, and sets the memory that has them.
func (v *DLContent) layout(op string, kind dtype.DType, memory *tensor.Foreign) (strided.Layout, error) {
	dense, err := strided.Contiguous(v.Shape...)
	if err != nil || v.Strides == nil {
		memory.SizeBytes, _ = kind.Size(uint64(dense.Elements()))
		return dense, err
	}
	layout, err := strided.Strided(v.Shape, v.Strides, 0)
	if err != nil {
		return layout, err
	}
	lowest, highest, some := layout.Span()
	if !some {
		return layout, nil
	}
	each, width := kind.Block()
	if each > 1 {
		memory.SizeBytes, err = kind.Size(uint64(dense.Elements()))
		return layout, err // a layout that is not contiguous is rejected later
	}
	over, before := bits.Mul64(uint64(-lowest), width)
	beyond, size := bits.Mul64(uint64(highest-lowest)+1, width)
	if over != 0 || beyond != 0 || device.Addr(before) > v.Data || uint64(v.Data)-before+size < uint64(v.Data)-before {
		return layout, device.Errorf(device.CodeOverflow, op, "dlpack->managed has elements %d to %d of %s at address %#x, which do not fit the address space", lowest, highest, kind, uint64(v.Data))
	}
	memory.Addr, memory.SizeBytes = v.Data-device.Addr(before), size
	return strided.Strided(v.Shape, v.Strides, -lowest)
}

// deviceOfDLPack finds the device of the memory.
func (x *Tensors) deviceOfDLPack(op string, deviceID uint64, v *DLContent) (*Device, error) {
	named := device.ID{Backend: "cpu"}
	switch v.Device {
	case dlCPU, dlCUDAHost, dlROCmHost, dlCUDAManaged:
	case dlCUDA:
		named = device.ID{Backend: "cuda", Index: int(v.Index)}
	case dlROCm:
		named = device.ID{Backend: "rocm", Index: int(v.Index)}
	default:
		return nil, device.Errorf(device.CodeUnsupported, op, "dlpack->managed is of device type %d: want memory of the host, CUDA or ROCm", v.Device)
	}
	if deviceID == 0 {
		return x.deviceOf(op, named, named.Backend == "cpu")
	}
	d, err := x.library.Device(op, deviceID)
	if err != nil {
		return nil, err
	}
	own := d.Engine.ID()
	if v.Device == dlCUDAManaged && own.Backend == "cuda" {
		return d, nil
	}
	if own.Backend != named.Backend || own.Backend != "cpu" && own != named {
		return nil, device.Errorf(device.CodeInvalidArgument, op, "dlpack->managed is of device type %d, index %d, which is not this device", v.Device, v.Index).On(own)
	}
	return d, nil
}
