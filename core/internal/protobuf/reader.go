package protobuf

import "ferrum_mem/core/device"

// Source is a file or memory with messages.
type Source struct {
	Size uint64
	// Read returns size bytes from an offset. Its errors are those of reading.
	Read func(offset, size uint64) ([]byte, error)
	// Wrong makes the error for bytes that break the encoding.
	Wrong func(format string, args ...any) error
}

// Reader reads messages. After the first error it returns zero values.
type Reader struct {
	// Err is the first error.
	Err error
	// At is the offset of the next byte. End is the offset of the first byte behind the message.
	At, End uint64

	in Source
	// window holds the bytes from start on.
	window []byte
	start  uint64
}

// windowBytes is the size of the window.
const windowBytes = 1 << 16

// Kind is a wire type.
type Kind uint8

// The wire types.
const (
	Varint  Kind = 0
	Fixed64 Kind = 1
	Bytes   Kind = 2
	Fixed32 Kind = 5
)

// Field is the key of a field. The key begins at Start, and the value at At. Size is the number of bytes of
// the value, 0 for a Varint.
type Field struct {
	Number    uint64
	Kind      Kind
	Start, At uint64
	Size      uint64
}

// NewReader returns a reader of the bytes from an offset to an end.
func NewReader(in Source, from, end uint64) *Reader { return &Reader{in: in, At: from, End: end} }

// Fail keeps an error of the content, if there is none before it.
func (r *Reader) Fail(format string, args ...any) {
	if r.Err == nil {
		r.Err = r.in.Wrong(format, args...)
	}
}

func (r *Reader) byte() byte {
	if r.Err != nil {
		return 0
	}
	if r.At >= r.End {
		r.Fail("a message ends inside a field at byte %d", r.At)
		return 0
	}
	if !r.hasWindow(1) {
		r.start = r.At
		r.window, r.Err = r.in.Read(r.At, min(windowBytes, r.in.Size-r.At))
		if r.Err != nil {
			return 0
		}
	}
	b := r.window[r.At-r.start]
	r.At++
	return b
}

// Varint reads a number.
func (r *Reader) Varint() uint64 {
	value := uint64(0)
	for shift := 0; shift < 70; shift += 7 {
		b := r.byte()
		if shift == 63 && b > 1 {
			break
		}
		value |= uint64(b&0x7F) << shift
		if b < 0x80 {
			return value
		}
	}
	r.Fail("a number before byte %d has more than 64 bits", r.At)
	return 0
}

// Number reads the value of a field that must be a varint.
func (r *Reader) Number(f Field) uint64 {
	if f.Kind != Varint {
		r.Fail("a field before byte %d is not a number", r.At)
		return 0
	}
	return r.Varint()
}

// next reads the key of a field. It returns false at the end of the message.
func (r *Reader) next() (f Field, more bool) {
	if r.Err != nil || r.At == r.End {
		return Field{}, false
	}
	start := r.At
	key := r.Varint()
	f = Field{Number: key >> 3, Kind: Kind(key & 7), Start: start}
	switch f.Kind {
	case Varint:
	case Fixed64:
		f.Size = 8
	case Fixed32:
		f.Size = 4
	case Bytes:
		f.Size = r.Varint()
	default:
		r.Fail("a field before byte %d has the unknown wire type %d", r.At, f.Kind)
	}
	if f.Number == 0 {
		r.Fail("a field before byte %d has number 0", r.At)
	}
	if r.Err == nil && f.Size > r.End-r.At {
		r.Fail("a field of %v at byte %d goes beyond its message", device.Size(f.Size), r.At)
	}
	f.At = r.At
	return f, r.Err == nil
}

// Skip skips the value of a field.
func (r *Reader) Skip(f Field) {
	if f.Kind == Varint {
		r.Varint()
		return
	}
	r.At += f.Size
}

// Text reads a text value of at most longest bytes.
func (r *Reader) Text(what string, size, longest uint64) string {
	if size > longest {
		r.Fail("%s at byte %d has %v: want at most %d", what, r.At, device.Size(size), longest)
	}
	if r.Err != nil {
		return ""
	}
	if size <= windowBytes && !r.hasWindow(size) {
		r.start = r.At
		r.window, r.Err = r.in.Read(r.At, min(windowBytes, r.in.Size-r.At))
	}
	var raw []byte
	switch {
	case r.Err != nil:
		return ""
	case r.hasWindow(size):
		raw = r.window[r.At-r.start:][:size]
	default:
		if raw, r.Err = r.in.Read(r.At, size); r.Err != nil {
			return ""
		}
	}
	r.At += size
	return string(raw)
}

// hasWindow states whether the window has the next bytes.
func (r *Reader) hasWindow(size uint64) bool {
	return r.At >= r.start && r.At+size <= r.start+uint64(len(r.window))
}

// Message reads the fields of a message of size bytes up to its end. field reads the value of a field, or
// leaves it, and then the reader skips it.
func (r *Reader) Message(size uint64, field func(Field)) {
	outer := r.End
	r.End = r.At + size
	for {
		f, more := r.next()
		if !more {
			break
		}
		before := r.At
		field(f)
		if r.Err == nil && r.At == before {
			r.Skip(f)
		}
	}
	r.End = outer
}
