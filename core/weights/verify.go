package weights

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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

// Sums reads all files of a source and returns the sum of each, in the order of Metadata. It reads them
// around the page cache like a load. tell is called with the bytes that are read; nil: nobody listens.
// Errors: CodeIO, CodeCancelled.
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
			if err := ctx.Err(); err != nil {
				return nil, device.Errorf(device.CodeCancelled, opVerify, "%s: after %v of %v: %w", s.Name, device.Size(done), device.Size(all), err)
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

// Verify compares the sums of all files with known ones, by the names of the files without folders. A
// single known sum with the name "" is that of a source of one file. Errors: CodeCorrupted for a file
// with another sum; CodeNotFound for a file without a known sum, and for a sum without a file;
// CodeInvalidArgument for a text that is no sum; those of Sums.
func (s *Source) Verify(ctx context.Context, known map[string]string, tell func(done, all uint64)) error {
	for name, text := range known {
		if raw, err := hex.DecodeString(text); err != nil || len(raw) != sha256.Size {
			return device.Errorf(device.CodeInvalidArgument, opVerify, "the SHA-256 of %q is %q: it is no text of 64 hexadecimal digits", name, text)
		}
	}
	nameOf := func(f *file) string {
		if _, only := known[""]; only && len(known) == 1 && len(s.files) == 1 {
			return ""
		}
		return filepath.Base(f.name)
	}
	seen := map[string]bool{}
	for _, f := range s.files {
		if _, is := known[nameOf(f)]; !is {
			return device.Errorf(device.CodeNotFound, opVerify, "%s: no SHA-256 of the file is given", f.name)
		}
		seen[nameOf(f)] = true
	}
	for name := range known {
		if !seen[name] {
			return device.Errorf(device.CodeNotFound, opVerify, "%s: has no file %q, of which a SHA-256 is given", s.Name, name)
		}
	}
	sums, err := s.Sums(ctx, tell)
	if err != nil {
		return err
	}
	for at, sum := range sums {
		if want := known[nameOf(s.files[at])]; !strings.EqualFold(want, sum.SHA256) {
			return device.Errorf(device.CodeCorrupted, opVerify, "%s: the SHA-256 is %s and not %s", sum.File, sum.SHA256, strings.ToLower(want))
		}
	}
	return nil
}
