package weights

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/weights/header"
)

// Tensor is a tensor of a source.
type Tensor struct {
	header.Tensor
	// file is the one that its bytes are in.
	file *file
}

// File is the path of the file that the tensor's bytes are in, or the name of the memory.
func (t *Tensor) File() string { return t.file.name }

// Source is an open set of named tensors.
type Source struct {
	// Name is the path that was opened.
	Name    string
	Format  header.Format
	tensors []Tensor
	byName  map[string]int
	extra   map[string]string
	// values are those of the file that was added last.
	values map[string]header.Value
	files  []*file
}

// RawShape describes a file without a header: one tensor of a type and shape.
type RawShape struct {
	Type  dtype.DType
	Shape []uint64
}

// Open opens a file, the files of an index (a name that ends in .index.json), or a folder: its
// index, else its files of one format, safetensors before PyTorch, GGUF, NumPy and ONNX. raw is nil,
// or describes a file that has no header.
//
// Errors: CodeNotFound, CodePermissionDenied, CodeIO; CodeInvalidArgument for what is no regular
// file; CodeInvalidFormat for a header or index that breaks its format, for a tensor that is in
// two files, and for one that the index names where it is not; CodeUnsupported.
func Open(path string, raw *RawShape) (*Source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	s := &Source{Name: path, byName: map[string]int{}, extra: map[string]string{}}
	switch {
	case raw != nil:
		err = s.openRaw(path, *raw)
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

// OpenMemory opens the bytes of a file that are in memory. name is what errors call them.
func OpenMemory(name string, data []byte, raw *RawShape) (*Source, error) {
	s := &Source{Name: name, byName: map[string]int{}, extra: map[string]string{}}
	f := &file{name: name, size: uint64(len(data)), reader: bytes.NewReader(data)}
	s.files = append(s.files, f)
	var err error
	if raw != nil {
		err = s.addRaw(f, *raw)
	} else {
		err = s.addHeader(f, nil)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Close closes the files. The source is not used afterwards.
func (s *Source) Close() error {
	var failed error
	for _, f := range s.files {
		failed = errors.Join(failed, f.close())
	}
	s.files = nil
	return failed
}

func (s *Source) openRaw(path string, raw RawShape) error {
	f, err := openFile(path)
	if err != nil {
		return err
	}
	s.files = append(s.files, f)
	return s.addRaw(f, raw)
}

func (s *Source) addRaw(f *file, raw RawShape) error {
	h, err := header.Raw(f.input(), raw.Type, raw.Shape)
	if err != nil {
		return err
	}
	s.Format = h.Format
	return s.addTensors(f, h, nil)
}

const indexSuffix = ".index.json"

// folderFiles are the files that a folder is opened by, best first: an index, a single file, or all
// files with an ending.
var folderFiles = [...]string{
	"model.safetensors" + indexSuffix, "model.safetensors", "*.safetensors",
	"pytorch_model.bin" + indexSuffix, "pytorch_model.bin", "*.pt", "*.pth",
	"*.gguf", "*.npz", "*.npy", "model.onnx", "*.onnx",
}

func (s *Source) openFolder(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fileError(folder, err)
	}
	for _, pattern := range folderFiles {
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
	return device.Errorf(device.CodeNotFound, opOpen, "%s: there is no file of tensors: none of %s", folder, strings.Join(folderFiles[:], ", "))
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

// add opens a file and takes in its tensors. belongs says which of them the index has there.
func (s *Source) add(path string, belongs func(tensor string) bool) error {
	f, err := openFile(path)
	if err != nil {
		return err
	}
	s.files = append(s.files, f)
	return s.addHeader(f, belongs)
}

func (s *Source) addHeader(f *file, belongs func(tensor string) bool) error {
	h, err := header.Read(f.input())
	if err != nil {
		return err
	}
	if s.Format != "" && s.Format != h.Format {
		return device.Errorf(device.CodeInvalidFormat, opOpen, "%s: is of format %s, and the files before it are of %s", f.name, h.Format, s.Format)
	}
	s.Format = h.Format
	s.values = h.Values
	for key, value := range h.Extra {
		s.extra[key] = value
	}
	// An array of NumPy has no name: the name of its file is that.
	if len(h.Tensors) == 1 && h.Tensors[0].Name == "" {
		base := filepath.Base(f.name)
		h.Tensors[0].Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	return s.addTensors(f, h, belongs)
}

func (s *Source) addTensors(f *file, h *header.Header, belongs func(tensor string) bool) error {
	outside := map[string]*file{}
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

// external opens the file that holds a tensor of an ONNX model, once for all of its tensors.
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
		s.files = append(s.files, other)
		outside[t.External.Location] = other
	}
	if t.Offset > other.size || t.Size > other.size-t.Offset {
		return nil, device.Errorf(device.CodeInvalidFormat, opOpen, "%s: %q: bytes %d to %d of %s, which has %d", model.name, t.Name, t.Offset, t.Offset+t.Size, other.name, other.size)
	}
	return other, nil
}

// Tensors are all tensors, in the order of their files. They are not changed.
func (s *Source) Tensors() []Tensor { return s.tensors }

// Find finds a tensor by its name. Errors: CodeNotFound, which names the nearest.
func (s *Source) Find(name string) (*Tensor, error) {
	at, ok := s.byName[name]
	if !ok {
		return nil, device.Errorf(device.CodeNotFound, "weights.find", "%s: there is no tensor %q among %d", s.Name, name, len(s.tensors))
	}
	return &s.tensors[at], nil
}
