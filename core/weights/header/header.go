package header

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
)

// Bounds of every format. The longest published headers have some ten thousand tensors.
const (
	// MaxBytes is the longest header that is read: the bound of the safetensors package.
	MaxBytes = 100_000_000
	// MaxTensors is the most tensors of a file.
	MaxTensors = 1 << 20
	// MaxDimensions is the most dimensions of a tensor.
	MaxDimensions = 16
	// maxName is the longest name of a tensor.
	maxName = 1 << 16
)

// Format is how a file stores tensors.
type Format string

// The formats that Read knows.
const (
	Safetensors Format = "safetensors"
	NumPy       Format = "numpy"
	PyTorch     Format = "pytorch"
	ONNX        Format = "onnx"
	GGUF        Format = "gguf"
	// RawFormat is that of a file without a header; Read never finds it.
	RawFormat Format = "raw"
)

// Header is what a file says of its content.
type Header struct {
	Format Format
	// Tensors are in the order of the file.
	Tensors []Tensor
	// Extra is what the file says besides: texts by key.
	Extra map[string]string
	// Values are those of Extra with their types, of a GGUF file.
	Values map[string]Value
}

// Tensor is one tensor of a file.
type Tensor struct {
	Name string
	Type dtype.DType
	// TypeName is the type as the file calls it, such as "BF16" or "<f4".
	TypeName string
	// Shape has the sides, the slowest first; a scalar has none.
	Shape []uint64
	// Strides count elements; nil: the elements lie in the order of the shape without gaps.
	Strides []uint64
	// IsBigEndian says that each element has its highest byte first.
	IsBigEndian bool
	// Offset is where its first element is in the file. Size is the bytes from there to the
	// end of its last element.
	Offset, Size uint64
	// Elements is the product of the shape.
	Elements uint64
	// Compressed is the method and length of a member of an archive that the bytes must be
	// inflated from; nil: they lie in the file as they are. Offset is then where the member's
	// data begins, and Skip how many inflated bytes stand before the tensor.
	Compressed *Compressed
	// Varints is how many bytes of the file hold its elements as varints, as ONNX can store
	// them; 0: they are stored as the type says.
	Varints uint64
	// External is set for a tensor in another file than its header; Offset counts there.
	External *External
}

// Compressed is a compressed member of an archive.
type Compressed struct {
	// Bytes is how long it is in the file, Inflated how long afterwards.
	Bytes, Inflated uint64
	// Skip is how many inflated bytes stand before the first element.
	Skip uint64
}

// External is a part of another file that holds a tensor.
type External struct {
	// Location is the path of the file, relative to the folder of the model and inside it.
	Location string
	// Offset is where the tensor begins. Length is its bytes, or 0 where the model does not
	// say.
	Offset, Length uint64
}

// product multiplies; false: it is beyond 64 bits.
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

// overflow is the error of a tensor whose size cannot be counted.
func (in Input) overflow(name string, shape []uint64) error {
	return device.Errorf(device.CodeOverflow, opHeader, "%s: %s: a shape of %s has more elements than 64 bits count", in.Name, quote(name), ShapeText(shape))
}

// ShapeText is a shape for an error: "[4096, 1024]".
func ShapeText(shape []uint64) string {
	return strings.ReplaceAll(fmt.Sprint(shape), " ", ", ")
}

// quote is a name for an error, not too long to be read.
func quote(name string) string {
	const longest = 120
	if len(name) > longest {
		return strconv.Quote(name[:longest]) + "..."
	}
	return strconv.Quote(name)
}

// byPlace gives the tensors in the order of their offsets.
func byPlace(tensors []Tensor) []*Tensor {
	sorted := make([]*Tensor, len(tensors))
	for i := range tensors {
		sorted[i] = &tensors[i]
	}
	slices.SortFunc(sorted, func(a, b *Tensor) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Size, b.Size))
	})
	return sorted
}

// Check completes the tensors of a header that another reader has made, and compares them with the
// file: Elements and Size follow from type and shape. Errors: CodeInvalidFormat, CodeOverflow.
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
			return in.wrong("%s: the tensor is there twice", label)
		case !t.Type.IsKnown():
			return in.wrong("%s: its type %d is none", label, int32(t.Type))
		case len(t.Shape) > MaxDimensions:
			return in.wrong("%s: has %d dimensions and not at most %d", label, len(t.Shape), MaxDimensions)
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
			return in.wrong("%s: %d elements of %s are no whole bytes, or too many", label, t.Elements, t.Type)
		}
		if t.Offset > in.Size || t.Size > in.Size-t.Offset {
			return in.wrong("%s: %v at %d go beyond the file of %v", label, device.Size(t.Size), t.Offset, device.Size(in.Size))
		}
	}
	return nil
}
