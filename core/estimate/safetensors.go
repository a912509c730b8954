package estimate

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"ferrum_mem/core/device"
)

const opSafetensors = "estimate.safetensors"

// The bounds of a header. The format's own reader accepts at most 100 MB; the longest
// published headers have a few thousand tensors.
const (
	MaxHeaderBytes = 100_000_000
	MaxTensors     = 1 << 20
	maxDimensions  = 16
)

// Tensor is one entry of a header.
type Tensor struct {
	Name string
	// DType is the name in the file, such as BF16.
	DType string
	// Dimensions is the number of dimensions of the shape, Elements their product.
	Dimensions int
	Elements   uint64
	// Begin and End are offsets into the data that follows the header.
	Begin, End uint64
}

// elementBits returns the size of a type of the format; 0: the format has no such type.
func elementBits(dtype string) uint64 {
	switch dtype {
	case "F4":
		return 4
	case "F6_E2M3", "F6_E3M2":
		return 6
	case "BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ":
		return 8
	case "I16", "U16", "F16", "BF16":
		return 16
	case "I32", "U32", "F32":
		return 32
	case "I64", "U64", "F64", "C64":
		return 64
	}
	return 0
}

// ReadHeader reads the header of a safetensors file of size bytes; name is the name for
// errors. It returns CodeInvalidFormat, with the tensor and its field, for an invalid
// header. It reads only the header. It allocates memory as it reads, and never by a
// length that the file states.
func ReadHeader(name string, file io.ReaderAt, size int64) ([]Tensor, error) {
	var first [8]byte
	if size < int64(len(first)) {
		return nil, malformed(opSafetensors, name, "has %v, too few for the length of a header", device.Size(size))
	}
	if _, err := file.ReadAt(first[:], 0); err != nil {
		return nil, fileError(opSafetensors, name, err)
	}
	length := binary.LittleEndian.Uint64(first[:])
	rest := uint64(size) - uint64(len(first))
	if length > rest {
		return nil, malformed(opSafetensors, name, "the header of %v goes beyond the file of %v", device.Size(length), device.Size(size))
	}
	if length > MaxHeaderBytes {
		return nil, malformed(opSafetensors, name, "the header of %v is longer than %v", device.Size(length), device.Size(MaxHeaderBytes))
	}
	h := header{name: name, dataBytes: rest - length, seen: map[string]bool{}}
	section := io.NewSectionReader(file, int64(len(first)), int64(length))
	h.decoder = json.NewDecoder(section)
	h.decoder.UseNumber()
	if err := h.read(); err != nil {
		return nil, err
	}
	if err := h.checkLayout(); err != nil {
		return nil, err
	}
	return h.tensors, nil
}

// header is a header that is being read, token by token.
type header struct {
	name      string
	decoder   *json.Decoder
	dataBytes uint64
	tensors   []Tensor
	seen      map[string]bool
}

func (h *header) wrong(format string, args ...any) error {
	return malformed(opSafetensors, h.name, format, args...)
}

func (h *header) token() (json.Token, error) {
	token, err := h.decoder.Token()
	if err != nil {
		var typed *device.Error
		if errors.As(err, &typed) {
			return nil, err
		}
		return nil, h.wrong("the header %s", notJSON(h.decoder, err))
	}
	return token, nil
}

func (h *header) expect(delimiter json.Delim, what string) error {
	token, err := h.token()
	if err == nil && token != delimiter {
		err = h.wrong("%s does not begin with %q", what, delimiter.String())
	}
	return err
}

// key reads the next key of an object; false at its end.
func (h *header) key() (string, bool, error) {
	token, err := h.token()
	if err != nil {
		return "", false, err
	}
	key, ok := token.(string)
	return key, ok, nil
}

func (h *header) read() error {
	if err := h.expect('{', "the header"); err != nil {
		return err
	}
	for {
		name, more, err := h.key()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if h.seen[name] {
			return h.wrong("%s: the key is there twice", quote(name))
		}
		h.seen[name] = true
		if name == "__metadata__" {
			err = h.metadata()
		} else {
			err = h.tensor(name)
		}
		if err != nil {
			return err
		}
	}
	// Spaces pad a header to a multiple of 8 bytes.
	if _, err := h.decoder.Token(); !errors.Is(err, io.EOF) {
		return h.wrong("something follows the JSON object of the header")
	}
	return nil
}

// metadata skips texts by name, which do not affect sizes.
func (h *header) metadata() error {
	if err := h.expect('{', "__metadata__"); err != nil {
		return err
	}
	for {
		key, more, err := h.key()
		if err != nil || !more {
			return err
		}
		value, err := h.token()
		if err != nil {
			return err
		}
		if _, ok := value.(string); !ok {
			return h.wrong("__metadata__.%s: is not a text", quoteKey(key))
		}
	}
}

