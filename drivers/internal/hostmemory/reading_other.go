//go:build !unix

package hostmemory

import "errors"

// MaxReadingBytes is the maximum number of bytes that are read of one file.
const MaxReadingBytes = 4 << 20

// readReading returns an error, because this system has no such files.
func readReading(string, int) ([]byte, error) { return nil, errors.ErrUnsupported }
