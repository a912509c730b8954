package weights

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/internal/sorting"
	"ferrum_mem/core/weights/header"
)

// The layouts of the files that Convert writes. A layout lists all bytes and tensors of a file in
// their order. It is computed before anything is written.

// piece is a part of a file: bytes, followed by a tensor.
type piece struct {
	// member is the name of the archive member that begins here; "": no member begins here.
	member string
	before []byte
	// plan has the tensor, or elements writes its size bytes. Both are nil for a piece without a tensor.
	plan     *plan
	elements func(io.Writer) error
	size     uint64
}

// named is a tensor to be written, with its name.
type named struct {
	name string
	plan *plan
	size uint64
}

func cannotWrite(format Format, name, why string) error {
	return device.Errorf(device.CodeUnsupported, opConvert, "%q: cannot be written as %s: %s", name, format, why)
}

// safetensorsPieces orders the tensors by the width of their elements, so that each tensor begins
// at a multiple of its width.
func safetensorsPieces(tensors []named, texts map[string]string) ([]piece, error) {
	tensors = slices.Clone(tensors)
	width := func(of named) uint64 { _, bytes := of.plan.kind.Block(); return bytes }
	sorting.StableBy(tensors, func(a, b named) int { return int(width(b)) - int(width(a)) })
	var text strings.Builder
	text.WriteString("{")
	if len(texts) > 0 {
		raw, err := json.Marshal(texts)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&text, `"__metadata__":%s`, raw)
	}
	end := uint64(0)
	pieces := make([]piece, 1, len(tensors)+1)
	for _, of := range tensors {
		kind, known := header.SafetensorsName(of.plan.kind)
		if !known {
			return nil, cannotWrite(header.Safetensors, of.name, "it has no type "+of.plan.kind.String())
		}
		if of.name == "__metadata__" {
			return nil, cannotWrite(header.Safetensors, of.name, "the name has another meaning there")
		}
		name, err := json.Marshal(of.name)
		if err != nil {
			return nil, err
		}
		shape := append([]uint64{}, of.plan.shape...)
		raw, err := json.Marshal(map[string]any{"dtype": kind, "shape": shape, "data_offsets": []uint64{end, end + of.size}})
		if err != nil {
			return nil, err
		}
		if text.Len() > 1 {
			text.WriteString(",")
		}
		fmt.Fprintf(&text, "%s:%s", name, raw)
		end += of.size
		pieces = append(pieces, piece{plan: of.plan, size: of.size})
	}
	text.WriteString("}")
	text.WriteString(strings.Repeat(" ", (8-text.Len()%8)%8))
	pieces[0].before = append(binary.LittleEndian.AppendUint64(nil, uint64(text.Len())), text.String()...)
	return pieces, nil
}

// npyStart returns the header of a NumPy array.
func npyStart(of named) ([]byte, error) {
	descr, known := header.NumPyName(of.plan.kind)
	if !known {
		return nil, cannotWrite(header.NumPy, of.name, "it has no type "+of.plan.kind.String())
	}
	shape := ""
	for _, side := range of.plan.shape {
		shape += fmt.Sprintf("%d, ", side)
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape)
	const before = 10
	text += strings.Repeat(" ", (64-(before+len(text)+1)%64)%64) + "\n"
	out := append([]byte("\x93NUMPY\x01\x00"), byte(len(text)), byte(len(text)>>8))
	return append(out, text...), nil
}

// numpyPieces lays out one array as a file of its own and several arrays as an archive.
func numpyPieces(tensors []named, isArchive bool) ([]piece, error) {
	if !isArchive && len(tensors) != 1 {
		return nil, device.Errorf(device.CodeInvalidArgument, opConvert, "a file .npy holds one tensor, not %d: the file .npz holds more", len(tensors))
	}
	var pieces []piece
	for _, of := range tensors {
		start, err := npyStart(of)
		if err != nil {
			return nil, err
		}
		p := piece{before: start, plan: of.plan, size: of.size}
		if isArchive {
			p.member = of.name + ".npy"
			if strings.ContainsAny(of.name, "\\\x00") || path.Clean("/"+of.name) != "/"+of.name {
				return nil, cannotWrite(header.NumPy, of.name, "the name cannot be the name of a member of an archive")
			}
		}
		pieces = append(pieces, p)
	}
	return pieces, nil
}

