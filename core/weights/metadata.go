package weights

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/weights/header"
)

// Metadata describes a source. It is read from the headers, and no tensor is read for it. It becomes
// JSON with these keys.
type Metadata struct {
	Format Format `json:"format"`
	// TotalSizeBytes is the sum of the tensors as they are stored; tied ones count once each.
	TotalSizeBytes uint64 `json:"total_size_bytes"`
	// DTypes are the types that occur, in alphabetical order.
	DTypes []string `json:"dtypes"`
	// Tensors has the shape of each tensor, the slowest side first.
	Tensors map[string][]uint64 `json:"tensors"`
	Extra   Extra               `json:"extra"`
}

// Extra is what the contract's metadata has no field for.
type Extra struct {
	// Tensors has more about each tensor.
	Tensors map[string]Place `json:"tensors"`
	// Files are the paths of all files, in the order of their numbers.
	Files []string `json:"files"`
	// Texts are what the files say besides: the __metadata__ of safetensors, the keys of GGUF.
	Texts map[string]string `json:"texts"`
}

// Place is where and how a tensor is stored.
type Place struct {
	DType string `json:"dtype"`
	// StoredAs is the type as the format calls it.
	StoredAs string `json:"stored_as"`
	// File is the number of its file, OffsetBytes the place there, SizeBytes its length.
	File        int    `json:"file"`
	OffsetBytes uint64 `json:"offset_bytes"`
	SizeBytes   uint64 `json:"size_bytes"`
	Elements    uint64 `json:"elements"`
	// IsCompressed states that the place has compressed bytes, which can only be read from the
	// beginning.
	IsCompressed bool `json:"is_compressed,omitempty"`
}

// Metadata describes the source.
func (s *Source) Metadata() Metadata {
	m := Metadata{
		Format: s.Format, DTypes: []string{}, Tensors: make(map[string][]uint64, len(s.tensors)),
		Extra: Extra{Tensors: make(map[string]Place, len(s.tensors)), Files: []string{}, Texts: s.extra},
	}
	kinds := map[dtype.DType]bool{}
	for i := range s.tensors {
		t := &s.tensors[i]
		shape := t.Shape
		if shape == nil {
			shape = []uint64{}
		}
		m.Tensors[t.Name] = shape
		m.TotalSizeBytes += t.Size
		kinds[t.Type] = true
		m.Extra.Tensors[t.Name] = Place{
			DType: t.Type.String(), StoredAs: t.TypeName, File: t.file.number, OffsetBytes: t.Offset, SizeBytes: t.Size,
			Elements: t.Elements, IsCompressed: t.Compressed != nil,
		}
	}
	for kind := range kinds {
		m.DTypes = append(m.DTypes, kind.String())
	}
	slices.Sort(m.DTypes)
	for _, f := range s.files {
		m.Extra.Files = append(m.Extra.Files, f.name)
	}
	return m
}

// Check opens a source and closes it again: nil states that it can be loaded, an error says why not.
// It reads the headers.
func Check(path string, options Options) error {
	s, err := Open(path, options)
	if err != nil {
		return err
	}
	return s.Close()
}

// Capabilities are what this package can do, with the names of the contract.
type Capabilities struct {
	Formats         []Format `json:"supported_formats"`
	Sources         []string `json:"supported_sources"`
	MaxTensorSize   uint64   `json:"max_tensor_size"`
	Streaming       bool     `json:"supports_streaming"`
	Concurrent      bool     `json:"supports_concurrent"`
	Transformations []Kind   `json:"supported_transformations"`
}

// Sources are the kinds of sources that can be opened.
const (
	SourceFile   = "file"
	SourceMemory = "memory"
)

// Supported returns what this package can do.
func Supported() Capabilities {
	return Capabilities{
		Formats:         []Format{header.PyTorch, header.Safetensors, header.NumPy, header.RawFormat, header.ONNX, header.GGUF},
		Sources:         []string{SourceFile, SourceMemory},
		MaxTensorSize:   maxTensorBytes,
		Streaming:       true,
		Concurrent:      true,
		Transformations: []Kind{Transpose, Reshape, Cast, Scale, Slice},
	}
}

// maxTensorBytes is the longest tensor: offsets in files and in memory are signed numbers of 64 bits.
const maxTensorBytes = 1<<63 - 1

// OpenNetwork rejects a source that is not a file or memory: an address, or a model of a hub.
func OpenNetwork(kind, place string) error {
	return device.Errorf(device.CodeUnsupported, opOpen, "%s: a source of the kind %q needs the network, which this library does not use: download the files and open their folder", place, kind)
}