// tensor reads one entry.
func (h *header) tensor(name string) error {
	if len(h.tensors) >= MaxTensors {
		return h.wrong("has more than %d tensors", MaxTensors)
	}
	if !utf8.ValidString(name) || name == "" {
		return h.wrong("the name of tensor %d is empty or not UTF-8", len(h.tensors))
	}
	label := quoteKey(name)
	if err := h.expect('{', label); err != nil {
		return err
	}
	t := Tensor{Name: name}
	var shape, offsets []uint64
	fields := map[string]bool{}
	for {
		field, more, err := h.key()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if fields[field] {
			return h.wrong("%s.%s: the key is there twice", label, quoteKey(field))
		}
		switch field {
		case "dtype":
			t.DType, err = h.dtype(label)
		case "shape":
			shape, err = h.numbers(label+".shape", maxDimensions)
		case "data_offsets":
			offsets, err = h.numbers(label+".data_offsets", 2)
		default:
			err = h.wrong("%s.%s: is not a field of a tensor", label, quoteKey(field))
		}
		if err != nil {
			return err
		}
		fields[field] = true
	}
	for _, field := range []string{"dtype", "shape", "data_offsets"} {
		if !fields[field] {
			return h.wrong("%s.%s: is missing", label, field)
		}
	}
	t.Dimensions = len(shape)
	if err := h.place(&t, label, shape, offsets); err != nil {
		return err
	}
	h.tensors = append(h.tensors, t)
	return nil
}

func (h *header) dtype(label string) (string, error) {
	token, err := h.token()
	if err != nil {
		return "", err
	}
	name, ok := token.(string)
	if !ok || elementBits(name) == 0 {
		return "", h.wrong("%s.dtype: is %s and not a type of the format", label, kindOf(token))
	}
	return name, nil
}

// numbers reads a list of at most longest whole numbers.
func (h *header) numbers(label string, longest int) ([]uint64, error) {
	if err := h.expect('[', label); err != nil {
		return nil, err
	}
	list := []uint64{}
	for {
		token, err := h.token()
		if err != nil {
			return nil, err
		}
		if token == json.Delim(']') {
			return list, nil
		}
		n, ok := wholeNumber(token)
		if !ok || n == ^uint64(0) {
			return nil, h.wrong("%s[%d]: is %s and not a whole number that can be counted", label, len(list), kindOf(token))
		}
		if len(list) == longest {
			return nil, h.wrong("%s: has more than %d entries", label, longest)
		}
		list = append(list, n)
	}
}

// place compares a tensor's shape with its offsets, and the offsets with the file.
func (h *header) place(t *Tensor, label string, shape, offsets []uint64) error {
	if len(offsets) != 2 {
		return h.wrong("%s.data_offsets: has %d entries and not 2", label, len(offsets))
	}
	t.Begin, t.End = offsets[0], offsets[1]
	if t.Begin > t.End || t.End > h.dataBytes {
		return h.wrong("%s.data_offsets: %d to %d do not lie in the %v of data", label, t.Begin, t.End, device.Size(h.dataBytes))
	}
	var c calculation
	t.Elements = c.product(shape...)
	bits := c.product(t.Elements, elementBits(t.DType))
	if c.overflowed {
		return device.Errorf(device.CodeOverflow, opSafetensors, "%s: %s.shape: %d elements of %s are more than can be counted", h.name, label, shape, t.DType)
	}
	if bits%8 != 0 || bits/8 != t.End-t.Begin {
		return h.wrong("%s.data_offsets: %v, where %d elements of %s take %s", label, device.Size(t.End-t.Begin), t.Elements, t.DType, bytesOf(bits))
	}
	return nil
}

func bytesOf(bits uint64) string {
	if bits%8 != 0 {
		return fmt.Sprintf("%d bits", bits)
	}
	return fmt.Sprintf("%d", bits/8)
}

// checkLayout checks that tensors follow each other, without overlap or gap, up to the
// end of the file.
func (h *header) checkLayout() error {
	var end uint64
	for _, t := range byPlace(h.tensors) {
		if t.Begin < end {
			return h.wrong("%s.data_offsets: begins at %d, inside the tensor before it, which ends at %d", quoteKey(t.Name), t.Begin, end)
		}
		if t.Begin > end {
			return h.wrong("%s.data_offsets: begins at %d, but the tensor before it ends at %d", quoteKey(t.Name), t.Begin, end)
		}
		end = t.End
	}
	if end != h.dataBytes {
		return h.wrong("the tensors end at %d of the %v of data", end, device.Size(h.dataBytes))
	}
	return nil
}

func compare(a, b uint64) int {
	if a < b {
		return -1
	}
	if a > b {
		return 1
	}
	return 0
}

// byPlace returns tensors in the order of their offsets.
func byPlace(tensors []Tensor) []*Tensor {
	sorted := make([]*Tensor, len(tensors))
	for i := range tensors {
		sorted[i] = &tensors[i]
	}
	slices.SortFunc(sorted, func(a, b *Tensor) int {
		if a.Begin != b.Begin {
			return compare(a.Begin, b.Begin)
		}
		return compare(a.End, b.End)
	})
	return sorted
}
