package header

import (
	"cmp"
	"math/bits"
	"strconv"
	"unicode/utf8"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/internal/sorting"
	"ferrum_mem/core/strided"
)

// Bounds of every format. The longest published headers have about ten thousand tensors.
const (
	// MaxBytes is the longest header that is read. The safetensors package has the same bound.
	MaxBytes = 100_000_000
	// MaxTensors is the most tensors of a file.
	MaxTensors = 1 << 20
	// MaxDimensions is the most dimensions of a tensor.
	MaxDimensions = 16
	// maxName is the longest name of a tensor.
	maxName = 1 << 16
)

// Format is the name of a file format for tensors.
type Format string

// The formats that Read knows.
const (
	Safetensors Format = "safetensors"
	NumPy       Format = "numpy"
	PyTorch     Format = "pytorch"
	ONNX        Format = "onnx"
	GGUF        Format = "gguf"
	// RawFormat is the format of a file without a header. Read never returns it.
	RawFormat Format = "raw"
)

// Header describes the content of a file.
type Header struct {
	Format Format
	// Tensors are in the order of the file.
	Tensors []Tensor
	// Extra has the other metadata of the file: texts by key.
	Extra map[string]string
	// Values has the entries of Extra with their types. Only GGUF files have them.
	Values map[string]Value
}

// Tensor is one tensor of a file.
type Tensor struct {
	Name string
	Type dtype.DType
	// TypeName is the name of the type in the file, such as "BF16" or "<f4".
	TypeName string
	// Shape has the dimensions, the slowest first. A scalar has none.
	Shape []uint64
	// Strides count elements. nil: the elements lie in the order of the shape without gaps.
	Strides []uint64
	// IsBigEndian states that each element has its highest byte first.
	IsBigEndian bool
	// Offset is the place of the first element in the file. Size is the number of bytes from there
	// to the end of the last element.
	Offset, Size uint64
	// Elements is the product of the shape.
	Elements uint64
	// Compressed is the archive member from which the bytes must be inflated, or nil if the file
	// has the bytes uncompressed. With Compressed, Offset is the offset of the member's data, and
	// Compressed.Skip is the number of inflated bytes before the tensor.
	Compressed *Compressed
	// Varints is the number of bytes of the file that hold the elements as varints, an encoding
	// that ONNX allows. 0: the elements are stored as the type states.
	Varints uint64
	// Decoded has the elements of a short tensor whose bytes are not one run in the file; Varints is then
	// not 0. nil: the file has the elements.
	Decoded []byte
	// External is set for a tensor whose bytes are in another file than its header. Offset counts
	// in that file.
	External *External
}

// Compressed is a compressed member of an archive.
type Compressed struct {
	// Bytes is the length of the member in the file. Inflated is its length after decompression.
	Bytes, Inflated uint64
	// Skip is the number of inflated bytes before the first element.
	Skip uint64
}

// External is a part of another file that holds a tensor.
type External struct {
	// Location is the path of the file, relative to the folder of the model and inside it.
	Location string
	// Offset is the offset of the tensor in the file. Length is its size in bytes, or 0 if the
	// model does not state it.
	Offset, Length uint64
}

// product multiplies. It returns false if the product exceeds 64 bits.
func product(sides ...uint64) (uint64, bool) {
	all, fits := uint64(1), true
	for _, side := range sides {
		if side == 0 {
			return 0, true
		}
	}
	for _, side := range sides {
		high, low := bits.Mul64(all, side)
		all, fits = low, fits && high == 0
	}
	return all, fits
}

// overflow returns the error of a tensor whose size exceeds 64 bits.
func (in Input) overflow(name string, shape []uint64) error {
	return device.Errorf(device.CodeOverflow, opHeader, "%s: %s: a shape of %s has more elements than 64 bits count", in.Name, quote(name), strided.Text(shape))
}

// quote formats a name for an error and shortens a long one.
func quote(name string) string {
	const longest = 120
	if len(name) > longest {
		return strconv.Quote(name[:longest]) + "..."
	}
	return strconv.Quote(name)
}

// byPlace returns the tensors in the order of their offsets.
func byPlace(tensors []Tensor) []*Tensor {
	sorted := make([]*Tensor, len(tensors))
	for i := range tensors {
		sorted[i] = &tensors[i]
	}
	sorting.By(sorted, func(a, b *Tensor) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Size, b.Size))
	})
	return sorted
}

// Check completes the tensors of a header that another reader has created, and compares them with
// the file. It computes Elements and Size from type and shape. Errors: CodeInvalidFormat,
// CodeOverflow.
func (h *Header) Check(in Input) error {
	if len(h.Tensors) > MaxTensors {
		return in.wrong("has more than %d tensors", MaxTensors)
	}
	seen := make(map[string]bool, len(h.Tensors))
	for i := range h.Tensors {
		t := &h.Tensors[i]
		label := quote(t.Name)
		switch {
		case t.Name == "" || len(t.Name) > maxName || !utf8.ValidString(t.Name):
			return in.wrong("the name of tensor %d is empty, too long or not UTF-8", i)
		case seen[t.Name]:
			return in.wrong("%s: the tensor is listed twice", label)
		case !t.Type.IsKnown():
			return in.wrong("%s: its type %d is not known", label, int32(t.Type))
		case len(t.Shape) > MaxDimensions:
			return in.wrong("%s: has %d dimensions: want at most %d", label, len(t.Shape), MaxDimensions)
		}
		seen[t.Name] = true
		if t.TypeName == "" {
			t.TypeName = t.Type.String()
		}
		var fits bool
		if t.Elements, fits = product(t.Shape...); !fits {
			return in.overflow(t.Name, t.Shape)
		}
		var err error
		if t.Size, err = t.Type.Size(t.Elements); err != nil {
			return in.wrong("%s: %d elements of %s are not a whole number of bytes, or too many", label, t.Elements, t.Type)
		}
		if t.Offset > in.Size || t.Size > in.Size-t.Offset {
			return in.wrong("%s: %v at %d go beyond the file of %v", label, device.Size(t.Size), t.Offset, device.Size(in.Size))
		}
	}
	return nil
}
