package header

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"

	"ferrum_mem/core/device"
)

const opHeader = "weights.header"

// Input is what a header is read from.
type Input struct {
	// Name is what errors call it: the path of a file.
	Name string
	// Bytes reads at any offset below Size; it need not be safe for several threads.
	Bytes io.ReaderAt
	Size  uint64
}

// wrong is an error of the content.
func (in Input) wrong(format string, args ...any) error {
	return device.Errorf(device.CodeInvalidFormat, opHeader, "%s: "+format, append([]any{in.Name}, args...)...)
}

func (in Input) unsupported(format string, args ...any) error {
	return device.Errorf(device.CodeUnsupported, opHeader, "%s: "+format, append([]any{in.Name}, args...)...)
}

// failed is an error of reading. Callers have compared with Size before, so that an end of the
// file means that it became shorter.
func (in Input) failed(err error) error {
	var inner *fs.PathError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return device.Errorf(device.CodeIO, opHeader, "%s: the file became shorter while it was read", in.Name)
	case errors.As(err, &inner):
		err = inner.Err
	}
	return device.Errorf(device.CodeIO, opHeader, "%s: %w", in.Name, err)
}

// read gives size bytes from an offset. The caller has bounded size.
func (in Input) read(offset, size uint64) ([]byte, error) {
	if offset > in.Size || size > in.Size-offset {
		return nil, in.wrong("%v at %d are beyond the end of the file of %v", device.Size(size), offset, device.Size(in.Size))
	}
	buffer := make([]byte, size)
	n, err := in.Bytes.ReadAt(buffer, int64(offset))
	if uint64(n) == size {
		return buffer, nil
	}
	return nil, in.failed(err)
}

func little64(raw []byte) uint64 { return binary.LittleEndian.Uint64(raw) }
