package header

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"

	"ferrum_mem/core/device"
)

const opHeader = "weights.header"

// Input is a file or memory from which a header is read.
type Input struct {
	// Name is the name in errors: the path of a file.
	Name string
	// Bytes reads at any offset below Size. It need not be safe for several threads.
	Bytes io.ReaderAt
	Size  uint64
}

// wrong returns an error of the content.
func (in Input) wrong(format string, args ...any) error {
	return device.Errorf(device.CodeInvalidFormat, opHeader, "%s: "+format, append([]any{in.Name}, args...)...)
}

func (in Input) unsupported(format string, args ...any) error {
	return device.Errorf(device.CodeUnsupported, opHeader, "%s: "+format, append([]any{in.Name}, args...)...)
}

// failed returns an error of reading. Callers have compared the offsets with Size before, so an end
// of the file means that the file became shorter.
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

// Read returns size bytes from an offset. The caller has bounded size.
func (in Input) Read(offset, size uint64) ([]byte, error) {
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
