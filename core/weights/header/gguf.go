package header

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
)

const ggufMagic = "GGUF"

// Bounds of a GGUF header. Names and keys of published files have fewer than 100 bytes, and a file
// has fewer than 100 keys. Most of a header is the vocabulary. Its words are counted and not kept.
const (
	maxGGUFKeys    = 1 << 16
	maxGGUFText    = 1 << 12
	maxGGUFNesting = 4
	// maxGGUFList is the longest list whose numbers are kept. maxGGUFNumbers bounds the numbers of
	// all kept lists together.
	maxGGUFList    = 1 << 16
	maxGGUFNumbers = 1 << 20
	maxGGUFSides   = 4
)

// Value is one value of the metadata of a GGUF file: a number, a text, or a list.
type Value struct {
	kind uint32
	// Number is set for whole numbers and flags: the bits in two's complement.
	Number uint64
	// Real is set for floating-point numbers.
	Real float64
	Text string
	// Count is the length of a list. Numbers are its entries. Numbers is nil if the entries are not
	// whole numbers, or if there are too many to be kept.
	Count   uint64
	Numbers []uint64
	// IsNegative states that a whole number, or one of Numbers, is below 0.
	IsNegative bool
	// Offset and SizeBytes state where the key and the value are in the file.
	Offset, SizeBytes uint64
}

// The kinds of values, by their numbers in the format.
const (
	ggufUint8 = iota
	ggufInt8
	ggufUint16
	ggufInt16
	ggufUint32
	ggufInt32
	ggufFloat32
	ggufBool
	ggufString
	ggufList
	ggufUint64
	ggufInt64
	ggufFloat64
)

// IsWhole states whether the value is a whole number that is not negative.
func (v Value) IsWhole() bool {
	switch v.kind {
	case ggufFloat32, ggufFloat64, ggufString, ggufList, ggufBool:
		return false
	}
	return !v.IsNegative
}

// IsReal states whether the value is a floating-point number.
func (v Value) IsReal() bool { return v.kind == ggufFloat32 || v.kind == ggufFloat64 }

// IsText states whether the value is a text.
func (v Value) IsText() bool { return v.kind == ggufString }

// IsFlag states whether the value is a Boolean. Number has it as 1 or 0.
func (v Value) IsFlag() bool { return v.kind == ggufBool }

// IsList states whether the value is a list.
func (v Value) IsList() bool { return v.kind == ggufList }

// String returns the value as readable text.
func (v Value) String() string {
	switch {
	case v.IsText():
		return v.Text
	case v.IsReal():
		return fmt.Sprint(v.Real)
	case v.IsFlag():
		return fmt.Sprint(v.Number != 0)
	case v.IsList() && v.Numbers != nil && v.Count <= 16:
		return fmt.Sprint(v.Numbers)
	case v.IsList():
		return fmt.Sprintf("a list of %d", v.Count)
	case v.IsNegative:
		return fmt.Sprint(int64(v.Number))
	}
	return fmt.Sprint(v.Number)
}

// readGGUF reads the metadata and the list of tensors of a file of version 2 or 3. It reverses the
// shapes, because GGUF lists the fastest dimension first.
func readGGUF(in Input) (*Header, error) {
	limit := min(in.Size, MaxBytes)
	r := &ggufReader{
		in: in, limit: limit, seen: map[string]bool{},
		buffer: bufio.NewReaderSize(io.NewSectionReader(in.Bytes, 0, int64(limit)), 1<<16),
		header: &Header{Format: GGUF, Values: map[string]Value{}, Extra: map[string]string{}},
	}
	tensors, keys := r.start()
	for i := uint64(0); i < keys && r.err == nil; i++ {
		r.keyValue()
	}
	alignment := r.alignment()
	for i := uint64(0); i < tensors && r.err == nil; i++ {
		r.tensor()
	}
	if r.err != nil {
		return nil, r.err
	}
	start := (r.at + alignment - 1) / alignment * alignment
	return r.header, r.checkLayout(start, alignment)
}

// ggufReader reads one value after the other. After the first error it returns zeros.
type ggufReader struct {
	in     Input
	buffer *bufio.Reader
	at     uint64
	limit  uint64
	header *Header
	seen   map[string]bool
	// kept is the number of list elements that are kept so far.
	kept uint64
	err  error
}

func (r *ggufReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = r.in.wrong(format, args...)
	}
}

// ended returns the error of a header whose end is missing.
func (r *ggufReader) ended(err error) {
	switch {
	case r.err != nil:
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		r.err = r.in.failed(err)
	case r.limit < r.in.Size:
		r.fail("the header is longer than %v", device.Size(MaxBytes))
	default:
		r.fail("the file of %v ends inside its header", device.Size(r.in.Size))
	}
}

