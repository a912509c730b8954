package weightjson

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/weights"
)

// transformation is one transformation of an order.
type transformation struct {
	Kind   weights.Kind    `json:"kind"`
	Dim0   *int            `json:"dim0"`
	Dim1   *int            `json:"dim1"`
	Dim    *int            `json:"dim"`
	Shape  *[]uint64       `json:"shape"`
	DType  *string         `json:"dtype"`
	Factor *float32        `json:"factor"`
	Start  *uint64         `json:"start"`
	End    *uint64         `json:"end"`
	Config json.RawMessage `json:"config"`
}

// keysOf returns the keys that a kind has besides kind: the required and the optional keys.
func keysOf(kind weights.Kind) (needs, may []string, known bool) {
	switch kind {
	case weights.Transpose:
		return []string{"dim0", "dim1"}, nil, true
	case weights.Reshape:
		return []string{"shape"}, nil, true
	case weights.Cast:
		return []string{"dtype"}, nil, true
	case weights.Scale:
		return []string{"factor"}, nil, true
	case weights.Slice:
		return []string{"dim"}, []string{"start", "end"}, true
	case weights.Quantize:
		return nil, []string{"config"}, true
	}
	return nil, nil, false
}

// given lists the keys that the text has.
func (t *transformation) given() (keys []string) {
	for _, key := range []struct {
		name string
		is   bool
	}{
		{"dim0", t.Dim0 != nil}, {"dim1", t.Dim1 != nil}, {"dim", t.Dim != nil}, {"shape", t.Shape != nil},
		{"dtype", t.DType != nil}, {"factor", t.Factor != nil}, {"start", t.Start != nil}, {"end", t.End != nil},
		{"config", t.Config != nil},
	} {
		if key.is {
			keys = append(keys, key.name)
		}
	}
	return keys
}

// transformationsOf parses a list. where names the list in errors.
func (t *text) transformationsOf(where string, list []transformation) ([]weights.Transformation, error) {
	made := make([]weights.Transformation, len(list))
	for at := range list {
		one, err := t.transformationOf(fmt.Sprintf("%s.transformations[%d]", where, at), &list[at])
		if err != nil {
			return nil, err
		}
		made[at] = one
	}
	return made, nil
}

func (t *text) transformationOf(where string, from *transformation) (made weights.Transformation, err error) {
	where = strings.TrimPrefix(where, ".")
	needs, may, known := keysOf(from.Kind)
	if !known {
		return made, t.wrong("has at %s the kind %q: the kinds are transpose, reshape, cast, scale, slice and quantize", where, from.Kind)
	}
	given := from.given()
	for _, key := range given {
		if !slices.Contains(needs, key) && !slices.Contains(may, key) {
			return made, t.wrong("has at %s the key %q, which %s does not have", where, key, from.Kind)
		}
	}
	for _, key := range needs {
		if !slices.Contains(given, key) {
			return made, t.wrong("lacks at %s the key %q, which %s needs", where, key, from.Kind)
		}
	}
	made = weights.Transformation{Kind: from.Kind, Start: from.Start, End: from.End}
	switch from.Kind {
	case weights.Transpose:
		made.Dim0, made.Dim1 = *from.Dim0, *from.Dim1
	case weights.Slice:
		made.Dim0 = *from.Dim
	case weights.Reshape:
		made.Shape = *from.Shape
	case weights.Cast:
		made.Type, err = t.resultOf(where, *from.DType)
	case weights.Scale:
		made.Factor = *from.Factor
	}
	return made, err
}

// resultOf returns the type of a result, which may have blocks.
func (t *text) resultOf(where, name string) (dtype.DType, error) {
	if kind, err := dtype.Named(name); err == nil {
		return kind, nil
	}
	return t.dtypeOf(where, name)
}

func (t *text) dtypeOf(where, name string) (dtype.DType, error) {
	kind, err := dtype.Parse(name)
	if err != nil {
		return 0, t.wrong("has at %s the dtype %q, which is not a dtype", where, name)
	}
	return kind, nil
}
