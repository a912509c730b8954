package library

import (
	"cmp"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/internal/sorting"
	"ferrum_mem/core/weights"
	"ferrum_mem/core/weights/header"
)

// SourceKind is the kind of a source.
type SourceKind int32

// The kinds of sources of the C ABI.
const (
	SourceFile SourceKind = iota
	SourceMemory
	SourceURL
	SourceHuggingFace
	SourceS3
)

// WeightsFormat is a format of files in the C ABI.
type WeightsFormat int32

// The formats of the C ABI.
const (
	FormatAny WeightsFormat = iota
	FormatPyTorch
	FormatSafetensors
	FormatNumPy
	FormatRaw
	FormatONNX
	FormatGGUF
	FormatCustom
)

// name returns the name of a format of the library; "": the format is not one of them.
func (f WeightsFormat) name() weights.Format {
	switch f {
	case FormatPyTorch:
		return header.PyTorch
	case FormatSafetensors:
		return header.Safetensors
	case FormatNumPy:
		return header.NumPy
	case FormatRaw:
		return header.RawFormat
	case FormatONNX:
		return header.ONNX
	case FormatGGUF:
		return header.GGUF
	}
	return ""
}

// WeightsSource describes the source to open.
type WeightsSource struct {
	Kind      SourceKind
	Path      string
	Data      device.HostAddr
	DataBytes uint64
	Format    WeightsFormat
	// Decoder is the number of a decoder, for FormatCustom.
	Decoder uint32
	// The fields below are for FormatRaw.
	RawDType dtype.DType
	RawRank  uint32
	RawShape [header.MaxDimensions]uint64
}

// maxMemorySource is the longest source in memory. It exceeds every address space of a process.
const maxMemorySource = 1 << 47

// check rejects values that are invalid for every source.
func (s *WeightsSource) check(op string) error {
	wrong := func(format string, values ...any) error {
		return device.Errorf(device.CodeInvalidArgument, op, "source->"+format, values...)
	}
	switch {
	case s.Kind < SourceFile || s.Kind > SourceS3:
		return wrong("kind is %d: want 0 to %d", s.Kind, SourceS3)
	case s.Format < FormatAny || s.Format > FormatCustom:
		return wrong("format is %d: want 0 to %d", s.Format, FormatCustom)
	case !s.RawDType.IsKnown():
		return wrong("raw_dtype is %d, which is not a type", s.RawDType)
	case s.RawRank > header.MaxDimensions:
		return wrong("raw_rank is %d: want at most %d", s.RawRank, header.MaxDimensions)
	case s.RawRank != 0 && s.Format != FormatRaw:
		return wrong("raw_rank is %d, and the format is not raw", s.RawRank)
	case s.Decoder != 0 && s.Format != FormatCustom:
		return wrong("decoder is %d, and the format is not custom", s.Decoder)
	case s.Kind == SourceMemory && s.DataBytes > maxMemorySource:
		return device.Errorf(device.CodeInvalidSize, op, "source->data_bytes is %d, more than an address space has", s.DataBytes)
	case s.Kind == SourceMemory && s.DataBytes > 0 && s.Data == 0:
		return device.Errorf(device.CodeNullPointer, op, "source->data is NULL, but data_bytes is %d", s.DataBytes)
	case s.Kind == SourceMemory:
		return nil
	case s.Path == "":
		return wrong("path is NULL or empty")
	case s.Data != 0 || s.DataBytes != 0:
		return wrong("data is set, and the kind is not memory")
	}
	switch s.Kind {
	case SourceURL:
		return weights.OpenNetwork("url", s.Path)
	case SourceHuggingFace:
		return weights.OpenNetwork("hugging_face", s.Path)
	case SourceS3:
		return weights.OpenNetwork("s3", s.Path)
	}
	return nil
}