// take reads a number of bytes. The caller has bounded size.
func (r *ggufReader) take(size uint64) []byte {
	if r.err != nil {
		return nil
	}
	if size > r.limit-r.at {
		r.ended(nil)
		return nil
	}
	raw := make([]byte, size)
	if _, err := io.ReadFull(r.buffer, raw); err != nil {
		r.ended(err)
		return nil
	}
	r.at += size
	return raw
}

// number reads a little-endian number of 1, 2, 4 or 8 bytes.
func (r *ggufReader) number(width uint64) uint64 {
	var wide [8]byte
	copy(wide[:], r.take(width))
	return binary.LittleEndian.Uint64(wide[:])
}

func (r *ggufReader) skip(size uint64) {
	if r.err != nil {
		return
	}
	if size > r.limit-r.at {
		r.ended(nil)
		return
	}
	if _, err := r.buffer.Discard(int(size)); err != nil {
		r.ended(err)
		return
	}
	r.at += size
}

// text reads a text of at most longest bytes. It skips a longer text if skips is set, and rejects
// it otherwise.
func (r *ggufReader) text(what string, longest uint64, skips bool) string {
	length := r.number(8)
	if r.err != nil || length <= longest {
		return string(r.take(length))
	}
	if skips {
		r.skip(length)
		return ""
	}
	r.fail("%s at byte %d has %v: want at most %d", what, r.at, device.Size(length), longest)
	return ""
}

// start reads the fields before the metadata.
func (r *ggufReader) start() (tensors, keys uint64) {
	r.skip(uint64(len(ggufMagic)))
	version := r.number(4)
	switch {
	case r.err != nil || version == 2 || version == 3:
	case version == 2<<24 || version == 3<<24:
		r.err = r.in.unsupported("the file has the highest byte of a number first, and only files with the lowest first are read")
	default:
		r.err = r.in.unsupported("version %d of the format, and only 2 and 3 are read", version)
	}
	tensors, keys = r.number(8), r.number(8)
	if tensors > MaxTensors {
		r.fail("%d tensors are more than %d", tensors, MaxTensors)
	}
	if keys > maxGGUFKeys {
		r.fail("%d keys are more than %d", keys, maxGGUFKeys)
	}
	return tensors, keys
}

func (r *ggufReader) keyValue() {
	start := r.at
	key := r.text("a key", maxName, false)
	if r.err == nil && (key == "" || !utf8.ValidString(key)) {
		r.fail("a key before byte %d is empty or not UTF-8", r.at)
	}
	if _, twice := r.header.Values[key]; twice {
		r.fail("%s: the key occurs twice", quote(key))
	}
	value := r.value(key, uint32(r.number(4)), 0)
	if r.err == nil {
		value.Offset, value.SizeBytes = start, r.at-start
		r.header.Values[key] = value
		r.header.Extra[key] = value.String()
	}
}

// ggufWidth returns the size in bytes of a value of a kind, or 0 for a kind without a fixed size.
func ggufWidth(kind uint32) uint64 {
	switch kind {
	case ggufUint8, ggufInt8, ggufBool:
		return 1
	case ggufUint16, ggufInt16:
		return 2
	case ggufUint32, ggufInt32, ggufFloat32:
		return 4
	case ggufUint64, ggufInt64, ggufFloat64:
		return 8
	}
	return 0
}

func (r *ggufReader) value(key string, kind uint32, depth int) Value {
	v := Value{kind: kind}
	width := ggufWidth(kind)
	switch {
	case r.err != nil:
	case width > 0:
		v.set(r.number(width), width)
	case kind == ggufString:
		v.Text = r.text(quote(key), maxGGUFText, true)
	case kind == ggufList:
		r.list(&v, key, depth)
	default:
		r.fail("%s: %d is not a kind of value", quote(key), kind)
	}
	return v
}

// set stores the bits of a value of fixed size.
func (v *Value) set(bits, width uint64) {
	switch v.kind {
	case ggufFloat32:
		v.Real = float64(math.Float32frombits(uint32(bits)))
	case ggufFloat64:
		v.Real = math.Float64frombits(bits)
	case ggufInt8, ggufInt16, ggufInt32, ggufInt64:
		unused := 64 - 8*width
		v.Number = uint64(int64(bits<<unused) >> unused)
		v.IsNegative = int64(v.Number) < 0
	default:
		v.Number = bits
	}
}

