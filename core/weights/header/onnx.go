package header

import (
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/internal/protobuf"
	"ferrum_mem/core/strided"
)

// onnxType returns the type for a number of TensorProto.DataType.
func onnxType(number uint64) (t dtype.DType, name string) {
	switch number {
	case 1:
		return dtype.F32, "FLOAT"
	case 2:
		return dtype.U8, "UINT8"
	case 3:
		return dtype.I8, "INT8"
	case 4:
		return dtype.U16, "UINT16"
	case 5:
		return dtype.I16, "INT16"
	case 6:
		return dtype.I32, "INT32"
	case 7:
		return dtype.I64, "INT64"
	case 9:
		return dtype.Bool, "BOOL"
	case 10:
		return dtype.F16, "FLOAT16"
	case 11:
		return dtype.F64, "DOUBLE"
	case 12:
		return dtype.U32, "UINT32"
	case 13:
		return dtype.U64, "UINT64"
	case 14:
		return dtype.C64, "COMPLEX64"
	case 16:
		return dtype.BF16, "BFLOAT16"
	case 17:
		return dtype.F8E4M3, "FLOAT8E4M3FN"
	case 18:
		return dtype.F8E4M3FNUZ, "FLOAT8E4M3FNUZ"
	case 19:
		return dtype.F8E5M2, "FLOAT8E5M2"
	case 20:
		return dtype.F8E5M2FNUZ, "FLOAT8E5M2FNUZ"
	case 21:
		return dtype.U4, "UINT4"
	case 22:
		return dtype.I4, "INT4"
	case 23:
		return dtype.F4E2M1, "FLOAT4E2M1"
	case 24:
		return dtype.F8E8M0, "FLOAT8E8M0"
	}
	return 0, ""
}

// The numbers of the message fields that the package reads.
const (
	modelGraph            = 7
	modelOpsets           = 8
	graphNode             = 1
	graphInitializer      = 5
	tensorDims            = 1
	tensorDataType        = 2
	tensorFloatData       = 4
	tensorInt32Data       = 5
	tensorInt64Data       = 7
	tensorName            = 8
	tensorRawData         = 9
	tensorDoubleData      = 10
	tensorUint64Data      = 11
	tensorExternalData    = 13
	tensorDataLocation    = 14
	entryKey, entryValue  = 1, 2
	externallyStored      = 1
	maxONNXText           = 1 << 16
	maxExternalProperties = 16
)

// looksLikeONNX states whether a file begins as a model does: with the version of the format, and
// then one of the first fields of a model.
func looksLikeONNX(start []byte) bool {
	const varint, bytes = byte(protobuf.Varint), byte(protobuf.Bytes)
	return len(start) > 2 && start[0] == 1<<3|varint && start[1] < 0x80 && start[2]&7 <= bytes && start[2]>>3 >= 2 && start[2]>>3 <= 8
}

// messages returns the file as a source of messages.
func (in Input) messages() protobuf.Source {
	return protobuf.Source{Size: in.Size, Read: in.Read, Wrong: in.wrong}
}

// readONNX reads the initialisers of the graph of a model, and the tensors of its nodes of type Constant,
// which have the names of the outputs of the nodes.
func readONNX(in Input) (*Header, error) {
	r := newONNXReader(in, 0, in.Size)
	graphs, opsets := 0, 0
	r.Message(in.Size, func(f protobuf.Field) {
		if f.Number == modelOpsets {
			opsets++
		}
		if f.Number != modelGraph || f.Kind != protobuf.Bytes {
			return
		}
		graphs++
		r.Message(f.Size, func(f protobuf.Field) {
			switch {
			case f.Kind != protobuf.Bytes:
			case f.Number == graphInitializer:
				r.tensor(f.Size, "")
			case f.Number == graphNode:
				r.node(f.Size)
			}
		})
	})
	if r.Err == nil && (graphs != 1 || opsets == 0) {
		r.Fail("has %d graphs and %d sets of operators, and a model of ONNX has one graph and at least one set", graphs, opsets)
	}
	if r.Err != nil {
		return nil, r.Err
	}
	return r.header, nil
}

