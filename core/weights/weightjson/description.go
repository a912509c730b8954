package weightjson

import (
	"cmp"

	"ferrum_mem/core/internal/sorting"
	"ferrum_mem/core/weights/header"
)

type description struct {
	Tensors map[string]described `json:"tensors"`
	Texts   map[string]string    `json:"texts"`
}

type described struct {
	DType       string   `json:"dtype"`
	Shape       []uint64 `json:"shape"`
	OffsetBytes *uint64  `json:"offset_bytes"`
	IsBigEndian bool     `json:"is_big_endian"`
}

// ParseDescription reads a decoder's description of a file: its tensors, in the order of their
// offsets, and its metadata. Errors: CodeInvalidArgument.
func ParseDescription(argument string, content []byte) ([]header.Tensor, map[string]string, error) {
	t := &text{argument: argument, content: content, named: func(depth int) bool { return depth == 2 }}
	var from description
	if err := t.decode(&from); err != nil {
		return nil, nil, err
	}
	var tensors []header.Tensor
	for name, given := range from.Tensors {
		kind, err := t.dtypeOf(name, given.DType)
		if err != nil {
			return nil, nil, err
		}
		if given.OffsetBytes == nil {
			return nil, nil, t.wrong("lacks for %q the key \"offset_bytes\"", name)
		}
		tensors = append(tensors, header.Tensor{Name: name, Type: kind, Shape: given.Shape, Offset: *given.OffsetBytes, IsBigEndian: given.IsBigEndian})
	}
	sorting.By(tensors, func(a, b header.Tensor) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Name, b.Name))
	})
	return tensors, from.Texts, nil
}

// ParseTexts reads a JSON object of texts. An empty string has no texts. Errors:
// CodeInvalidArgument.
func ParseTexts(argument string, content []byte) (map[string]string, error) {
	if content == nil {
		return nil, nil
	}
	t := &text{argument: argument, content: content, named: func(int) bool { return true }}
	var texts map[string]string
	err := t.decode(&texts)
	return texts, err
}
