package weights

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/internal/similar"
	"ferrum_mem/core/weights/header"
)

// Tensor is a tensor of a source.
type Tensor struct {
	header.Tensor
	// file is the file with the bytes of the tensor.
	file *file
}

// File is the path of the file with the bytes of the tensor, or the name of the memory.
func (t *Tensor) File() string { return t.file.name }

// Source is an open set of named tensors.
type Source struct {
	// Name is the path that was opened.
	Name    string
	Format  header.Format
	tensors []Tensor
	byName  map[string]int
	options Options
	extra   map[string]string
	// values are the metadata of the first file.
	values map[string]header.Value
	files  []*file
	// parts is the number of files with a header.
	parts int
}

// Format is the name of a file format. Package header has the list.
type Format = header.Format

// Options restrict the files that may be opened, and describe files that have no header.
type Options struct {
	// Formats are the formats that are accepted; none: every format. A folder is searched
	// for files of these formats only.
	Formats []Format
	// Raw describes a file without a header; nil: the file has one.
	Raw *RawShape
	// Decoders know further formats; nil: none.
	Decoders *Decoders
}

// RawShape describes a file without a header: one tensor of a type and shape.
type RawShape struct {
	Type  dtype.DType
	Shape []uint64
}

func (o *Options) accepts(format Format) bool {
	return len(o.Formats) == 0 || slices.Contains(o.Formats, format)
}

