package weights

import (
	"archive/zip"
	"bufio"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"ferrum_mem/core/device"
	"ferrum_mem/core/weights/header"
)

const opConvert = "weights.convert"

// ConvertOptions are the settings of Convert.
type ConvertOptions struct {
	// Format is the format of the file: safetensors, numpy, gguf or raw. A NumPy file whose name
	// ends in .npz is an archive of any number of arrays. Any other NumPy file has one array.
	Format Format
	// Texts are the metadata of the file. For formats without metadata they must be empty.
	Texts map[string]string
	// KeepMetadata copies the metadata of the source, if the file has the same format as the
	// source: the texts of safetensors, unless Texts has the same key, and the keys of GGUF except
	// those of places and parts. For other formats no metadata are copied.
	KeepMetadata bool
	// MaxFileBytes is the largest size of a file; 0: one file of any size. If the tensors do not
	// fit in one file, path is the common part of the names of several safetensors files with an
	// index. A tensor that is larger gets a file of its own.
	MaxFileBytes uint64
	// Written is called with the paths of the written files, an index last; nil: the paths are not
	// reported.
	Written func(paths []string)
	// Replace states that an existing file of that name may be replaced.
	Replace bool
	// Progress is called with the number of bytes of tensors that are written; nil: progress is not
	// reported.
	Progress func(Progress)
}

// Convert writes tensors to one file or to several files. It reads and writes them in parts, so it
// needs only a few megabytes for a model that is larger than memory. The file gets its name at the
// end. Until then its bytes are in a hidden file of the same folder, which an error or the end of
// ctx removes. Several files get their names one after the other, the index last; an error removes
// all of them. Convert checks the free space of the disk first.
//
// Without Replace, a file that another program creates under the name meanwhile is kept, and Convert
// returns CodeAlreadyExists.
//
// Convert ignores Memory and Into of the specs. GGUF accepts plain types, blocks that are copied
// unchanged, and the blocks that a Cast makes. Errors: the errors of Load for specs;
// CodeUnsupported for a format that cannot be written, and for a type that the format does not
// have; CodeAlreadyExists; CodeResourceExhausted for a disk without enough free space;
// CodeInvalidArgument, CodePermissionDenied, CodeIO, CodeCancelled.
func (s *Source) Convert(ctx context.Context, specs []Spec, path string, options ConvertOptions) error {
	contents, err := s.contents(specs, path, options)
	if err != nil {
		return err
	}
	return writeContents(ctx, contents, options)
}

// writeContents writes files in one folder. At the end all of them get their names, or none does.
func writeContents(ctx context.Context, contents []content, options ConvertOptions) (err error) {
	all, tensors := uint64(0), uint64(0)
	for _, of := range contents {
		if _, err := os.Lstat(of.path); err == nil && !options.Replace {
			return existsAlready(of.path)
		}
		for _, p := range of.pieces {
			all += uint64(len(p.before)) + p.size + 2*uint64(len(p.member)) + 256
			tensors += p.size
		}
	}
	if err := checkRoom(filepath.Dir(contents[0].path), all); err != nil {
		return err
	}
	w := &writer{ctx: ctx, all: tensors, tell: options.Progress}
	out := &outputs{replaces: options.Replace}
	var paths []string
	for _, of := range contents {
		w.path = of.path
		if err = out.add(of.path, func(file io.Writer) error { return w.write(file, of.pieces) }); err != nil {
			break
		}
		paths = append(paths, of.path)
	}
	if err == nil {
		err = out.place()
	}
	if err != nil {
		return errors.Join(err, out.undo())
	}
	if options.Written != nil {
		options.Written(paths)
	}
	return out.end()
}

// content is one file to be written.
type content struct {
	path   string
	pieces []piece
}

// contents returns the layouts of the files.
func (s *Source) contents(specs []Spec, path string, options ConvertOptions) ([]content, error) {
	tensors, err := s.named(specs)
	if err != nil {
		return nil, err
	}
	var kept keptKeys
	if options.KeepMetadata && s.Format == options.Format {
		switch s.Format {
		case header.Safetensors:
			texts := maps.Clone(s.extra)
			maps.Copy(texts, options.Texts)
			options.Texts = texts
		case header.GGUF:
			if kept, err = s.keptKeys(options.Texts); err != nil {
				return nil, err
			}
		}
	}
	if options.MaxFileBytes > 0 {
		return shardContents(tensors, path, options)
	}
	pieces, err := piecesOf(tensors, path, options, kept)
	return []content{{path: path, pieces: pieces}}, err
}

// named returns the tensors of specs with their names.
func (s *Source) named(specs []Spec) ([]named, error) {
	var tensors []named
	seen := map[string]bool{}
	for at := range specs {
		spec := &specs[at]
		if spec.Name == "" || seen[spec.Name] {
			return nil, device.Errorf(device.CodeInvalidArgument, opConvert, "spec %d: the name %q is empty, or another spec has it too", at, spec.Name)
		}
		seen[spec.Name] = true
		p, err := s.checked(spec)
		if err != nil {
			return nil, err
		}
		tensors = append(tensors, named{name: spec.Name, plan: p, size: (&job{plan: p}).size()})
	}
	return tensors, nil
}