// open opens a source.
func (l *Loader) open(op string, s *WeightsSource) (*weights.Source, error) {
	if err := s.check(op); err != nil {
		return nil, err
	}
	options := weights.Options{Decoders: &l.decoders}
	if name := s.Format.name(); name != "" {
		options.Formats = []weights.Format{name}
	}
	switch s.Format {
	case FormatCustom:
		name, known := l.decoders.Formats()[s.Decoder]
		if !known {
			return nil, device.Errorf(device.CodeNotFound, op, "source->decoder is %d: no decoder has that number", s.Decoder)
		}
		options.Formats = []weights.Format{name}
	case FormatRaw:
		options.Raw = &weights.RawShape{Type: s.RawDType, Shape: append([]uint64{}, s.RawShape[:s.RawRank]...)}
	}
	if s.Kind != SourceMemory {
		return weights.Open(s.Path, options)
	}
	name := s.Path
	if name == "" {
		name = "memory"
	}
	var data []byte
	if s.DataBytes > 0 {
		data = offheap.View(uintptr(s.Data), int(s.DataBytes))
	}
	return weights.OpenMemory(name, data, options)
}

// Open opens a source of tensors. It belongs to no device.
func (l *Loader) Open(s WeightsSource) (uint64, error) {
	const op = "weights.open"
	if _, err := l.library.started(op); err != nil {
		return 0, err
	}
	opened, err := l.open(op, &s)
	if err != nil {
		return 0, err
	}
	entry := &Weights{source: &sharedSource{Source: opened, users: 1}, readings: map[*reading]bool{}}
	entry.left = sync.NewCond(&entry.mu)
	id, err := insertLate(l, l.library.registry.weights, op, entry)
	if err != nil {
		entry.source.release(l.library.log)
	}
	return id, err
}

// Check opens a source and closes it again. It returns the error if the source cannot be loaded.
func (l *Loader) Check(s WeightsSource) error {
	const op = "weights.check"
	if _, err := l.library.started(op); err != nil {
		return err
	}
	opened, err := l.open(op, &s)
	if err != nil {
		return err
	}
	return opened.Close()
}

// CapabilitiesJSON returns the abilities of the loader, in the form that docs/weights.md documents.
func (l *Loader) CapabilitiesJSON() ([]byte, error) {
	const op = "weights.capabilities_json"
	if _, err := l.library.started(op); err != nil {
		return nil, err
	}
	all := weights.Supported()
	var further []weights.Format
	for _, format := range l.decoders.Formats() {
		further = append(further, format)
	}
	sorting.By(further, cmp.Compare)
	all.Formats = append(all.Formats, further...)
	return encode(op, all)
}

// MetadataJSON describes the source, in the form that docs/weights.md documents. The caller does not
// change the text.
func (w *Weights) MetadataJSON() (text []byte, err error) {
	err = w.describe(func(s *weights.Source) (err error) {
		if made := w.metadata.Load(); made != nil {
			text = *made
			return nil
		}
		if text, err = s.MetadataJSON(); err != nil {
			return device.Errorf(device.CodeSerialization, "weights.metadata_json", "%w", err)
		}
		w.metadata.Store(&text)
		return nil
	})
	return text, err
}

// TensorInfo describes a tensor of a source or of a set.
type TensorInfo struct {
	DType            dtype.DType
	Rank             uint32
	Tied, Compressed bool
	Shape            [header.MaxDimensions]uint64
	Address          device.Addr
	SizeBytes        uint64
	Device           string
}

// Find describes a tensor of the source. Errors: CodeNotFound.
func (w *Weights) Find(name string) (info TensorInfo, err error) {
	err = w.describe(func(s *weights.Source) error {
		t, err := s.Find(name)
		if err != nil {
			return err
		}
		info = TensorInfo{DType: t.Type, Rank: uint32(len(t.Shape)), Compressed: t.Compressed != nil, SizeBytes: t.Size}
		copy(info.Shape[:], t.Shape)
		return nil
	})
	return info, err
}
