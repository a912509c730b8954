package backend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"ferrum_mem/core/device"
)

// Requirements are what a program needs of a backend. The zero value needs nothing.
type Requirements struct {
	Devices           Devices `json:"required_devices"`
	DTypes            DTypes  `json:"required_dtypes"`
	MinBatchSize      uint64  `json:"min_batch_size"`
	MinSequenceLength uint64  `json:"min_sequence_length"`
	FlashAttention    bool    `json:"requires_flash_attention"`
	PagedAttention    bool    `json:"requires_paged_attention"`
	// Extra has values of JSON. A number is met by a property that is as large or larger, any
	// other value by an equal one.
	Extra map[string]json.RawMessage `json:"extra_requirements"`
}

// ParseRequirements reads requirements from a JSON object. An empty text needs nothing. Errors:
// CodeInvalidFormat for a text that is no such object, or has an unknown field.
func ParseRequirements(text []byte) (Requirements, error) {
	r := Requirements{}
	if len(bytes.TrimSpace(text)) == 0 {
		return r, nil
	}
	if err := decode(text, &r); err != nil {
		return r, device.Errorf(device.CodeInvalidFormat, "backend.requirements", "requirements: %w", err)
	}
	return r, nil
}

// MeetsRequirements states whether the backend has all that is required. Equal limits suffice.
func (c Capabilities) MeetsRequirements(r Requirements) bool { return len(c.Unmet(r)) == 0 }

// Unmet lists what the backend lacks of the requirements, one sentence each.
func (c Capabilities) Unmet(r Requirements) []string {
	var lacks []string
	lack := func(format string, values ...any) { lacks = append(lacks, fmt.Sprintf(format, values...)) }
	for _, id := range r.Devices {
		if !slices.Contains(c.Devices, id) {
			lack("required_devices: it does not support %s", id)
		}
	}
	for _, t := range r.DTypes {
		if !slices.Contains(c.DTypes, t) {
			lack("required_dtypes: it does not support %s", t)
		}
	}
	if c.MaxBatchSize < r.MinBatchSize {
		lack("min_batch_size: %d is above its limit of %d", r.MinBatchSize, c.MaxBatchSize)
	}
	if c.MaxSequenceLength < r.MinSequenceLength {
		lack("min_sequence_length: %d is above its limit of %d", r.MinSequenceLength, c.MaxSequenceLength)
	}
	if r.FlashAttention && !c.FlashAttention {
		lack("requires_flash_attention: its attention is not of this kind")
	}
	if r.PagedAttention && !c.PagedAttention {
		lack("requires_paged_attention: its attention takes no pages")
	}
	for _, name := range slices.Sorted(maps.Keys(r.Extra)) {
		has, isThere := c.Extra[name]
		switch {
		case !isThere:
			lack("extra_requirements: it has no property %s", shortened(name))
		case !satisfies(has, r.Extra[name]):
			lack("extra_requirements: property %s is %s, %s is required", shortened(name), shortened(string(has)), shortened(string(r.Extra[name])))
		}
	}
	return lacks
}

// satisfies states whether a value of JSON meets a required one.
func satisfies(has, required json.RawMessage) bool {
	var a, b any
	if json.Unmarshal(has, &a) != nil || json.Unmarshal(required, &b) != nil {
		return false
	}
	if x, isNumber := a.(float64); isNumber {
		y, bothAre := b.(float64)
		return bothAre && x >= y
	}
	return reflect.DeepEqual(a, b)
}
