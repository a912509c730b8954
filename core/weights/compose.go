package weights

import (
	"context"
	"io"

	"ferrum_mem/core/device"
)

// Composed is a file of a format that another package knows: parts one after the other.
type Composed struct {
	Path  string
	Parts []Part
}

// Part is a part of a composed file: bytes, followed by the tensor of Spec, or by the SizeBytes bytes that
// Elements writes. Both are nil for bytes alone.
type Part struct {
	Before    []byte
	Spec      *Spec
	Elements  func(io.Writer) error
	SizeBytes uint64
}

// Compose writes files in one folder, as Convert does: in parts, under hidden names until the end, and all of
// them or none. s may be nil if no part has a Spec. Only Written, Replace and Progress of the options are
// used. Errors: those of Convert; CodeInternal for a tensor that has another size than SizeBytes.
func (s *Source) Compose(ctx context.Context, files []Composed, options ConvertOptions) error {
	contents := make([]content, len(files))
	for i, file := range files {
		contents[i].path = file.Path
		for _, part := range file.Parts {
			made := piece{before: part.Before, elements: part.Elements, size: part.SizeBytes}
			if part.Spec != nil {
				p, err := s.checked(part.Spec)
				if err != nil {
					return err
				}
				made.plan = p
				if size := (&job{plan: p}).size(); size != part.SizeBytes {
					return device.Errorf(device.CodeInternal, opConvert, "%q: has %v, and its part %v", part.Spec.Name, device.Size(size), device.Size(part.SizeBytes))
				}
			}
			contents[i].pieces = append(contents[i].pieces, made)
		}
	}
	return writeContents(ctx, contents, options)
}
