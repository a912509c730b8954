package header

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
)

// safetensorsType returns the type with a name of the format.
func safetensorsType(name string) (dtype.DType, bool) {
	switch name {
	case "BF16":
		return dtype.BF16, true
	case "F16":
		return dtype.F16, true
	case "F32":
		return dtype.F32, true
	case "F64":
		return dtype.F64, true
	case "F8_E4M3":
		return dtype.F8E4M3, true
	case "F8_E5M2":
		return dtype.F8E5M2, true
	case "F8_E8M0":
		return dtype.F8E8M0, true
	case "F8_E4M3FNUZ":
		return dtype.F8E4M3FNUZ, true
	case "F8_E5M2FNUZ":
		return dtype.F8E5M2FNUZ, true
	case "F4":
		return dtype.F4E2M1, true
	case "F6_E2M3":
		return dtype.F6E2M3, true
	case "F6_E3M2":
		return dtype.F6E3M2, true
	case "BOOL":
		return dtype.Bool, true
	case "U8":
		return dtype.U8, true
	case "I8":
		return dtype.I8, true
	case "U16":
		return dtype.U16, true
	case "I16":
		return dtype.I16, true
	case "U32":
		return dtype.U32, true
	case "I32":
		return dtype.I32, true
	case "U64":
		return dtype.U64, true
	case "I64":
		return dtype.I64, true
	case "C64":
		return dtype.C64, true
	}
	return 0, false
}

// safetensorsNames are the names that safetensorsType knows.
var safetensorsNames = [...]string{
	"BF16", "F16", "F32", "F64", "F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F4", "F6_E2M3", "F6_E3M2",
	"BOOL", "U8", "I8", "U16", "I16", "U32", "I32", "U64", "I64", "C64",
}

// SafetensorsName returns the name of a type in the format.
func SafetensorsName(t dtype.DType) (name string, known bool) {
	for _, name := range safetensorsNames {
		if of, _ := safetensorsType(name); of == t {
			return name, true
		}
	}
	return "", false
}

// safetensorsPrefix is the size of the first field of a file, which states the length of the
// header.
const safetensorsPrefix = 8

// firstTensors bounds the capacity of the tables that are allocated before the tensors are read.
const firstTensors = 1 << 14

// readSafetensors reads a header: its length in 8 bytes, then JSON with the type, shape and offsets
// of each tensor. The offsets count from the end of the header. The tensors cover the rest of the
// file without gaps.
func readSafetensors(in Input) (*Header, error) {
	if in.Size < safetensorsPrefix {
		return nil, in.wrong("has %v, too few for the length of a header", device.Size(in.Size))
	}
	first, err := in.Read(0, safetensorsPrefix)
	if err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint64(first)
	if length > in.Size-safetensorsPrefix {
		return nil, in.wrong("the header of %v goes beyond the file of %v", device.Size(length), device.Size(in.Size))
	}
	if length > MaxBytes {
		return nil, in.wrong("the header of %v is longer than %v", device.Size(length), device.Size(MaxBytes))
	}
	text, err := in.Read(safetensorsPrefix, length)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(text) {
		return nil, in.wrong("the header is not UTF-8")
	}
	// A table that grows is copied, so its first capacity is estimated. The bound keeps the table
	// of a header with a false length small.
	tensors := min(bytes.Count(text, []byte("data_offsets")), firstTensors)
	r := safetensorsReader{
		scanner: scanner{in: in, text: string(text)},
		start:   safetensorsPrefix + length,
		seen:    make(map[string]bool, tensors),
		header:  &Header{Format: Safetensors, Tensors: make([]Tensor, 0, tensors), Extra: map[string]string{}},
	}
	r.read()
	if r.err != nil {
		return nil, r.err
	}
	return r.header, r.checkLayout()
}

type safetensorsReader struct {
	scanner
	header *Header
	// start is the offset of the data.
	start uint64
	seen  map[string]bool
	// numbers holds the shapes of many tensors.
	numbers []uint64
}

func (r *safetensorsReader) read() {
	const where = "the header"
	r.expect('{', where)
	for first := true; r.next('}', first, where); first = false {
		name := r.string(where)
		r.expect(':', where)
		if r.err != nil {
			return
		}
		if r.seen[name] {
			r.fail("%s: the key occurs twice", quote(name))
			return
		}
		r.seen[name] = true
		if name == "__metadata__" {
			r.metadata()
			continue
		}
		r.tensor(name)
	}
	r.spaces()
	if r.err == nil && r.at != len(r.text) {
		r.fail("something follows the JSON object of the header")
	}
}

