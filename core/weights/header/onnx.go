package header

import (
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
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
	return len(start) > 2 && start[0] == 1<<3|wireVarint && start[1] < 0x80 && start[2]&7 <= wireBytes && start[2]>>3 >= 2 && start[2]>>3 <= 8
}

// readONNX reads the initialisers of the graph of a model.
func readONNX(in Input) (*Header, error) {
	r := onnxReader{wire: wire{in: in, end: in.Size}, header: &Header{Format: ONNX}, seen: map[string]bool{}}
	graphs, opsets := 0, 0
	r.message(in.Size, func(number uint64, kind uint8, size uint64) {
		if number == modelOpsets {
			opsets++
		}
		if number != modelGraph || kind != wireBytes {
			return
		}
		graphs++
		r.message(size, func(number uint64, kind uint8, size uint64) {
			if number == graphInitializer && kind == wireBytes {
				r.tensor(size)
			}
		})
	})
	if r.err == nil && (graphs != 1 || opsets == 0) {
		r.fail("has %d graphs and %d sets of operators, and a model of ONNX has one graph and at least one set", graphs, opsets)
	}
	if r.err != nil {
		return nil, r.err
	}
	return r.header, nil
}

type onnxReader struct {
	wire
	header *Header
	seen   map[string]bool
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

func (r *onnxReader) tensor(size uint64) {
	if len(r.header.Tensors) >= MaxTensors {
		r.fail("has more than %d tensors", MaxTensors)
		return
	}
	t := initialiser{Tensor: Tensor{Shape: []uint64{}}, properties: map[string]string{}}
	r.message(size, func(number uint64, kind uint8, size uint64) {
		switch number {
		case tensorDims:
			r.dims(&t, kind, size)
		case tensorDataType:
			t.dataType = r.onnxNumber(kind)
		case tensorName:
			t.Name = r.text("the name of a tensor", size, maxName)
		case tensorRawData, tensorFloatData, tensorDoubleData:
			t.places = append(t.places, onnxPlace{offset: r.at, size: size})
		case tensorInt32Data, tensorInt64Data, tensorUint64Data:
			if kind == wireVarint {
				r.fail("%s: its values are a list that is not packed", quote(t.Name))
			}
			t.places = append(t.places, onnxPlace{offset: r.at, size: size, varints: true})
		case tensorExternalData:
			r.property(&t, size)
		case tensorDataLocation:
			t.stored = r.onnxNumber(kind)
		}
	})
	if r.err == nil {
		r.finish(&t)
	}
}

func (r *onnxReader) onnxNumber(kind uint8) uint64 {
	if kind != wireVarint {
		r.fail("a field before byte %d is not a number", r.at)
		return 0
	}
	return r.varint()
}

func (r *onnxReader) dims(t *initialiser, kind uint8, size uint64) {
	end := r.at + size
	for more := true; more && r.err == nil; more = kind == wireBytes && r.at < end {
		if kind == wireBytes && size == 0 {
			return
		}
		if len(t.Shape) == MaxDimensions {
			r.fail("a tensor before byte %d has more than %d dimensions", r.at, MaxDimensions)
			return
		}
		side := r.varint()
		if side>>63 != 0 {
			r.fail("a tensor before byte %d has a negative dimension", r.at)
		}
		t.Shape = append(t.Shape, side)
	}
}

// property reads one entry of external_data: a key and a value.
func (r *onnxReader) property(t *initialiser, size uint64) {
	var key, value string
	r.message(size, func(number uint64, kind uint8, size uint64) {
		switch {
		case kind != wireBytes:
		case number == entryKey:
			key = r.text("a key of external data", size, maxONNXText)
		case number == entryValue:
			value = r.text("a value of external data", size, maxONNXText)
		}
	})
	if len(t.properties) >= maxExternalProperties {
		r.fail("a tensor before byte %d has more than %d properties of external data", r.at, maxExternalProperties)
		return
	}
	if _, twice := t.properties[key]; twice {
		r.fail("a tensor before byte %d has external data with %s twice", r.at, quote(key))
	}
	t.properties[key] = value
}

// finish compares the description of a tensor with its values.
func (r *onnxReader) finish(t *initialiser) {
	label := quote(t.Name)
	switch {
	case t.Name == "" || !utf8.ValidString(t.Name):
		r.fail("the name of tensor %d is empty or not UTF-8", len(r.header.Tensors))
		return
	case r.seen[t.Name]:
		r.fail("%s: the tensor is listed twice", label)
		return
	}
	r.seen[t.Name] = true
	if t.Type, t.TypeName = onnxType(t.dataType); t.TypeName == "" {
		r.err = r.in.unsupported("%s: elements of type %d are not read", label, t.dataType)
		return
	}
	var fits bool
	if t.Elements, fits = product(t.Shape...); !fits {
		r.err = r.in.overflow(t.Name, t.Shape)
		return
	}
	each, _ := t.Type.Block()
	size, err := t.Type.Size((t.Elements + each - 1) / each * each)
	if err != nil {
		r.err = r.in.overflow(t.Name, t.Shape)
		return
	}
	t.Size = size
	if t.stored == externallyStored {
		r.external(t, label)
	} else {
		r.inside(t, label)
	}
	if r.err == nil {
		r.header.Tensors = append(r.header.Tensors, t.Tensor)
	}
}

// inside finds the values in the model. They must be one run.
func (r *onnxReader) inside(t *initialiser, label string) {
	places := t.places
	if len(places) == 0 && t.Size == 0 {
		return
	}
	if len(places) != 1 {
		r.fail("%s: its values are in %d fields, not in one", label, len(places))
		return
	}
	t.Offset = places[0].offset
	if places[0].varints {
		t.Varints = places[0].size
		return
	}
	if places[0].size != t.Size {
		r.fail("%s: has %v, where a shape of %s of %s takes %v", label, device.Size(places[0].size), strided.Text(t.Shape), t.TypeName, device.Size(t.Size))
	}
}

// external finds the values in another file, which must be in the folder of the model.
func (r *onnxReader) external(t *initialiser, label string) {
	location := t.properties["location"]
	if len(t.places) != 0 {
		r.fail("%s: its values are in the model and in another file", label)
		return
	}
	if !filepath.IsLocal(location) || strings.ContainsAny(location, "\\\x00") {
		r.fail("%s: external data at %s, which is not a path inside the folder of the model", label, quote(location))
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
			r.fail("%s: the %s of its external data is %s, not a whole number", label, key, quote(text))
			return
		}
		*into = n
	}
	if e.Length != 0 && e.Length != t.Size {
		r.fail("%s: external data of %v, where a shape of %s of %s takes %v", label, device.Size(e.Length), strided.Text(t.Shape), t.TypeName, device.Size(t.Size))
		return
	}
	t.External, t.Offset = e, e.Offset
}

// Varints converts the varints of a tensor to elements of its type. The caller has bounded t.Size.
// One varint has two elements of a 4-bit type.
func Varints(in Input, t *Tensor) ([]byte, error) {
	_, width := t.Type.Block()
	w := wire{in: in, at: t.Offset, end: t.Offset + t.Varints}
	out := make([]byte, 0, t.Size)
	for w.at < w.end && w.err == nil && uint64(len(out)) < t.Size {
		value := w.varint()
		for range width {
			out = append(out, byte(value))
			value >>= 8
		}
	}
	if w.err != nil {
		return nil, w.err
	}
	if w.at != w.end || uint64(len(out)) != t.Size {
		return nil, in.wrong("%s: its list of numbers does not have the %d elements of its shape", quote(t.Name), t.Elements)
	}
	return out, nil
}