// list reads a list. It keeps whole numbers within the bounds. It counts and skips all other
// entries.
func (r *ggufReader) list(v *Value, key string, depth int) {
	if depth >= maxGGUFNesting {
		r.fail("%s: lists are nested deeper than %d levels", quote(key), maxGGUFNesting)
		return
	}
	kind := uint32(r.number(4))
	v.Count = r.number(8)
	width := ggufWidth(kind)
	// A text or a list takes at least the 8 bytes of its length.
	if least := max(width, 1); r.err == nil && v.Count > (r.limit-r.at)/least || width == 0 && v.Count > (r.limit-r.at)/8 {
		r.ended(nil)
	}
	whole := width > 0 && kind != ggufFloat32 && kind != ggufFloat64
	switch {
	case r.err != nil:
	case whole && depth == 0 && v.Count <= maxGGUFList && r.kept+v.Count <= maxGGUFNumbers:
		r.kept += v.Count
		v.Numbers = make([]uint64, v.Count)
		for i := range v.Numbers {
			entry := Value{kind: kind}
			entry.set(r.number(width), width)
			v.Numbers[i] = entry.Number
			v.IsNegative = v.IsNegative || entry.IsNegative
		}
	case width > 0:
		r.skip(v.Count * width)
	case kind == ggufString:
		for i := uint64(0); i < v.Count && r.err == nil; i++ {
			r.skip(r.number(8))
		}
	default:
		for i := uint64(0); i < v.Count && r.err == nil; i++ {
			r.value(key, kind, depth+1)
		}
	}
}

// alignment returns the alignment of the tensors' offsets.
func (r *ggufReader) alignment() uint64 {
	const key = "general.alignment"
	v, ok := r.header.Values[key]
	if !ok {
		return 32
	}
	if v.kind != ggufUint32 || v.Number == 0 || v.Number%8 != 0 || v.Number > 1<<20 {
		r.fail("%s: is not a multiple of 8 within 8 to %d", key, 1<<20)
		return 1
	}
	return v.Number
}

// tensor reads one entry of the list of tensors. Here its offset counts from the end of the header.
func (r *ggufReader) tensor() {
	name := r.text("the name of a tensor", maxName, false)
	sides := r.number(4)
	label := quote(name)
	switch {
	case r.err != nil:
		return
	case name == "" || !utf8.ValidString(name):
		r.fail("the name of tensor %d is empty or not UTF-8", len(r.header.Tensors))
	case r.seen[name]:
		r.fail("%s: the tensor is listed twice", label)
	case sides > maxGGUFSides:
		r.fail("%s: has %d dimensions: want at most %d", label, sides, maxGGUFSides)
	}
	if r.err != nil {
		return
	}
	r.seen[name] = true
	t := Tensor{Name: name, Shape: make([]uint64, sides)}
	for i := range t.Shape {
		t.Shape[i] = r.number(8)
	}
	row := uint64(1)
	if sides > 0 {
		row = t.Shape[0]
	}
	slices.Reverse(t.Shape)
	number := uint32(r.number(4))
	t.Offset = r.number(8)
	if r.err != nil {
		return
	}
	var known, fits bool
	if t.Type, known = dtype.GGUF(number); !known {
		r.err = r.in.unsupported("%s: type %d of the format is not known", label, number)
		return
	}
	t.TypeName = strings.ToUpper(t.Type.String())
	if each, _ := t.Type.Block(); row%each != 0 {
		r.fail("%s: rows of %d elements are not whole blocks of %d, which %s has", label, row, each, t.TypeName)
		return
	}
	if t.Elements, fits = product(t.Shape...); !fits {
		r.err = r.in.overflow(name, t.Shape)
		return
	}
	if t.Size, r.err = t.Type.Size(t.Elements); r.err != nil {
		r.err = r.in.overflow(name, t.Shape)
		return
	}
	r.header.Tensors = append(r.header.Tensors, t)
}

// checkLayout checks that tensors begin at multiples of the alignment, that they do not overlap,
// and that the file reaches the end of the last one. It then makes the offsets count from the
// beginning of the file.
func (r *ggufReader) checkLayout(start, alignment uint64) error {
	data := r.in.Size - min(r.in.Size, start)
	end := uint64(0)
	for _, t := range byPlace(r.header.Tensors) {
		label := quote(t.Name)
		switch {
		case t.Offset%alignment != 0:
			return r.in.wrong("%s: begins at %d, no multiple of the alignment of %d", label, t.Offset, alignment)
		case t.Offset < end:
			return r.in.wrong("%s: begins at %d, inside the tensor before it, which ends at %d", label, t.Offset, end)
		case t.Offset > data || t.Size > data-t.Offset:
			return r.in.wrong("%s: %v at %d go beyond the %v of data", label, device.Size(t.Size), t.Offset, device.Size(data))
		}
		end = t.Offset + t.Size
		t.Offset += start
	}
	return nil
}