type onnxReader struct {
	*protobuf.Reader
	in     Input
	header *Header
	seen   map[string]bool
}

func newONNXReader(in Input, from, end uint64) *onnxReader {
	return &onnxReader{
		Reader: protobuf.NewReader(in.messages(), from, end), in: in, header: &Header{Format: ONNX}, seen: map[string]bool{},
	}
}

// ONNXTensor reads a tensor of ONNX at a place of the file, such as an attribute of a node. name is its
// name in errors.
func ONNXTensor(in Input, name string, at, size uint64) (*Tensor, error) {
	if at > in.Size || size > in.Size-at {
		return nil, in.wrong("%s: goes beyond the end of the file", quote(name))
	}
	r := newONNXReader(in, at, at+size)
	r.tensor(size, name)
	if r.Err != nil {
		return nil, r.Err
	}
	return &r.header.Tensors[0], nil
}

// initialiser is a tensor that is being read.
type initialiser struct {
	Tensor
	dataType uint64
	// places has the parts of the file with its values: as raw bytes, or as a list of a field.
	places []onnxPlace
	// stored is data_location, properties are external_data.
	stored     uint64
	properties map[string]string
}

// onnxPlace is a run of values in the file. varints states that each value is a varint.
type onnxPlace struct {
	offset, size uint64
	varints      bool
}

// tensor reads a tensor. name replaces its name; "": it has its own.
func (r *onnxReader) tensor(size uint64, name string) {
	if len(r.header.Tensors) >= MaxTensors {
		r.Fail("has more than %d tensors", MaxTensors)
		return
	}
	t := initialiser{Tensor: Tensor{Shape: []uint64{}}, properties: map[string]string{}}
	r.Message(size, func(f protobuf.Field) {
		switch f.Number {
		case tensorDims:
			r.dims(&t, f)
		case tensorDataType:
			t.dataType = r.Number(f)
		case tensorName:
			t.Name = r.Text("the name of a tensor", f.Size, maxName)
		case tensorRawData, tensorFloatData, tensorDoubleData:
			t.places = append(t.places, onnxPlace{offset: r.At, size: f.Size})
		case tensorInt32Data, tensorInt64Data, tensorUint64Data:
			if f.Kind == protobuf.Varint {
				r.Fail("%s: its values are a list that is not packed", quote(t.Name))
			}
			t.places = append(t.places, onnxPlace{offset: r.At, size: f.Size, varints: true})
		case tensorExternalData:
			r.property(&t, f.Size)
		case tensorDataLocation:
			t.stored = r.Number(f)
		}
		if len(t.places) > 1 {
			r.Fail("%s: its values are in several fields, not in one", quote(t.Name))
		}
	})
	if name != "" {
		t.Name = name
	}
	if r.Err == nil {
		r.finish(&t)
	}
}

func (r *onnxReader) dims(t *initialiser, f protobuf.Field) {
	end := r.At + f.Size
	for more := true; more && r.Err == nil; more = f.Kind == protobuf.Bytes && r.At < end {
		if f.Kind == protobuf.Bytes && f.Size == 0 {
			return
		}
		if len(t.Shape) == MaxDimensions {
			r.Fail("a tensor before byte %d has more than %d dimensions", r.At, MaxDimensions)
			return
		}
		side := r.Varint()
		if side>>63 != 0 {
			r.Fail("a tensor before byte %d has a negative dimension", r.At)
		}
		t.Shape = append(t.Shape, side)
	}
}

// property reads one entry of external_data: a key and a value.
func (r *onnxReader) property(t *initialiser, size uint64) {
	var key, value string
	r.Message(size, func(f protobuf.Field) {
		switch {
		case f.Kind != protobuf.Bytes:
		case f.Number == entryKey:
			key = r.Text("a key of external data", f.Size, maxONNXText)
		case f.Number == entryValue:
			value = r.Text("a value of external data", f.Size, maxONNXText)
		}
	})
	if len(t.properties) >= maxExternalProperties {
		r.Fail("a tensor before byte %d has more than %d properties of external data", r.At, maxExternalProperties)
		return
	}
	if _, twice := t.properties[key]; twice {
		r.Fail("a tensor before byte %d has external data with %s twice", r.At, quote(key))
	}
	t.properties[key] = value
}

