package weights

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/weights/header"
)

// Metadata describes a source. It is read from the headers, without reading tensors. Its JSON has
// these keys.
type Metadata struct {
	Format Format `json:"format"`
	// TotalSizeBytes is the sum of the stored sizes of the tensors. Tied tensors count once each.
	TotalSizeBytes uint64 `json:"total_size_bytes"`
	// DTypes are the types that occur, in alphabetical order.
	DTypes []string `json:"dtypes"`
	// Tensors has the shape of each tensor, the slowest side first.
	Tensors map[string][]uint64 `json:"tensors"`
	Extra   Extra               `json:"extra"`
}

// Extra has the data for which the contract's metadata has no field.
type Extra struct {
	// Tensors has further data of each tensor.
	Tensors map[string]Place `json:"tensors"`
	// Files are the paths of all files, in the order of their numbers.
	Files []string `json:"files"`
	// Texts are the other metadata of the files: the __metadata__ of safetensors, the keys of GGUF.
	Texts map[string]string `json:"texts"`
}

// Place is the file, the position and the type of a stored tensor.
type Place struct {
	DType string `json:"dtype"`
	// StoredAs is the name of the type in the format.
	StoredAs string `json:"stored_as"`
	// File is the number of its file. OffsetBytes is the offset in the file. SizeBytes is the
	// stored length.
	File        int    `json:"file"`
	OffsetBytes uint64 `json:"offset_bytes"`
	SizeBytes   uint64 `json:"size_bytes"`
	Elements    uint64 `json:"elements"`
	// IsCompressed states that the stored bytes are compressed, so they can only be read from the
	// beginning.
	IsCompressed bool `json:"is_compressed,omitempty"`
}

// Metadata returns the description of the source.
func (s *Source) Metadata() Metadata {
	m := s.summary()
	m.Tensors = make(map[string][]uint64, len(s.tensors))
	m.Extra.Tensors = make(map[string]Place, len(s.tensors))
	for i := range s.tensors {
		t := &s.tensors[i]
		shape := t.Shape
		if shape == nil {
			shape = []uint64{}
		}
		m.Tensors[t.Name] = shape
		m.Extra.Tensors[t.Name] = t.place()
	}
	return m
}

// summary returns the description without its tensors.
func (s *Source) summary() Metadata {
	m := Metadata{Format: s.Format, DTypes: []string{}, Extra: Extra{Files: []string{}, Texts: s.extra}}
	kinds := map[dtype.DType]bool{}
	for i := range s.tensors {
		m.TotalSizeBytes += s.tensors[i].Size
		kinds[s.tensors[i].Type] = true
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

func (t *Tensor) place() Place {
	return Place{
		DType: t.Type.String(), StoredAs: t.TypeName, File: t.file.number, OffsetBytes: t.Offset, SizeBytes: t.Size,
		Elements: t.Elements, IsCompressed: t.Compressed != nil,
	}
}

// Check opens a source and closes it again. It returns nil if the source can be loaded, or an error
// with the reason. It reads only the headers.
func Check(path string, options Options) error {
	s, err := Open(path, options)
	if err != nil {
		return err
	}
	return s.Close()
}

// Capabilities are the abilities of this package, with the names of the contract.
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

// Supported returns the abilities of this package.
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

// maxTensorBytes is the longest tensor: offsets in files and in memory are signed numbers of 64
// bits.
const maxTensorBytes = 1<<63 - 1

// OpenNetwork rejects a source that is neither a file nor memory: an address, or a model of a hub.
func OpenNetwork(kind, place string) error {
	return device.Errorf(device.CodeUnsupported, opOpen, "%s: a source of the kind %q needs the network, which this library does not use: download the files and open their folder", place, kind)
}