// keptKeys holds keys and values of a GGUF file as encoded bytes.
type keptKeys struct {
	count uint64
	bytes []byte
}

// keptKeys reads the keys that a copy of a GGUF file keeps. It skips text values, and the keys that
// state where tensors are or which of several files this file is.
func (s *Source) keptKeys(texts map[string]string) (keptKeys, error) {
	kept, from := keptKeys{}, s.files[0]
	names := slices.Collect(maps.Keys(s.values))
	sorting.By(names, func(a, b string) int { return cmp.Compare(s.values[a].Offset, s.values[b].Offset) })
	for _, name := range names {
		_, isGiven := texts[name]
		if isGiven || name == ggufAlignment || strings.HasPrefix(name, partKeys) {
			continue
		}
		at := s.values[name]
		record := make([]byte, at.SizeBytes)
		if n, err := from.reader.ReadAt(record, int64(at.Offset)); n < len(record) {
			return keptKeys{}, device.Errorf(device.CodeIO, opConvert, "%s: %s: the key cannot be read, or the file became shorter: %w", from.name, name, err)
		}
		kept.count++
		kept.bytes = append(kept.bytes, record...)
	}
	return kept, nil
}

const ggufAlignment = "general.alignment"

// ggufPieces lays out a file of version 3. Its metadata are the kept keys and then the texts.
// Quantised blocks are copied unchanged.
func ggufPieces(tensors []named, texts map[string]string, kept keptKeys) ([]piece, error) {
	const alignment = 32
	out := append([]byte("GGUF"), 3, 0, 0, 0)
	out = binary.LittleEndian.AppendUint64(out, uint64(len(tensors)))
	out = binary.LittleEndian.AppendUint64(out, kept.count+uint64(len(texts)))
	out = append(out, kept.bytes...)
	appendText := func(text string) {
		out = append(binary.LittleEndian.AppendUint64(out, uint64(len(text))), text...)
	}
	keys := make([]string, 0, len(texts))
	for key := range texts {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if key == "" || key == ggufAlignment {
			return nil, cannotWrite(header.GGUF, key, "a text has no such key")
		}
		appendText(key)
		out = binary.LittleEndian.AppendUint32(out, 8)
		appendText(texts[key])
	}
	pieces := make([]piece, 1, len(tensors)+1)
	end := uint64(0)
	for _, of := range tensors {
		number, known := dtype.GGUFNumber(of.plan.kind)
		if !known {
			return nil, cannotWrite(header.GGUF, of.name, "it has no type "+of.plan.kind.String())
		}
		if len(of.plan.shape) > 4 {
			return nil, cannotWrite(header.GGUF, of.name, "it has at most 4 dimensions")
		}
		appendText(of.name)
		out = binary.LittleEndian.AppendUint32(out, uint32(len(of.plan.shape)))
		for _, side := range slices.Backward(of.plan.shape) {
			out = binary.LittleEndian.AppendUint64(out, side)
		}
		out = binary.LittleEndian.AppendUint32(out, number)
		start := (end + alignment - 1) / alignment * alignment
		out = binary.LittleEndian.AppendUint64(out, start)
		pieces = append(pieces, piece{before: make([]byte, start-end), plan: of.plan, size: of.size})
		end = start + of.size
	}
	pieces[0].before = append(out, make([]byte, (alignment-len(out)%alignment)%alignment)...)
	return append(pieces, piece{before: make([]byte, (alignment-end%alignment)%alignment)}), nil
}
