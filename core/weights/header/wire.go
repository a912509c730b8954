package header

import "ferrum_mem/core/device"

// wire reads protocol buffers in place. It reads the file through a window, and skips the content
// of tensors. After the first error it returns zero values.
//
// The rules are those of the encoding's documentation: a field is a key (number and wire type) and
// a value. A value of wire type 0 is a varint. Types 1 and 5 are 8 and 4 bytes. Type 2 is a length
// and then that number of bytes.
type wire struct {
	in Input
	// at is the offset of the next byte. end is the offset of the first byte behind the message.
	at, end uint64
	// window holds the bytes from start on.
	window []byte
	start  uint64
	err    error
}

// wireWindow is the size of the window.
const wireWindow = 1 << 16

func (w *wire) fail(format string, args ...any) {
	if w.err == nil {
		w.err = w.in.wrong(format, args...)
	}
}

func (w *wire) byte() byte {
	if w.err != nil {
		return 0
	}
	if w.at >= w.end {
		w.fail("a message ends inside a field at byte %d", w.at)
		return 0
	}
	if w.at < w.start || w.at >= w.start+uint64(len(w.window)) {
		w.start = w.at
		w.window, w.err = w.in.read(w.at, min(wireWindow, w.in.Size-w.at))
		if w.err != nil {
			return 0
		}
	}
	b := w.window[w.at-w.start]
	w.at++
	return b
}

func (w *wire) varint() uint64 {
	value := uint64(0)
	for shift := 0; shift < 70; shift += 7 {
		b := w.byte()
		if shift == 63 && b > 1 {
			break
		}
		value |= uint64(b&0x7F) << shift
		if b < 0x80 {
			return value
		}
	}
	w.fail("a number before byte %d has more than 64 bits", w.at)
	return 0
}

// The wire types.
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

// next reads the key of a field. It returns false at the end of the message. For wireBytes size is
// the length of the value, which begins at the current place.
func (w *wire) next() (number uint64, kind uint8, size uint64, more bool) {
	if w.err != nil || w.at == w.end {
		return 0, 0, 0, false
	}
	key := w.varint()
	number, kind = key>>3, uint8(key&7)
	switch kind {
	case wireVarint:
	case wire64:
		size = 8
	case wire32:
		size = 4
	case wireBytes:
		size = w.varint()
	default:
		w.fail("a field before byte %d has the unknown wire type %d", w.at, kind)
	}
	if number == 0 {
		w.fail("a field before byte %d has number 0", w.at)
	}
	if w.err == nil && size > w.end-w.at {
		w.fail("a field of %v at byte %d goes beyond its message", device.Size(size), w.at)
	}
	return number, kind, size, w.err == nil
}

// skip skips the value of a field.
func (w *wire) skip(kind uint8, size uint64) {
	if kind == wireVarint {
		w.varint()
		return
	}
	w.at += size
}

// text reads a text value of at most longest bytes.
func (w *wire) text(what string, size, longest uint64) string {
	if size > longest {
		w.fail("%s at byte %d has %v: want at most %d", what, w.at, device.Size(size), longest)
	}
	if w.err != nil {
		return ""
	}
	raw, err := w.in.read(w.at, size)
	if err != nil {
		w.err = err
		return ""
	}
	w.at += size
	return string(raw)
}

// message reads the fields of a nested message up to its end.
func (w *wire) message(size uint64, field func(number uint64, kind uint8, size uint64)) {
	outer := w.end
	w.end = w.at + size
	for {
		number, kind, size, more := w.next()
		if !more {
			break
		}
		before := w.at
		field(number, kind, size)
		if w.err == nil && w.at == before {
			w.skip(kind, size)
		}
	}
	w.end = outer
}