func (r *safetensorsReader) metadata() {
	const where = "__metadata__"
	r.expect('{', where)
	for first := true; r.next('}', first, where); first = false {
		key := r.string(where)
		r.expect(':', where)
		value := r.string(where)
		if _, twice := r.header.Extra[key]; twice {
			r.fail("%s.%s: the key occurs twice", where, quote(key))
		}
		if r.err == nil {
			r.header.Extra[key] = value
		}
	}
}

// The fields of a tensor, as bits.
const (
	hasType = 1 << iota
	hasShape
	hasOffsets
)

func (r *safetensorsReader) tensor(name string) {
	const where = ""
	switch {
	case len(r.header.Tensors) >= MaxTensors:
		r.fail("has more than %d tensors", MaxTensors)
	case name == "" || len(name) > maxName:
		r.fail("the name of tensor %d is empty or longer than %v", len(r.header.Tensors), device.Size(maxName))
	}
	r.inside = name
	defer func() { r.inside = "" }()
	t := Tensor{Name: name}
	var offsets []uint64
	has := 0
	r.expect('{', where)
	for first := true; r.next('}', first, where); first = false {
		field := r.string(where)
		r.expect(':', where)
		bit := 0
		switch field {
		case "dtype":
			bit = hasType
			t.TypeName = r.string(where)
			known := false
			if t.Type, known = safetensorsType(t.TypeName); !known {
				r.fail(".dtype: %s is not a type of the format", quote(t.TypeName))
			}
		case "shape":
			bit = hasShape
			t.Shape = r.list(".shape", MaxDimensions)
		case "data_offsets":
			bit = hasOffsets
			offsets = r.list(".data_offsets", 2)
		default:
			r.fail(".%s: is not a field of a tensor", quote(field))
		}
		if has&bit != 0 {
			r.fail(".%s: the key occurs twice", field)
		}
		has |= bit
	}
	if r.err != nil {
		return
	}
	if missing := (hasType | hasShape | hasOffsets) &^ has; missing != 0 {
		names := [...]string{hasType: "dtype", hasShape: "shape", hasOffsets: "data_offsets"}
		r.fail(".%s: is missing", names[missing&-missing])
		return
	}
	r.place(&t, offsets)
	r.header.Tensors = append(r.header.Tensors, t)
}

// list reads a list of at most longest whole numbers.
func (r *safetensorsReader) list(where string, longest int) []uint64 {
	r.expect('[', where)
	start := len(r.numbers)
	for first := true; r.next(']', first, where); first = false {
		if len(r.numbers)-start == longest {
			r.fail("%s: has more than %d entries", where, longest)
		}
		r.numbers = append(r.numbers, r.number(where))
	}
	return r.numbers[start:len(r.numbers):len(r.numbers)]
}

// place compares the shape with the offsets, and the offsets with the file.
func (r *safetensorsReader) place(t *Tensor, offsets []uint64) {
	if len(offsets) != 2 {
		r.fail(".data_offsets: has %d entries: want 2", len(offsets))
		return
	}
	begin, end, data := offsets[0], offsets[1], r.in.Size-r.start
	if begin > end || end > data {
		r.fail(".data_offsets: %d to %d do not lie in the %v of data", begin, end, device.Size(data))
		return
	}
	var fits bool
	if t.Elements, fits = product(t.Shape...); !fits {
		r.err = r.in.overflow(t.Name, t.Shape)
		return
	}
	size, err := t.Type.Size(t.Elements)
	if err != nil {
		r.fail(".shape: %s", strings.TrimPrefix(err.Error(), "dtype: "))
		return
	}
	if size != end-begin {
		r.fail(".data_offsets: has %v, where %d elements of %s take %d", device.Size(end-begin), t.Elements, t.TypeName, size)
	}
	t.Offset, t.Size = r.start+begin, size
}

// checkLayout checks that the tensors cover the data without overlap or gap.
func (r *safetensorsReader) checkLayout() error {
	end := r.start
	for _, t := range byPlace(r.header.Tensors) {
		switch {
		case t.Offset < end:
			return r.in.wrong("%s.data_offsets: begins at %d, inside the tensor before it, which ends at %d", quote(t.Name), t.Offset-r.start, end-r.start)
		case t.Offset > end:
			return r.in.wrong("%s.data_offsets: begins at %d and leaves a hole after %d", quote(t.Name), t.Offset-r.start, end-r.start)
		}
		end = t.Offset + t.Size
	}
	if end != r.in.Size {
		return r.in.wrong("the tensors end at %d of the %v of data", end-r.start, device.Size(r.in.Size-r.start))
	}
	return nil
}