// piecesOf returns the layout of one file.
func piecesOf(tensors []named, path string, options ConvertOptions, kept keptKeys) ([]piece, error) {
	switch options.Format {
	case header.Safetensors:
		return safetensorsPieces(tensors, options.Texts)
	case header.GGUF:
		return ggufPieces(tensors, options.Texts, kept)
	case header.NumPy, header.RawFormat:
		if len(options.Texts) > 0 {
			return nil, device.Errorf(device.CodeUnsupported, opConvert, "%s: a file of the format %s has no metadata", path, options.Format)
		}
		if options.Format == header.NumPy {
			return numpyPieces(tensors, filepath.Ext(path) == ".npz")
		}
		if len(tensors) != 1 {
			return nil, device.Errorf(device.CodeInvalidArgument, opConvert, "%s: a raw file holds one tensor, not %d", path, len(tensors))
		}
		return []piece{{plan: tensors[0].plan, size: tensors[0].size}}, nil
	}
	return nil, device.Errorf(device.CodeUnsupported, opConvert, "%s: files of the format %q are not written, but safetensors, numpy, gguf and raw are", path, options.Format)
}

// checkRoom compares the free bytes of a disk with the needed bytes.
func checkRoom(folder string, needed uint64) error {
	var stat unix.Statfs_t
	if err := unix.Statfs(folder, &stat); err != nil {
		return convertError(folder, &os.PathError{Op: "statfs", Path: folder, Err: err})
	}
	if free := uint64(stat.Bavail) * uint64(stat.Bsize); free < needed {
		return device.Errorf(device.CodeResourceExhausted, opConvert, "%s: the file takes %v, and the disk has %v left", folder, device.Size(needed), device.Size(free))
	}
	return nil
}

// convertError returns an error of writing, or nil for nil.
func convertError(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT), errors.Is(err, unix.EFBIG):
		return device.Errorf(device.CodeResourceExhausted, opConvert, "%s: %w", path, err)
	}
	return fileError(path, err)
}

// writer writes the pieces of one file.
type writer struct {
	ctx       context.Context
	path      string
	done, all uint64
	tell      func(Progress)
	buffer    []byte
}

func (w *writer) write(file io.Writer, pieces []piece) error {
	buffered := bufio.NewWriterSize(file, 1<<20)
	out := io.Writer(buffered)
	var archive *zip.Writer
	for _, p := range pieces {
		if p.member != "" {
			if archive == nil {
				archive = zip.NewWriter(buffered)
			}
			var err error
			if out, err = archive.CreateHeader(&zip.FileHeader{Name: p.member, Method: zip.Store}); err != nil {
				return convertError(w.path, err)
			}
		}
		if _, err := out.Write(p.before); err != nil {
			return convertError(w.path, err)
		}
		var err error
		switch {
		case p.plan != nil:
			err = w.tensor(out, p.plan)
		case p.elements != nil:
			err = w.made(out, p.elements)
		}
		if err != nil {
			return err
		}
	}
	if archive != nil {
		if err := archive.Close(); err != nil {
			return convertError(w.path, err)
		}
	}
	return convertError(w.path, buffered.Flush())
}

// made writes the elements that a function makes.
func (w *writer) made(out io.Writer, elements func(io.Writer) error) error {
	if w.ctx.Err() != nil {
		return cancelled(opConvert, w.path, w.done, w.all)
	}
	counted := &counter{to: out}
	err := elements(counted)
	if counted.err != nil {
		return convertError(w.path, counted.err)
	}
	if w.done += counted.bytes; err == nil && w.tell != nil {
		w.tell(Progress{DoneBytes: w.done, TotalBytes: w.all})
	}
	return err
}

// counter counts what is written, and keeps the first error.
type counter struct {
	to    io.Writer
	bytes uint64
	err   error
}

func (c *counter) Write(bytes []byte) (int, error) {
	n, err := c.to.Write(bytes)
	if c.bytes += uint64(n); c.err == nil {
		c.err = err
	}
	return n, err
}

// tensor writes the result of a plan in parts of whole blocks.
func (w *writer) tensor(out io.Writer, p *plan) error {
	t, err := p.open()
	if err != nil {
		return err
	}
	elements := p.view.elements() * p.unit
	per := p.chunkElements()
	for first := uint64(0); first < elements; first += per {
		if w.ctx.Err() != nil {
			return cancelled(opConvert, w.path, w.done, w.all)
		}
		count := min(per, elements-first)
		size, err := p.kind.Size(count)
		if err != nil {
			return err
		}
		part := grown(&w.buffer, size)
		if err := t.read(part, first, count); err != nil {
			return err
		}
		if _, err := out.Write(part); err != nil {
			return convertError(w.path, err)
		}
		if w.done += size; w.tell != nil {
			w.tell(Progress{DoneBytes: w.done, TotalBytes: w.all})
		}
	}
	return nil
}
