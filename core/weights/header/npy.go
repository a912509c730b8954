package header

import (
	"encoding/binary"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/strided"
)

const (
	npyMagic = "\x93NUMPY"
	// maxNPYHeader bounds the dictionary. By default NumPy itself reads at most 10,000 bytes of it.
	maxNPYHeader = 1 << 16
)

// NumPyName returns the name of a type in NumPy, in little-endian order.
func NumPyName(of dtype.DType) (descr string, known bool) {
	for _, name := range []string{"<f2", "<f4", "<f8", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "|b1", "<c8"} {
		if t, _, is := npyType(name); is && t == of {
			return name, true
		}
	}
	return "", false
}

// npyType parses a type name of NumPy, such as "<f4": the byte order, a letter, and the size of an
// element in bytes.
func npyType(descr string) (t dtype.DType, bigEndian, known bool) {
	if len(descr) < 2 || strings.IndexByte("<>|=", descr[0]) < 0 {
		return 0, false, false
	}
	switch descr[1:] {
	case "f2":
		t = dtype.F16
	case "f4":
		t = dtype.F32
	case "f8":
		t = dtype.F64
	case "i1":
		t = dtype.I8
	case "i2":
		t = dtype.I16
	case "i4":
		t = dtype.I32
	case "i8":
		t = dtype.I64
	case "u1":
		t = dtype.U8
	case "u2":
		t = dtype.U16
	case "u4":
		t = dtype.U32
	case "u8":
		t = dtype.U64
	case "b1":
		t = dtype.Bool
	case "c8":
		t = dtype.C64
	default:
		return 0, false, false
	}
	return t, descr[0] == '>', true
}

// readNPY reads the header of one array. source has the bytes of the array's file, which may be a
// member of an archive. label names the array in errors.
func readNPY(in Input, label string, size uint64, source func(offset, size uint64) ([]byte, error)) (Tensor, error) {
	if size < 10 {
		return Tensor{}, in.wrong("%shas %v, too few for an array of NumPy", label, device.Size(size))
	}
	start, err := source(0, 10)
	if err != nil {
		return Tensor{}, err
	}
	if string(start[:6]) != npyMagic {
		return Tensor{}, in.wrong("%sdoes not begin as an array of NumPy", label)
	}
	begin, length := uint64(10), uint64(binary.LittleEndian.Uint16(start[8:]))
	switch version := start[6]; version {
	case 1:
	case 2, 3:
		if size < 12 {
			return Tensor{}, in.wrong("%shas %v, too few for an array of NumPy", label, device.Size(size))
		}
		if start, err = source(0, 12); err != nil {
			return Tensor{}, err
		}
		begin, length = 12, uint64(binary.LittleEndian.Uint32(start[8:]))
	default:
		return Tensor{}, in.unsupported("%sversion %d of the format, and only 1, 2 and 3 are read", label, version)
	}
	if length > maxNPYHeader {
		return Tensor{}, in.wrong("%sthe header of %v is longer than %d", label, device.Size(length), maxNPYHeader)
	}
	if length > size-begin {
		return Tensor{}, in.wrong("%sthe header of %v goes beyond the %v of the array", label, device.Size(length), device.Size(size))
	}
	text, err := source(0, begin+length)
	if err != nil {
		return Tensor{}, err
	}
	l := literal{in: in, label: label, text: string(text[begin:])}
	fields := l.fields()
	if l.err != nil {
		return Tensor{}, l.err
	}
	return in.npyTensor(label, fields, begin+length, size)
}

// npyTensor compares the header with the bytes that follow it.
func (in Input) npyTensor(label string, f npyFields, begin, size uint64) (Tensor, error) {
	of, bigEndian, known := npyType(f.descr)
	if !known {
		return Tensor{}, in.unsupported("%selements of type %s are not read", label, quote(f.descr))
	}
	t := Tensor{Type: of, TypeName: f.descr, Shape: f.shape, IsBigEndian: bigEndian, Offset: begin}
	var fits bool
	if t.Elements, fits = product(f.shape...); !fits {
		return Tensor{}, in.overflow(strings.TrimSuffix(label, ": "), f.shape)
	}
	var err error
	if t.Size, err = of.Size(t.Elements); err != nil {
		return Tensor{}, in.overflow(strings.TrimSuffix(label, ": "), f.shape)
	}
	if t.Size != size-begin {
		return Tensor{}, in.wrong("%s%v follow the header, where a shape of %s of %s takes %v", label, device.Size(size-begin), strided.Text(f.shape), f.descr, device.Size(t.Size))
	}
	if f.fortran && len(f.shape) > 1 {
		t.Strides = make([]uint64, len(f.shape))
		step := uint64(1)
		for i, side := range f.shape {
			t.Strides[i] = step
			step *= max(side, 1)
		}
	}
	return t, nil
}

// readNumPy reads a file of one array. The array has no name.
func readNumPy(in Input) (*Header, error) {
	t, err := readNPY(in, "", in.Size, in.Read)
	if err != nil {
		return nil, err
	}
	return &Header{Format: NumPy, Tensors: []Tensor{t}}, nil
}
