package architecture

import (
	"fmt"
	"slices"
	"strings"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/estimate"
	"ferrum_mem/core/internal/similar"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/strided"
	"ferrum_mem/core/weights"
	"ferrum_mem/core/weights/header"
)

// store finds the tensors of parameters in the weights.
type store struct {
	*weights.Source
	byName map[string]*weights.Tensor
	// prefix comes before all names of the encoder.
	prefix string
	// ggufNames is nil until a name of a GGUF file is looked up.
	ggufNames *strings.Replacer
}

func storeOf(source *weights.Source) *store {
	s := &store{Source: source, byName: make(map[string]*weights.Tensor, len(source.Tensors()))}
	for i := range source.Tensors() {
		t := &source.Tensors()[i]
		s.byName[t.Name] = t
	}
	return s
}

func (s *store) isGGUF() bool { return s.Format == header.GGUF }

// setPrefix finds the prefix of the names of an encoder from the name of its words. A model with further
// parts, such as a head for a task, has the encoder under a name, such as "bert.".
func (s *store) setPrefix(words string) (finding, bool) {
	if s.isGGUF() {
		return finding{}, true
	}
	var found []string
	for i := range s.Tensors() {
		prefix, ends := strings.CutSuffix(s.Tensors()[i].Name, words+".weight")
		if ends && (prefix == "" || strings.HasSuffix(prefix, ".")) {
			found = append(found, prefix)
		}
	}
	switch {
	case len(found) == 0 || slices.Contains(found, ""):
		return finding{}, true
	case len(found) > 1:
		return wrong("weights", "keep the tensors of one of them in the files", "%d tensors end with %s.weight, such as %.60q and %.60q: it is not known which encoder is meant",
			len(found), words, found[0], found[1]), false
	}
	s.prefix = found[0]
	return finding{}, true
}

// stored returns the name that a parameter should have in the weights.
func (s *store) stored(name string) string {
	if s.isGGUF() {
		if s.ggufNames == nil {
			s.ggufNames = ggufNames()
		}
		return s.ggufNames.Replace(name)
	}
	return s.prefix + name
}

// find returns the tensor of a parameter, or nil. Older files have other names for the two vectors of a
// norm.
func (s *store) find(name string) *weights.Tensor {
	name = s.stored(name)
	if t := s.byName[name]; t != nil {
		return t
	}
	if before, is := strings.CutSuffix(name, "LayerNorm.weight"); is {
		return s.byName[before+"LayerNorm.gamma"]
	}
	if before, is := strings.CutSuffix(name, "LayerNorm.bias"); is {
		return s.byName[before+"LayerNorm.beta"]
	}
	return nil
}

// dtype returns the type of all weights if it is one in which operators compute, otherwise F32: the
// weights are then converted when they are loaded.
func (s *store) dtype() dtype.DType {
	common, isFirst := dtype.F32, true
	for i := range s.Tensors() {
		t := &s.Tensors()[i]
		switch {
		case estimate.IsBuffer(t, s.isGGUF()):
		case isFirst:
			common, isFirst = t.Type, false
		case t.Type != common:
			return dtype.F32
		}
	}
	if common == dtype.F16 || common == dtype.BF16 {
		return common
	}
	return dtype.F32
}

// mostOfAKind bounds the issues about tensors of one kind.
const mostOfAKind = 16

// bind sets the sources of the parameters, and adds issues about tensors that are missing, have another
// shape or type, or belong to no parameter.
func (s *issues) bind(in *store, m *ir.Model) {
	used := map[string]bool{}
	missing, misshaped := counted{issues: s, what: "tensors that are missing"}, counted{issues: s, what: "tensors that do not fit"}
	for i := range m.Parameters {
		p := &m.Parameters[i]
		if p.Value != nil {
			continue
		}
		t := in.find(p.Name)
		if t == nil {
			missing.add(in.Name, func() finding { return in.missing(p) })
			continue
		}
		p.Source, used[t.Name] = t.Name, true
		if f, fits := compare(p, t); !fits {
			misshaped.add(t.File(), func() finding { return f })
		}
	}
	missing.end(in.Name)
	misshaped.end(in.Name)
	s.extra(in, used)
}

// missing is the finding about a parameter without a tensor.
func (s *store) missing(p *ir.Parameter) finding {
	name := s.stored(p.Name)
	all := make([]string, len(s.Tensors()))
	for i := range s.Tensors() {
		all[i] = s.Tensors()[i].Name
	}
	near := ""
	if found := similar.Names(name, all, 1); len(found) > 0 {
		near = fmt.Sprintf("; the most similar of %d is %.120q", len(all), found[0])
	}
	return wrong("weights."+name, "take the weights that were published with the configuration", "is not there: a tensor of the shape %s is needed%s", shapeText(p.Shape), near)
}

// compare states whether a tensor has the elements of a parameter.
func compare(p *ir.Parameter, t *weights.Tensor) (finding, bool) {
	path := fmt.Sprintf("weights.%.200s", t.Name)
	if !slices.EqualFunc(p.Shape, t.Shape, func(want int64, has uint64) bool { return uint64(want) == has }) {
		return wrong(path, "take the weights that were published with the configuration",
			"has the shape %s, and the configuration implies %s", strided.Text(t.Shape), shapeText(p.Shape)), false
	}
	switch {
	case t.Type.IsFloat() || t.Type.CanDequantise():
	case t.Type >= dtype.GGUFBase:
		return unsupported(path, "use weights of another type, such as f16 or q8_0", "has blocks of the type %s, which are not converted", t.Type), false
	default:
		return unsupported(path, "use weights of floating-point numbers", "has elements of the type %s, not floating-point numbers", t.TypeName), false
	}
	return finding{}, true
}

func shapeText(shape []int64) string {
	lengths := make([]uint64, len(shape))
	for i, length := range shape {
		lengths[i] = uint64(length)
	}
	return strided.Text(lengths)
}

// extra adds warnings about tensors that no parameter uses. Buffers, such as positions, are no
// parameters.
func (s *issues) extra(in *store, used map[string]bool) {
	unused := counted{issues: s, what: "tensors that no part of the model uses", isWarning: true}
	for i := range in.Tensors() {
		t := &in.Tensors()[i]
		if used[t.Name] || estimate.IsBuffer(t, in.isGGUF()) {
			continue
		}
		unused.add(t.File(), func() finding {
			return warning(categoryWeights, fmt.Sprintf("weights.%.200s", t.Name), "", "no part of the model uses the tensor: it is not loaded")
		})
	}
	unused.end(in.Name)
}

// counted adds the first issues of a kind, and one for the rest.
type counted struct {
	*issues
	what      string
	isWarning bool
	count     int
}

func (c *counted) add(file string, f func() finding) {
	if c.count++; c.count <= mostOfAKind {
		c.issues.add(file, f())
	}
}

func (c *counted) end(file string) {
	if c.count <= mostOfAKind {
		return
	}
	f := wrong("weights", "", "there are %d more %s", c.count-mostOfAKind, c.what)
	if c.isWarning {
		f = warning(categoryWeights, "weights", "", "there are %d more %s", c.count-mostOfAKind, c.what)
	}
	c.issues.add(file, f)
}
