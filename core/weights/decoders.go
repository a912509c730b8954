package weights

import (
	"slices"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/core/weights/header"
)

const opDecoder = "weights.decoder"

// SniffBytes is the number of bytes of the beginning of a file that a decoder receives.
const SniffBytes = 4096

// Decoder reads the headers of a format that package header does not read. It states where the
// bytes of the tensors are in the file; the library reads them. Several threads may call its
// methods at a time.
type Decoder interface {
	// Format is the name of the format. No other format has this name.
	Format() Format
	// Recognises states whether a file is of the format. start has the first bytes of the file, at
	// most SniffBytes.
	Recognises(start []byte, sizeBytes uint64) bool
	// Read describes the tensors: Name, Type, Shape, Offset, and IsBigEndian. The library computes
	// the other fields and compares all fields with the file.
	Read(in header.Input) ([]header.Tensor, map[string]string, error)
}

// Decoders are the registered decoders. The formats of package header have precedence: the decoders
// are called only for a file that begins as none of these formats, in the order of their
// registration. The zero value is empty and ready.
type Decoders struct {
	mu   sync.Mutex
	last uint32
	list []registered
}

type registered struct {
	number  uint32
	decoder Decoder
}

// Register adds a decoder and returns its number, which Remove takes. Errors: CodeInvalidArgument
// for a format without a name; CodeAlreadyExists for a format that another reader already has.
func (d *Decoders) Register(decoder Decoder) (number uint32, err error) {
	format := decoder.Format()
	if format == "" {
		return 0, device.Errorf(device.CodeInvalidArgument, opDecoder, "the format of the decoder has no name")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	isOther := slices.ContainsFunc(d.list, func(r registered) bool { return r.decoder.Format() == format })
	if isOther || slices.Contains(Supported().Formats, format) {
		return 0, device.Errorf(device.CodeAlreadyExists, opDecoder, "there is a reader of the format %q already", format)
	}
	d.last++
	d.list = append(d.list, registered{number: d.last, decoder: decoder})
	return d.last, nil
}

// Remove removes a decoder. Open files stay open. A call of the decoder may still run when Remove
// returns. Errors: CodeNotFound.
func (d *Decoders) Remove(number uint32) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := slices.IndexFunc(d.list, func(r registered) bool { return r.number == number })
	if at < 0 {
		return device.Errorf(device.CodeNotFound, opDecoder, "no decoder has the number %d", number)
	}
	d.list = slices.Delete(d.list, at, at+1)
	return nil
}

// Formats returns the names of the formats, by the numbers of their decoders.
func (d *Decoders) Formats() map[uint32]Format {
	all := map[uint32]Format{}
	for _, r := range d.all() {
		all[r.number] = r.decoder.Format()
	}
	return all
}

func (d *Decoders) all() []registered {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.list)
}

// read reads the header of a file. It uses a decoder if the file begins as none of the known
// formats.
func (d *Decoders) read(in header.Input) (*header.Header, error) {
	all := d.all()
	if len(all) == 0 {
		return header.Read(in)
	}
	if known, err := header.Knows(in); known || err != nil {
		return header.Read(in)
	}
	start := make([]byte, min(in.Size, SniffBytes))
	if n, err := in.Bytes.ReadAt(start, 0); n < len(start) {
		return nil, fileError(in.Name, err)
	}
	for _, r := range all {
		if !r.decoder.Recognises(start, in.Size) {
			continue
		}
		tensors, extra, err := r.decoder.Read(in)
		if err != nil {
			return nil, device.Errorf(codeOr(err, device.CodeInvalidFormat), opDecoder, "%s: the decoder of %q: %w", in.Name, r.decoder.Format(), err)
		}
		h := &header.Header{Format: r.decoder.Format(), Extra: extra}
		for _, t := range tensors {
			h.Tensors = append(h.Tensors, header.Tensor{Name: t.Name, Type: t.Type, TypeName: t.TypeName, Shape: slices.Clone(t.Shape), Offset: t.Offset, IsBigEndian: t.IsBigEndian})
		}
		return h, h.Check(in)
	}
	return header.Read(in)
}

// codeOr returns the code of an error, or otherwise for an error without a code.
func codeOr(err error, otherwise device.Code) device.Code {
	if code := device.CodeOf(err); code != device.CodeOK && code != device.CodeInternal {
		return code
	}
	return otherwise
}
