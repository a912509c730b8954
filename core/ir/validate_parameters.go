package ir

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
)

// parameter checks the shape, the type and the elements of a parameter.
func (f *findings) parameter(at int, p *Parameter) {
	path, name := elementPath("parameters", at), quoted(p.Name)
	elements, _, wrong := extent(p.Shape, p.DType)
	if wrong != "" {
		f.fault(CategoryParameters, path+".shape", "the parameter %s %s", name, wrong)
	}
	switch {
	case p.IsConstant():
		f.constant(path, p, elements, wrong != "")
	case len(p.Parts) > 0:
		f.parts(path, p)
	default:
		f.initialization(path+".initialization", p)
	}
}

// parts checks a parameter that consists of others.
func (f *findings) parts(path string, p *Parameter) {
	name := quoted(p.Name)
	if p.Source != "" || p.Initialization != (Initialization{}) {
		f.fault(CategoryParameters, path, "the parameter %s has parts, and also a source or an initialization", name).suggest("remove them: each part has its own")
	}
	length := uint64(0)
	for i := range p.Parts {
		part := &p.Parts[i]
		where := elementPath(path+".parts", i)
		_, _, wrong := extent(part.Shape, part.DType)
		switch {
		case wrong != "":
			f.fault(CategoryParameters, where+".shape", "the part %s %s", quoted(part.Name), wrong)
			return
		case part.DType != p.DType || len(part.Shape) == 0 || len(part.Shape) != len(p.Shape) || !slices.Equal(part.Shape[1:], p.Shape[1:]):
			f.fault(CategoryParameters, where, "the part %s %s%s does not fit into the parameter %s %s%s", quoted(part.Name), part.DType, shapeText(part.Shape), name, p.DType, shapeText(p.Shape))
			return
		case part.IsConstant() || len(part.Parts) > 0:
			f.fault(CategoryParameters, where, "the part %s of the parameter %s has a value or parts", quoted(part.Name), name)
		}
		if !grow(&length, uint64(part.Shape[0])) {
			break
		}
		f.initialization(where+".initialization", part)
	}
	if length != uint64(p.Shape[0]) {
		f.fault(CategoryParameters, path+".parts", "the parts of the parameter %s %s have the length %d together", name, shapeText(p.Shape), length)
	}
}

// constant checks a parameter whose elements the definition has.
func (f *findings) constant(path string, p *Parameter, elements uint64, isMisshaped bool) {
	name := quoted(p.Name)
	switch {
	case p.DType != dtype.I64:
		f.fault(CategoryParameters, path+".dtype", "the constant %s has the type %s: a constant must be i64", name, p.DType)
	case !isMisshaped && elements != uint64(len(p.Value)):
		f.fault(CategoryParameters, path+".value", "the constant %s has %s: its shape %s has %d", name, device.Count(len(p.Value), "element"), shapeText(p.Shape), elements)
	case p.Source != "" || len(p.Parts) > 0:
		f.fault(CategoryParameters, path+".value", "the constant %s has a value, and also a source or parts", name).suggest("keep one of them")
	case p.Trainable:
		f.report(Warning, CategoryParameters, path+".trainable", "the constant %s is trainable", name).suggest("set trainable to false")
	}
}

// initialization checks the rule for the elements of a parameter.
func (f *findings) initialization(path string, p *Parameter) {
	i, name := p.Initialization, quoted(p.Name)
	if i == (Initialization{}) {
		if p.Source == "" {
			f.fault(CategoryInitialization, path, "the parameter %s has no source, no value and no initialization", name).
				suggest("set the name of its tensor in the weights as source")
		}
		return
	}
	if !slices.Contains(Strategies(), i.Strategy) {
		var known []string
		for _, s := range Strategies() {
			known = append(known, string(s))
		}
		f.nearest(f.fault(CategoryInitialization, path+".strategy", "the strategy %s of the parameter %s is not known", quoted(string(i.Strategy)), name), string(i.Strategy), known)
		return
	}
	for _, n := range i.numbers() {
		switch {
		case !isFinite(n.value):
			f.fault(CategoryInitialization, path+"."+n.name, "%s of the parameter %s is %v: it must be finite", n.name, name, n.value)
		case n.value != 0 && !slices.Contains(i.Strategy.numbers(), n.name):
			f.fault(CategoryInitialization, path+"."+n.name, "the strategy %s of the parameter %s has no %s", i.Strategy, name, n.name).suggest("remove it")
		}
	}
	isRandom := i.Strategy != StrategyZeros && i.Strategy != StrategyOnes && i.Strategy != StrategyCustom
	switch {
	case i.Strategy == StrategyUniform && i.Min >= i.Max:
		f.fault(CategoryInitialization, path+".min", "min %v of the parameter %s is not below max %v", i.Min, name, i.Max)
	case i.Strategy == StrategyNormal && i.Std < 0:
		f.fault(CategoryInitialization, path+".std", "std %v of the parameter %s is negative", i.Std, name)
	case i.Strategy == StrategyCustom && i.Name == "":
		f.fault(CategoryInitialization, path+".name", "the custom strategy of the parameter %s has no name", name)
	case i.Strategy != StrategyCustom && i.Name != "":
		f.fault(CategoryInitialization, path+".name", "the strategy %s of the parameter %s has no name", i.Strategy, name).suggest("remove it")
	case (i.Strategy == StrategyXavier || i.Strategy == StrategyKaiming) && len(p.Shape) < 2:
		f.fault(CategoryInitialization, path+".strategy", "the strategy %s needs a matrix: the parameter %s has the shape %s", i.Strategy, name, shapeText(p.Shape)).
			suggest("use zeros, ones, uniform or normal")
	case isRandom && !p.DType.IsFloat() && !p.DType.CanQuantise():
		f.fault(CategoryInitialization, path+".strategy", "the strategy %s needs a floating-point type: the parameter %s has %s", i.Strategy, name, p.DType).
			suggest("use zeros or ones")
	}
}

// tied checks that parameters with the same source have the same form.
func (f *findings) tied(parameters []Parameter) {
	first := map[string]*Parameter{}
	for at, p := range wholes(parameters) {
		if p.Source == "" {
			continue
		}
		o := first[p.Source]
		if o == nil {
			first[p.Source] = p
			continue
		}
		if o.DType != p.DType || !slices.Equal(o.Shape, p.Shape) {
			f.fault(CategoryParameters, elementPath("parameters", at), "the parameters %s %s%s and %s %s%s have the same source %s", quoted(o.Name), o.DType, shapeText(o.Shape),
				quoted(p.Name), p.DType, shapeText(p.Shape), quoted(p.Source)).suggest("use one parameter in both layers")
		}
	}
}
