package header

import (
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/strided"
)

// Read detects the format of a file from its first bytes, and reads its header.
func Read(in Input) (*Header, error) {
	read, err := readerOf(in)
	switch {
	case err != nil:
		return nil, err
	case read == nil:
		return nil, in.unsupported("the file does not begin like a file of safetensors, GGUF, NumPy, PyTorch or ONNX")
	}
	return read(in)
}

// Knows states whether a file begins as one of the formats.
func Knows(in Input) (bool, error) {
	read, err := readerOf(in)
	return read != nil, err
}

// readerOf returns the reader for a file by its first bytes, or nil.
func readerOf(in Input) (read func(Input) (*Header, error), err error) {
	start, err := in.Read(0, min(in.Size, 16))
	if err != nil {
		return nil, err
	}
	text := string(start)
	switch {
	case strings.HasPrefix(text, ggufMagic):
		return readGGUF, nil
	case strings.HasPrefix(text, npyMagic):
		return readNumPy, nil
	case strings.HasPrefix(text, "PK\x03\x04"), strings.HasPrefix(text, "PK\x05\x06"):
		return readArchive, nil
	case isLegacyTorch(start):
		return readTorchLegacy, nil
	case beginsAsSafetensors(start) && little64(start) <= in.Size-safetensorsPrefix:
		return readSafetensors, nil
	case looksLikeONNX(start):
		return readONNX, nil
	case beginsAsSafetensors(start): // this reader reports what is wrong with the length
		return readSafetensors, nil
	}
	return nil, nil
}

// readArchive reads an archive of PyTorch or of NumPy.
func readArchive(in Input) (*Header, error) {
	a, err := openArchive(in)
	if err != nil {
		return nil, err
	}
	for _, m := range a.members {
		if strings.HasSuffix(m.name, "data.pkl") {
			return readTorchZip(a)
		}
	}
	return readNPZ(a)
}

func beginsAsSafetensors(start []byte) bool {
	return len(start) > safetensorsPrefix && start[safetensorsPrefix] == '{'
}

// Raw returns the header of a file without a header: one tensor of a given type and shape, which
// fills the file. Errors: CodeInvalidFormat if the file has another size.
func Raw(in Input, of dtype.DType, shape []uint64) (*Header, error) {
	elements, fits := product(shape...)
	if !fits {
		return nil, in.overflow("", shape)
	}
	size, err := of.Size(elements)
	if err != nil {
		return nil, err
	}
	if size != in.Size {
		return nil, in.wrong("has %v, where a shape of %s of %s takes %v", device.Size(in.Size), strided.Text(shape), of, device.Size(size))
	}
	return &Header{Format: RawFormat, Tensors: []Tensor{{Type: of, TypeName: of.String(), Shape: shape, Size: size, Elements: elements}}}, nil
}
