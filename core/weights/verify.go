package weights

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"ferrum_mem/core/device"
)

const opVerify = "weights.verify"

// Sum is the SHA-256 of a file of a source, as 64 hexadecimal digits.
type Sum struct {
	File      string `json:"file"`
	SizeBytes uint64 `json:"size_bytes"`
	SHA256    string `json:"sha256"`
}

// Sums reads all files of a source and returns the sum of each, in the order of Metadata. It reads
// them around the page cache like a load. tell is called with the number of bytes that were read;
// nil: progress is not reported. Errors: CodeIO, CodeCancelled.
func (s *Source) Sums(ctx context.Context, tell func(done, all uint64)) ([]Sum, error) {
	done, all := uint64(0), uint64(0)
	for _, f := range s.files {
		all += f.size
	}
	var list []Sum
	buffer := make([]byte, 1<<20)
	for _, f := range s.files {
		sum := sha256.New()
		for at := uint64(0); at < f.size; {
			if ctx.Err() != nil {
				return nil, cancelled(opVerify, s.Name, done, all)
			}
			part := buffer[:min(f.size-at, uint64(len(buffer)))]
			if n, err := f.reader.ReadAt(part, int64(at)); n < len(part) {
				return nil, device.Errorf(device.CodeIO, opVerify, "%s: %v at %d cannot be read, or the file became shorter: %w", f.name, device.Size(len(part)), at, err)
			}
			sum.Write(part)
			at += uint64(len(part))
			done += uint64(len(part))
			if tell != nil {
				tell(done, all)
			}
		}
		list = append(list, Sum{File: f.name, SizeBytes: f.size, SHA256: hex.EncodeToString(sum.Sum(nil))})
	}
	return list, nil
}

// sumLine splits a line of sha256sum into the sum and the file name. A blank and a mark separate
// them.
func sumLine(line string) (sum, file string, isOne bool) {
	const length = 2 * sha256.Size
	if len(line) <= length+2 || line[length] != ' ' || !strings.Contains(" *", line[length+1:length+2]) {
		return "", "", false
	}
	sum = line[:length]
	return sum, line[length+2:], strings.Trim(sum, "0123456789abcdef") == ""
}

// ReadSums reads a list of sums in the form that sha256sum prints, by the names of the files
// without folders. name names the list in errors. Errors: CodeInvalidFormat, which names the line,
// also for a file with two sums; CodeIO.
func ReadSums(name string, list io.Reader) (map[string]string, error) {
	wrong := func(line int, format string, args ...any) error {
		return device.Errorf(device.CodeInvalidFormat, opVerify, "%s: line %d: %s", name, line, fmt.Sprintf(format, args...))
	}
	known := map[string]string{}
	lines := bufio.NewScanner(list)
	number := 0
	for lines.Scan() {
		number++
		sum, path, isOne := sumLine(lines.Text())
		if !isOne {
			return nil, wrong(number, "is not a SHA-256 sum in lower case, two characters and the name of a file")
		}
		file := filepath.Base(path)
		if other, twice := known[file]; twice && other != sum {
			return nil, wrong(number, "the file %s has another sum in a line before", file)
		}
		known[file] = sum
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, wrong(number+1, "is too long")
	case err != nil:
		return nil, fileError(name, err)
	}
	return known, nil
}

// Verify computes the sums of all files and compares them with a list, by the names of the files
// without folders. The list may have sums of further files. Verify returns the computed sums even
// if one differs. Errors: CodeNotFound, before any file is read, for a file that is not in the
// list; CodeCorrupted for a file with another sum; the errors of Sums. CodeNotFound and
// CodeCorrupted name the file.
func (s *Source) Verify(ctx context.Context, known map[string]string, tell func(done, all uint64)) ([]Sum, error) {
	for _, f := range s.files {
		if _, listed := known[filepath.Base(f.name)]; !listed {
			return nil, device.Errorf(device.CodeNotFound, opVerify, "%s: the list of sums does not have the file", f.name)
		}
	}
	sums, err := s.Sums(ctx, tell)
	if err != nil {
		return nil, err
	}
	for _, of := range sums {
		if want := known[filepath.Base(of.File)]; want != of.SHA256 {
			return sums, device.Errorf(device.CodeCorrupted, opVerify, "%s: the SHA-256 is %s, not %s", of.File, of.SHA256, want)
		}
	}
	return sums, nil
}
