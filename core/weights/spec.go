package weights

import (
	"path"
	"slices"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
)

const opSelect = "weights.select"

// Spec describes one tensor to load.
type Spec struct {
	// Name is the name of the loaded tensor. It is unique in a load.
	Name string
	// Tensor is the name in the source; "": the same as Name.
	Tensor string
	// Shape is the shape that the source must have, before transformations; nil: any.
	Shape []uint64
	// Type is the type that the result must have, after transformations; nil: any. Cast changes the
	// type, whereas Type only checks it.
	Type *dtype.DType
	// Transformations are applied in their order.
	Transformations []Transformation
	// Memory is the memory of the tensor; nil: the memory of the load. The tensors of one load may
	// be on different devices.
	Memory Memory
	// Into is memory of the caller that receives the tensor; then Memory only determines the
	// device. nil: the load allocates memory.
	Into *Range
}

// Range is memory at an address of a device.
type Range struct {
	Addr      device.Addr
	SizeBytes uint64
}

// source returns the name in the source.
func (s *Spec) source() string {
	if s.Tensor != "" {
		return s.Tensor
	}
	return s.Name
}

// Selection chooses tensors by their names. The zero value chooses all of them.
type Selection struct {
	// Include is a list of patterns. A name must match one of them; an empty list matches every
	// name. In a pattern * matches any text, ? one character, and [a-c] one character of a list.
	Include []string
	// Exclude is a list of patterns. A name that matches one of them is not chosen.
	Exclude []string
	// Rename replaces the beginning of names. Only the first entry that fits is applied.
	Rename []Renaming
	// Prefix is put before every name, after Rename.
	Prefix string
	// Transformations are applied to every chosen tensor.
	Transformations []Transformation
}

// Renaming replaces From at the beginning of a name by To.
type Renaming struct{ From, To string }

// Select returns a spec for each tensor that a selection chooses, in the order of the files.
// Errors: CodeInvalidArgument for a pattern that is malformed or that matches no tensor, and for
// two tensors that get the same name.
func (s *Source) Select(of Selection) ([]Spec, error) {
	matched := make([]bool, len(of.Include))
	var specs []Spec
	named := map[string]string{}
	for i := range s.tensors {
		name := s.tensors[i].Name
		chosen, err := of.chooses(name, matched)
		if err != nil {
			return nil, err
		}
		if !chosen {
			continue
		}
		to := of.Prefix + of.renamed(name)
		if other, twice := named[to]; twice {
			return nil, device.Errorf(device.CodeInvalidArgument, opSelect, "%s: the tensors %q and %q both get the name %q", s.Name, other, name, to)
		}
		named[to] = name
		specs = append(specs, Spec{Name: to, Tensor: name, Transformations: slices.Clone(of.Transformations)})
	}
	for at, is := range matched {
		if !is {
			return nil, device.Errorf(device.CodeInvalidArgument, opSelect, "%s: no tensor has a name that matches %q", s.Name, of.Include[at])
		}
	}
	return specs, nil
}

// chooses states whether a name is chosen, and marks the patterns of Include that the name matches.
func (of *Selection) chooses(name string, matched []bool) (bool, error) {
	chosen := len(of.Include) == 0
	for at, pattern := range of.Include {
		fits, err := match(pattern, name)
		if err != nil {
			return false, err
		}
		if fits {
			chosen, matched[at] = true, true
		}
	}
	for _, pattern := range of.Exclude {
		fits, err := match(pattern, name)
		if err != nil {
			return false, err
		}
		chosen = chosen && !fits
	}
	return chosen, nil
}

// match is path.Match, except that / in a name is an ordinary character.
func match(pattern, name string) (bool, error) {
	const slash = "\x01"
	fits, err := path.Match(strings.ReplaceAll(pattern, "/", slash), strings.ReplaceAll(name, "/", slash))
	if err != nil {
		return false, device.Errorf(device.CodeInvalidArgument, opSelect, "the pattern %q is not complete", pattern)
	}
	return fits, nil
}

func (of *Selection) renamed(name string) string {
	for _, r := range of.Rename {
		if rest, fits := strings.CutPrefix(name, r.From); fits {
			return r.To + rest
		}
	}
	return name
}