// finish compares the description of a tensor with its values.
func (r *onnxReader) finish(t *initialiser) {
	label := quote(t.Name)
	if !r.isNew(t) {
		return
	}
	if t.Type, t.TypeName = onnxType(t.dataType); t.TypeName == "" {
		r.Err = r.in.unsupported("%s: elements of type %d are not read", label, t.dataType)
		return
	}
	var fits bool
	if t.Elements, fits = product(t.Shape...); !fits {
		r.Err = r.in.overflow(t.Name, t.Shape)
		return
	}
	each, _ := t.Type.Block()
	size, err := t.Type.Size((t.Elements + each - 1) / each * each)
	if err != nil {
		r.Err = r.in.overflow(t.Name, t.Shape)
		return
	}
	t.Size = size
	if t.stored == externallyStored {
		r.external(t, label)
	} else {
		r.inside(t, label)
	}
	if r.Err == nil {
		r.header.Tensors = append(r.header.Tensors, t.Tensor)
	}
}

// isNew checks the name of a tensor.
func (r *onnxReader) isNew(t *initialiser) bool {
	switch {
	case t.Name == "" || !utf8.ValidString(t.Name):
		r.Fail("the name of tensor %d is empty or not UTF-8", len(r.header.Tensors))
	case r.seen[t.Name]:
		r.Fail("%s: the tensor is listed twice", quote(t.Name))
	}
	r.seen[t.Name] = true
	return r.Err == nil
}

// inside finds the values in the model. They must be one run.
func (r *onnxReader) inside(t *initialiser, label string) {
	places := t.places
	if len(places) == 0 && t.Size == 0 {
		return
	}
	if len(places) != 1 {
		r.Fail("%s: has no values", label)
		return
	}
	t.Offset = places[0].offset
	if places[0].varints {
		t.Varints = places[0].size
		return
	}
	if places[0].size != t.Size {
		r.Fail("%s: has %v, where a shape of %s of %s takes %v", label, device.Size(places[0].size), strided.Text(t.Shape), t.TypeName, device.Size(t.Size))
	}
}

// external finds the values in another file, which must be in the folder of the model.
func (r *onnxReader) external(t *initialiser, label string) {
	location := t.properties["location"]
	if len(t.places) != 0 {
		r.Fail("%s: its values are in the model and in another file", label)
		return
	}
	if !filepath.IsLocal(location) || strings.ContainsAny(location, "\\\x00") {
		r.Fail("%s: external data at %s, which is not a path inside the folder of the model", label, quote(location))
		return
	}
	e := &External{Location: filepath.Clean(location)}
	for key, into := range map[string]*uint64{"offset": &e.Offset, "length": &e.Length} {
		text, given := t.properties[key]
		if !given {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			r.Fail("%s: the %s of its external data is %s, not a whole number", label, key, quote(text))
			return
		}
		*into = n
	}
	if e.Length != 0 && e.Length != t.Size {
		r.Fail("%s: external data of %v, where a shape of %s of %s takes %v", label, device.Size(e.Length), strided.Text(t.Shape), t.TypeName, device.Size(t.Size))
		return
	}
	t.External, t.Offset = e, e.Offset
}

// Varints converts the varints of a tensor to elements of its type. The caller has bounded t.Size.
// One varint has two elements of a 4-bit type.
func Varints(in Input, t *Tensor) ([]byte, error) {
	if t.Decoded != nil {
		return t.Decoded, nil
	}
	_, width := t.Type.Block()
	r := protobuf.NewReader(in.messages(), t.Offset, t.Offset+t.Varints)
	out := make([]byte, 0, t.Size)
	for r.At < r.End && r.Err == nil && uint64(len(out)) < t.Size {
		value := r.Varint()
		for range width {
			out = append(out, byte(value))
			value >>= 8
		}
	}
	if r.Err != nil {
		return nil, r.Err
	}
	if r.At != r.End || uint64(len(out)) != t.Size {
		return nil, in.wrong("%s: its list of numbers does not have the %d elements of its shape", quote(t.Name), t.Elements)
	}
	return out, nil
}
