package estimate

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"unicode/utf8"

	"ferrum_mem/core/device"
)

const opGGUF = "estimate.gguf"

// The bounds of a GGUF header. Names and keys of published files have fewer than 100
// bytes, and a file has fewer than 100 keys. Most of a header is the words of the
// vocabulary, which are counted and not kept.
const (
	maxGGUFKeys    = 1 << 16
	maxGGUFName    = 1 << 16
	maxGGUFText    = 1 << 12
	maxGGUFNesting = 4
	// maxGGUFNumbers bounds the numbers that are kept of all lists together.
	maxGGUFNumbers = 1 << 20
	maxGGUFSides   = 4
)

// ggufHeader has the contents of the header of a GGUF file.
type ggufHeader struct {
	name    string
	values  map[string]ggufValue
	tensors []Tensor
	// rows has the second dimensions of the tensors by name. The embedding has one row
	// for each word of the vocabulary.
	rows map[string]uint64
	// dataBytes is the length of the file after the header and its padding.
	dataBytes uint64
	alignment uint64
}

// ggufValue is one value of the metadata: a number, a text, or a list.
type ggufValue struct {
	kind uint32
	// number is set for whole numbers that are not negative, and for flags. real is set
	// for numbers with a fraction. negative states that the number is below 0.
	number   uint64
	real     float64
	negative bool
	text     string
	// count is the length of a list. numbers has its entries; nil if they are not whole
	// numbers or were not kept.
	count   uint64
	numbers []uint64
}

// The kinds of values, with their numbers in the format.
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

// readGGUF reads the header of a GGUF file of size bytes; name is the name for errors.
// It returns CodeInvalidFormat for an invalid header, and CodeUnsupported for one of
// another version. It reads no tensor. It allocates memory as it reads, and never by a
// length that the file states.
func readGGUF(name string, file io.ReaderAt, size int64) (*ggufHeader, error) {
	limit := min(size, MaxHeaderBytes)
	r := &ggufReader{
		name: name, size: uint64(size), limit: uint64(limit),
		in: bufio.NewReaderSize(io.NewSectionReader(file, 0, limit), 1<<16),
	}
	h := &ggufHeader{name: name, values: map[string]ggufValue{}, rows: map[string]uint64{}, alignment: 32}
	tensors, keys := r.start()
	for i := uint64(0); i < keys && r.err == nil; i++ {
		r.keyValue(h)
	}
	if r.err != nil {
		return nil, r.err
	}
	if a, ok := h.values["general.alignment"]; ok {
		if a.kind != ggufUint32 || a.number == 0 || a.number%8 != 0 || a.number > 1<<20 {
			return nil, r.wrong("general.alignment: is not a multiple of 8 within 8 to %d", 1<<20)
		}
		h.alignment = a.number
	}
	seen := map[string]bool{}
	for i := uint64(0); i < tensors && r.err == nil; i++ {
		r.tensor(h, seen)
	}
	if r.err != nil {
		return nil, r.err
	}
	start := ceilDiv(r.at, h.alignment) * h.alignment
	h.dataBytes = uint64(size) - min(uint64(size), start)
	if err := h.checkLayout(); err != nil {
		return nil, err
	}
	return h, nil
}

// ggufReader reads one value after the other. After the first error it returns zeros.
type ggufReader struct {
	name        string
	in          *bufio.Reader
	at          uint64
	size, limit uint64
	kept        int
	err         error
}

func (r *ggufReader) wrong(format string, args ...any) error {
	return malformed(opGGUF, r.name, format, args...)
}

func (r *ggufReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = r.wrong(format, args...)
	}
}

// ended sets the error of a truncated header.
func (r *ggufReader) ended(err error) {
	switch {
	case r.err != nil:
	case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		r.err = fileError(opGGUF, r.name, err)
	case r.limit < r.size:
		r.fail("the header is longer than %v", device.Size(uint64(MaxHeaderBytes)))
	default:
		r.fail("the file of %v ends inside its header", device.Size(r.size))
	}
}

// number reads a little-endian number of that many bytes.
func (r *ggufReader) number(bytes int) uint64 {
	if r.err != nil {
		return 0
	}
	var buffer [8]byte
	if _, err := io.ReadFull(r.in, buffer[:bytes]); err != nil {
		r.ended(err)
		return 0
	}
	r.at += uint64(bytes)
	return binary.LittleEndian.Uint64(buffer[:])
}

func (r *ggufReader) skip(bytes uint64) {
	if r.err != nil {
		return
	}
	if bytes > r.limit-r.at {
		r.ended(io.ErrUnexpectedEOF)
		return
	}
	if _, err := r.in.Discard(int(bytes)); err != nil {
		r.ended(err)
		return
	}
	r.at += bytes
}