// Open opens a file, the files of an index (a name that ends in .index.json), or a folder. In a
// folder it opens the files of the index. Without an index it opens the files of one format, in
// this order of preference: safetensors, PyTorch, GGUF, NumPy, ONNX.
//
// Errors: CodeNotFound, CodePermissionDenied, CodeIO; CodeInvalidArgument for a path that is not a
// regular file, and for a format that the options do not accept; CodeInvalidFormat for a header or
// index that breaks its format, for a tensor that is in two files, and for a tensor that is not in
// the file that the index names; CodeUnsupported.
func Open(path string, options Options) (*Source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	s := newSource(path, options)
	switch {
	case options.Raw != nil:
		err = s.openRaw(path, *options.Raw)
	case info.IsDir():
		err = s.openFolder(path)
	case strings.HasSuffix(path, indexSuffix):
		err = s.openIndex(path)
	default:
		err = s.openParts(path)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// OpenMemory opens the content of a file that is in memory. name names it in errors.
func OpenMemory(name string, data []byte, options Options) (*Source, error) {
	s := newSource(name, options)
	f := &file{name: name, size: uint64(len(data)), reader: bytes.NewReader(data)}
	s.keep(f)
	if options.Raw != nil {
		if err := s.addRaw(f, *options.Raw); err != nil {
			return nil, err
		}
		return s, nil
	}
	h, err := s.readHeader(f)
	if err == nil {
		err = s.addTensors(f, h, nil)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func newSource(name string, options Options) *Source {
	return &Source{Name: name, options: options, byName: map[string]int{}, extra: map[string]string{}}
}

// Close closes the files. The caller does not use the source afterwards.
func (s *Source) Close() error {
	var failed error
	for _, f := range s.files {
		failed = errors.Join(failed, f.close())
	}
	s.files = nil
	return failed
}

// keep adds a file to the source, which then owns and closes it.
func (s *Source) keep(f *file) {
	f.number = len(s.files)
	s.files = append(s.files, f)
}

func (s *Source) openRaw(path string, raw RawShape) error {
	f, err := openFile(path)
	if err != nil {
		return err
	}
	s.keep(f)
	return s.addRaw(f, raw)
}

func (s *Source) addRaw(f *file, raw RawShape) error {
	h, err := header.Raw(f.input(), raw.Type, raw.Shape)
	if err != nil {
		return err
	}
	s.Format, s.parts = h.Format, 1
	h.Tensors[0].Name = baseOf(f)
	return s.addTensors(f, h, nil)
}

const indexSuffix = ".index.json"

// folderFiles returns the files of a folder that Open can open, in the order of preference: an
// index, a single file, or all files with an ending.
var folderFiles = [...]struct {
	format  Format
	pattern string
}{
	{header.Safetensors, "model.safetensors" + indexSuffix},
	{header.Safetensors, "model.safetensors"},
	{header.Safetensors, "*.safetensors"},
	{header.PyTorch, "pytorch_model.bin" + indexSuffix},
	{header.PyTorch, "pytorch_model.bin"},
	{header.PyTorch, "*.pt"},
	{header.PyTorch, "*.pth"},
	{header.GGUF, "*" + partEnding},
	{header.NumPy, "*.npz"},
	{header.NumPy, "*.npy"},
	{header.ONNX, "model.onnx"},
	{header.ONNX, "*.onnx"},
}

func (s *Source) openFolder(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fileError(folder, err)
	}
	var patterns []string
	for _, of := range folderFiles {
		pattern := of.pattern
		if !s.options.accepts(of.format) {
			continue
		}
		patterns = append(patterns, pattern)
		var found []string
		for _, entry := range entries {
			if match, _ := filepath.Match(pattern, entry.Name()); match && !entry.IsDir() {
				found = append(found, filepath.Join(folder, entry.Name()))
			}
		}
		switch {
		case len(found) == 0:
			continue
		case strings.HasSuffix(pattern, indexSuffix):
			return s.openIndex(found[0])
		case len(found) > header.MaxShards:
			return device.Errorf(device.CodeInvalidFormat, opOpen, "%s: has more than %d files %s", folder, header.MaxShards, pattern)
		}
		slices.Sort(found)
		if pattern == "*"+partEnding {
			return s.openOnlyModel(folder, found)
		}
		for _, path := range found {
			if err := s.add(path, nil); err != nil {
				return err
			}
		}
		return nil
	}
	return device.Errorf(device.CodeNotFound, opOpen, "%s: there is no file of tensors: none of %s", folder, strings.Join(patterns, ", "))
}

func (s *Source) openIndex(path string) error {
	f, err := openFile(path)
	if err != nil {
		return err
	}
	index, err := header.ReadIndex(f.input())
	_ = f.close()
	if err != nil {
		return err
	}
	for place, name := range index.Files {
		shard, err := inFolder(path, name)
		if err == nil {
			err = s.add(shard, func(tensor string) bool {
				at, listed := index.FileOf[tensor]
				return !listed || at == place
			})
		}
		if err != nil {
			return err
		}
	}
	for tensor, place := range index.FileOf {
		if _, ok := s.byName[tensor]; !ok {
			return device.Errorf(device.CodeInvalidFormat, opOpen, "%s: weight_map.%q: the tensor is not in %s", path, tensor, index.Files[place])
		}
	}
	return nil
}

// add opens a file and adds its tensors. belongs states which tensors the index assigns to the
// file.
func (s *Source) add(path string, belongs func(tensor string) bool) error {
	f, h, err := s.read(path)
	if err != nil {
		return err
	}
	return s.addTensors(f, h, belongs)
}

// read opens a file, keeps it and reads its header.
func (s *Source) read(path string) (*file, *header.Header, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, nil, err
	}
	s.keep(f)
	h, err := s.readHeader(f)
	return f, h, err
}

func (s *Source) readHeader(f *file) (*header.Header, error) {
	h, err := s.options.Decoders.read(f.input())
	if err != nil {
		return nil, err
	}
	switch {
	case !s.options.accepts(h.Format):
		return nil, device.Errorf(device.CodeInvalidArgument, opOpen, "%s: is of format %s, and only %v is accepted", f.name, h.Format, s.options.Formats)
	case s.Format == "":
		s.Format, s.values = h.Format, h.Values
	case s.Format != h.Format:
		return nil, device.Errorf(device.CodeInvalidFormat, opOpen, "%s: is of format %s, and the files before it are of %s", f.name, h.Format, s.Format)
	}
	s.parts++
	for key, value := range h.Extra {
		s.extra[key] = value
	}
	// A NumPy array has no name, so it gets the name of its file.
	if len(h.Tensors) == 1 && h.Tensors[0].Name == "" {
		h.Tensors[0].Name = baseOf(f)
	}
	return h, nil
}

// baseOf returns the name of a file without folder and ending.
func baseOf(f *file) string {
	base := filepath.Base(f.name)
	if name := strings.TrimSuffix(base, filepath.Ext(base)); name != "" {
		return name
	}
	return base
}

func (s *Source) addTensors(f *file, h *header.Header, belongs func(tensor string) bool) error {
	outside := map[string]*file{}
	s.tensors = slices.Grow(s.tensors, len(h.Tensors))
	if len(s.byName) == 0 {
		s.byName = make(map[string]int, len(h.Tensors))
	}
	for _, t := range h.Tensors {
		if at, twice := s.byName[t.Name]; twice {
			return device.Errorf(device.CodeInvalidFormat, opOpen, "%s: %q: the tensor is in %s too", f.name, t.Name, s.tensors[at].File())
		}
		if belongs != nil && !belongs(t.Name) {
			return device.Errorf(device.CodeInvalidFormat, opOpen, "%s: %q: the index has the tensor in another file", f.name, t.Name)
		}
		if len(s.tensors) >= header.MaxTensors {
			return device.Errorf(device.CodeInvalidFormat, opOpen, "%s: with it there are more than %d tensors", f.name, header.MaxTensors)
		}
		of := Tensor{Tensor: t, file: f}
		if t.External != nil {
			other, err := s.external(f, t, outside)
			if err != nil {
				return err
			}
			of.file = other
		}
		s.byName[t.Name] = len(s.tensors)
		s.tensors = append(s.tensors, of)
	}
	return nil
}

// external opens the file with the bytes of an ONNX tensor. Each file is opened once for all
// tensors.
func (s *Source) external(model *file, t header.Tensor, outside map[string]*file) (*file, error) {
	other := outside[t.External.Location]
	if other == nil {
		if model.opened == nil {
			return nil, device.Errorf(device.CodeUnsupported, opOpen, "%s: %q: the tensor is in another file, and the model is in memory", model.name, t.Name)
		}
		path, err := inFolder(model.name, t.External.Location)
		if err != nil {
			return nil, err
		}
		if other, err = openFile(path); err != nil {
			return nil, err
		}
		s.keep(other)
		outside[t.External.Location] = other
	}
	if t.Offset > other.size || t.Size > other.size-t.Offset {
		return nil, device.Errorf(device.CodeInvalidFormat, opOpen, "%s: %q: bytes %d to %d of %s, which has %d", model.name, t.Name, t.Offset, t.Offset+t.Size, other.name, other.size)
	}
	return other, nil
}

// Values returns the metadata of a GGUF file with their types, or those of the first file if the
// model has several. It returns nil for other formats. The caller does not change them.
func (s *Source) Values() map[string]header.Value { return s.values }

// Files returns how many files with a header the source has.
func (s *Source) Files() int { return s.parts }

// Tensors returns all tensors, in the order of their files. The caller does not change them.
func (s *Source) Tensors() []Tensor { return s.tensors }

// Find returns the tensor with a name. Errors: CodeNotFound, which lists the most similar names.
func (s *Source) Find(name string) (*Tensor, error) {
	if at, ok := s.byName[name]; ok {
		return &s.tensors[at], nil
	}
	names := make([]string, len(s.tensors))
	for at := range s.tensors {
		names[at] = s.tensors[at].Name
	}
	hint := ""
	if near := similar.Names(name, names, 3); len(near) > 0 {
		for at := range near {
			near[at] = strconv.Quote(near[at])
		}
		hint = "; the most similar are " + strings.Join(near, ", ")
	}
	return nil, device.Errorf(device.CodeNotFound, "weights.find", "%s: there is no tensor %q among %d%s", s.Name, name, len(s.tensors), hint)
}
