package weightjson

import (
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/weights"
)

// Order states which tensors of a source are loaded, and how. The zero value loads all tensors
// unchanged.
type Order struct {
	text *text
	// selection chooses tensors by patterns. memory is the index of their memory.
	selection weights.Selection
	memory    uint64
	// floats is the type to which floating-point tensors of the selection are converted; nil: no
	// conversion.
	floats *dtype.DType
	// listed has one entry for each tensor. It replaces the selection.
	listed   bool
	specs    []weights.Spec
	memories []uint64
}

// order is the form of the text. A field is nil if the text does not have it.
type order struct {
	Include         []string         `json:"include"`
	Exclude         []string         `json:"exclude"`
	Rename          []renaming       `json:"rename"`
	Prefix          *string          `json:"prefix"`
	Transformations []transformation `json:"transformations"`
	FloatDType      *string          `json:"float_dtype"`
	Memory          *uint64          `json:"memory"`
	Tensors         *[]tensor        `json:"tensors"`
}

type renaming struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type tensor struct {
	Name            string           `json:"name"`
	Tensor          string           `json:"tensor"`
	Shape           *[]uint64        `json:"shape"`
	DType           *string          `json:"dtype"`
	Transformations []transformation `json:"transformations"`
	Memory          uint64           `json:"memory"`
	Into            *into            `json:"into"`
}

type into struct {
	Address   uint64 `json:"address"`
	SizeBytes uint64 `json:"size_bytes"`
}

// ParseOrder parses an order. argument names the text in errors. An empty text gives the zero
// value. Errors: CodeInvalidArgument.
func ParseOrder(argument string, content []byte) (*Order, error) {
	o := &Order{text: &text{argument: argument, content: content}}
	if content == nil {
		return o, nil
	}
	var from order
	if err := o.text.decode(&from); err != nil {
		return nil, err
	}
	if from.Tensors != nil {
		return o, o.list(&from)
	}
	return o, o.choose(&from)
}

func (o *Order) choose(from *order) (err error) {
	o.selection = weights.Selection{Include: from.Include, Exclude: from.Exclude}
	for _, r := range from.Rename {
		o.selection.Rename = append(o.selection.Rename, weights.Renaming{From: r.From, To: r.To})
	}
	if from.Prefix != nil {
		o.selection.Prefix = *from.Prefix
	}
	if from.Memory != nil {
		o.memory = *from.Memory
	}
	if from.FloatDType != nil {
		kind, err := o.text.dtypeOf("float_dtype", *from.FloatDType)
		if err != nil {
			return err
		}
		if !kind.IsFloat() {
			return o.text.wrong("has the float_dtype %q, which is not a floating-point type", *from.FloatDType)
		}
		o.floats = &kind
	}
	o.selection.Transformations, err = o.text.transformationsOf("", from.Transformations)
	return err
}

func (o *Order) list(from *order) error {
	if from.Include != nil || from.Exclude != nil || from.Rename != nil || from.Prefix != nil ||
		from.Transformations != nil || from.FloatDType != nil || from.Memory != nil {
		return o.text.wrong("has the key \"tensors\" beside others, which choose tensors by patterns: an order has the one or the other")
	}
	o.listed = true
	for at := range *from.Tensors {
		given, where := &(*from.Tensors)[at], fmt.Sprintf("tensors[%d]", at)
		spec := weights.Spec{Name: given.Name, Tensor: given.Tensor}
		if spec.Name == "" {
			spec.Name = given.Tensor
		}
		if given.Shape != nil {
			spec.Shape = append([]uint64{}, *given.Shape...)
		}
		if given.DType != nil {
			kind, err := o.text.resultOf(where, *given.DType)
			if err != nil {
				return err
			}
			spec.Type = &kind
		}
		if given.Into != nil {
			if given.Into.Address == 0 {
				return o.text.wrong("has at %s.into the address 0", where)
			}
			spec.Into = &weights.Range{Addr: device.Addr(given.Into.Address), SizeBytes: given.Into.SizeBytes}
		}
		var err error
		if spec.Transformations, err = o.text.transformationsOf(where, given.Transformations); err != nil {
			return err
		}
		o.specs = append(o.specs, spec)
		o.memories = append(o.memories, given.Memory)
	}
	return nil
}

// Specs returns the specs for a source. The order refers to memories by their index in memories.
// For a call that needs no memory the list is nil.
//
// Errors: CodeInvalidArgument for a memory that is not in the list; those of Source.Select.
func (o *Order) Specs(source *weights.Source, memories []weights.Memory) ([]weights.Spec, error) {
	if o.listed {
		specs := append([]weights.Spec{}, o.specs...)
		for at := range specs {
			if err := o.place(&specs[at], o.memories[at], memories); err != nil {
				return nil, err
			}
		}
		return specs, nil
	}
	specs, err := source.Select(o.selection)
	if err != nil {
		return nil, err
	}
	for at := range specs {
		if err := o.cast(source, &specs[at]); err != nil {
			return nil, err
		}
		if err := o.place(&specs[at], o.memory, memories); err != nil {
			return nil, err
		}
	}
	return specs, nil
}

// place sets the memory of a spec.
func (o *Order) place(spec *weights.Spec, number uint64, memories []weights.Memory) error {
	if memories == nil {
		return nil
	}
	if number >= uint64(len(memories)) {
		return o.text.wrong("has for %q the memory %d: the request has %d", spec.Name, number, len(memories))
	}
	spec.Memory = memories[number]
	return nil
}

// cast converts a floating-point tensor, or GGUF blocks that can be dequantised.
func (o *Order) cast(source *weights.Source, spec *weights.Spec) error {
	if o.floats == nil {
		return nil
	}
	t, err := source.Find(spec.Tensor)
	if err != nil {
		return err
	}
	if t.Type.IsFloat() || t.Type.CanDequantise() {
		spec.Transformations = append(spec.Transformations, weights.Transformation{Kind: weights.Cast, Type: *o.floats})
	}
	return nil
}