// text reads a text of at most longest bytes. With skips it skips a longer one.
func (r *ggufReader) text(what string, longest uint64, skips bool) string {
	length := r.number(8)
	if r.err != nil {
		return ""
	}
	if length > longest {
		if !skips {
			r.fail("%s at byte %d has %v and not at most %v", what, r.at, device.Size(length), device.Size(longest))
			return ""
		}
		r.skip(length)
		return ""
	}
	if length > r.limit-r.at {
		r.ended(io.ErrUnexpectedEOF)
		return ""
	}
	buffer := make([]byte, length)
	if _, err := io.ReadFull(r.in, buffer); err != nil {
		r.ended(err)
		return ""
	}
	r.at += length
	return string(buffer)
}

// start reads the fields before the metadata.
func (r *ggufReader) start() (tensors, keys uint64) {
	if magic := r.number(4); r.err == nil && magic != 0x46554747 {
		r.fail("does not begin with GGUF")
	}
	version := r.number(4)
	switch {
	case r.err != nil || version == 2 || version == 3:
	case version == 2<<24 || version == 3<<24:
		r.err = device.Errorf(device.CodeUnsupported, opGGUF, "%s: the file has its bytes in big-endian order, and only little-endian is read", r.name)
	default:
		r.err = device.Errorf(device.CodeUnsupported, opGGUF, "%s: version %d of the format, and only 2 and 3 are read", r.name, version)
	}
	tensors, keys = r.number(8), r.number(8)
	if tensors > MaxTensors {
		r.fail("%d tensors are more than %d", tensors, uint64(MaxTensors))
	}
	if keys > maxGGUFKeys {
		r.fail("%d keys are more than %d", keys, uint64(maxGGUFKeys))
	}
	return tensors, keys
}

func (r *ggufReader) keyValue(h *ggufHeader) {
	key := r.text("a key", maxGGUFName, false)
	if r.err == nil && (key == "" || !utf8.ValidString(key)) {
		r.fail("a key before byte %d is empty or not UTF-8", r.at)
	}
	if _, twice := h.values[key]; twice {
		r.fail("%s: the key is there twice", quoteKey(key))
	}
	value := r.value(key, uint32(r.number(4)), 0)
	if r.err == nil {
		h.values[key] = value
	}
}

// ggufWidth returns the bytes of a value of a kind; 0: it has no fixed size.
func ggufWidth(kind uint32) int {
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

func (r *ggufReader) value(key string, kind uint32, depth int) ggufValue {
	v := ggufValue{kind: kind}
	width := ggufWidth(kind)
	switch {
	case r.err != nil:
	case width > 0:
		v.set(r.number(width), width)
	case kind == ggufString:
		v.text = r.text(quoteKey(key), maxGGUFText, true)
	case kind == ggufList:
		r.list(&v, key, depth)
	default:
		r.fail("%s: %d is not a kind of value", quoteKey(key), kind)
	}
	return v
}

// set sets a value of fixed size from its bits.
func (v *ggufValue) set(bits uint64, width int) {
	switch v.kind {
	case ggufFloat32:
		v.real = float64(math.Float32frombits(uint32(bits)))
	case ggufFloat64:
		v.real = math.Float64frombits(bits)
	case ggufInt8, ggufInt16, ggufInt32, ggufInt64:
		v.negative = bits>>(8*width-1) != 0
		v.number = bits
	default:
		v.number = bits
	}
}

// list reads a list. Numbers are kept as long as the bound allows it; everything else
// is counted and skipped.
func (r *ggufReader) list(v *ggufValue, key string, depth int) {
	if depth >= maxGGUFNesting {
		r.fail("%s: lists are nested deeper than %d", quoteKey(key), maxGGUFNesting)
		return
	}
	kind := uint32(r.number(4))
	v.count = r.number(8)
	width := ggufWidth(kind)
	if r.err != nil {
		return
	}
	// Each entry takes at least one byte of the file, and a text or a list at least 8.
	least := uint64(max(1, width))
	if width == 0 {
		least = 8
	}
	if v.count > (r.limit-r.at)/least {
		r.ended(io.ErrUnexpectedEOF)
		return
	}
	whole := width > 0 && kind != ggufFloat32 && kind != ggufFloat64
	if whole && v.count <= maxLayers && r.kept+int(v.count) <= maxGGUFNumbers && depth == 0 {
		r.kept += int(v.count)
		v.numbers = make([]uint64, 0, v.count)
		for range v.count {
			entry := ggufValue{kind: kind}
			entry.set(r.number(width), width)
			v.negative = v.negative || entry.negative
			v.numbers = append(v.numbers, entry.number)
		}
		return
	}
	if width > 0 {
		r.skip(v.count * uint64(width))
		return
	}
	for i := uint64(0); i < v.count && r.err == nil; i++ {
		switch kind {
		case ggufString:
			r.skip(r.number(8))
		default:
			r.value(key, kind, depth+1)
		}
	}
}
