package ir

import (
	"errors"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/strided"
)

// layer resolves the operator and the parameters of a layer.
func (r *resolver) layer(at int) {
	l, form := &r.model.Layers[at], &r.forms[at]
	form.operands = make([]Operand, len(l.Inputs))
	for i, t := range l.Inputs {
		if form.operands[i] = open; t.Name == "" {
			form.operands[i] = absent
		}
	}
	r.layerType(at)
	r.layerParameters(at, r.tensorsOf(at))
}

// layerType finds the operator of a layer.
func (r *resolver) layerType(at int) {
	l, form, path := &r.model.Layers[at], &r.forms[at], elementPath("layers", at)
	if l.Type == InputType {
		r.inputLayer(at)
		return
	}
	var err error
	form.operator, err = l.Operator(r.model.Operators)
	form.isBroken = err != nil
	switch {
	case err == nil:
	case device.CodeOf(err) == device.CodeNotFound:
		i := r.fault(CategoryLayers, path+".layer_type", "the layer %s has the type %s, which is not an operator", quoted(l.Name), quoted(l.Type))
		r.suggestType(i, l.Type)
	default:
		r.fault(CategoryLayers, path+".config", "the layer %s has wrong attributes: %s", quoted(l.Name), messageOf(err))
	}
}

// suggestType suggests the operator of another domain with the same name, or the most similar type.
func (r *resolver) suggestType(i *Issue, unknown string) {
	_, name := operator.SplitName(unknown)
	for _, domain := range []string{operator.ONNX, operator.Ferrum} {
		if slices.Contains(operator.Names(domain), name) {
			i.suggest("use %s", quoted(operator.FullName(domain, name)))
			return
		}
	}
	r.nearest(i, unknown, typesOfLayers(r.model.Operators))
}

// typesOfLayers lists the types that a layer can have.
func typesOfLayers(known operator.Vocabulary) []string {
	types := []string{InputType}
	for _, domain := range []string{operator.ONNX, operator.Ferrum} {
		for _, name := range operator.Names(domain) {
			types = append(types, operator.FullName(domain, name))
		}
	}
	if known != nil {
		types = append(types, known.Names()...)
	}
	return types
}

// inputLayer checks the layer of an input of the model.
func (r *resolver) inputLayer(at int) {
	l, path := &r.model.Layers[at], elementPath("layers", at)
	wrong := ""
	switch {
	case len(l.Inputs) > 0:
		wrong = device.Count(len(l.Inputs), "input")
	case len(l.Parameters) > 0:
		wrong = device.Count(len(l.Parameters), "parameter")
	case len(l.Config) > 0:
		wrong = device.Count(len(l.Config), "attribute")
	case len(l.Outputs) != 1:
		wrong = device.Count(len(l.Outputs), "output")
	default:
		return
	}
	r.forms[at].isBroken = true
	r.fault(CategoryLayers, path, "the layer %s of type %s has %s: it must have one output and nothing else", quoted(l.Name), InputType, wrong)
}

// messageOf returns the message of an error, without the operation and the status.
func messageOf(err error) string {
	var typed *device.Error
	if errors.As(err, &typed) {
		return typed.Message
	}
	return err.Error()
}

// tensorsOf checks the names, types and shapes of the inputs and outputs of a layer. It returns the
// positions of the inputs by name; outputs have the position None.
func (r *resolver) tensorsOf(at int) map[string]int {
	l, path := &r.model.Layers[at], elementPath("layers", at)
	names := make(map[string]int, len(l.Inputs)+len(l.Outputs))
	check := func(side string, list []Tensor) {
		for i, t := range list {
			where := elementPath(path+side, i)
			if t.Name == "" {
				continue
			}
			if _, twice := names[t.Name]; twice {
				r.forms[at].isBroken = true
				r.fault(CategoryLayers, where+".name", "two inputs or outputs of the layer %s have the name %s", quoted(l.Name), quoted(t.Name)).suggest("give each a name of its own")
			}
			names[t.Name] = i
			if side == outputSide {
				names[t.Name] = None
			}
			if field, wrong := t.wrong(); wrong != "" {
				r.forms[at].isBroken = true
				r.fault(CategoryLayers, where+field, "%s of the layer %s %s", quoted(t.Name), quoted(l.Name), wrong)
			}
		}
	}
	check(inputSide, l.Inputs)
	check(outputSide, l.Outputs)
	if !slices.ContainsFunc(l.Outputs, func(t Tensor) bool { return t.Name != "" }) {
		r.forms[at].isBroken = true
		r.fault(CategoryLayers, path+".outputs", "the layer %s has no output", quoted(l.Name))
	}
	return names
}

// The lists of a layer in a path.
const (
	inputSide  = ".inputs"
	outputSide = ".outputs"
)

// wrong returns the field of a tensor that is not possible, and why.
func (t *Tensor) wrong() (field, why string) {
	if len(t.Shape) > strided.MostDimensions {
		return ".shape", "has " + device.Count(len(t.Shape), "dimension") + ": at most " + device.Count(strided.MostDimensions, "dimension") + " are possible"
	}
	if !t.DType.IsKnown() {
		return ".dtype", "has a data type that is not known"
	}
	least := make([]uint64, len(t.Shape))
	for i, length := range t.Shape {
		switch {
		case length < Dynamic:
			return ".shape", "has the shape " + shapeText(t.Shape) + ": a dimension is negative, and -1 alone stands for a dynamic one"
		case length == Dynamic:
			least[i] = 1
			if i == len(t.Shape)-1 {
				least[i], _ = t.DType.Block()
			}
		default:
			least[i] = uint64(length)
		}
	}
	_, _, why = sizeOf(least, t.DType)
	return ".shape", why
}

// layerParameters resolves the names of the parameters of a layer. inputs has the positions of its inputs.
func (r *resolver) layerParameters(at int, inputs map[string]int) {
	l, path := &r.model.Layers[at], elementPath("layers", at)
	seen := map[string]bool{}
	for i, name := range l.Parameters {
		where := elementPath(path+".parameters", i)
		index, known := r.parameters[name]
		input, isInput := inputs[name]
		isInput = isInput && input != None
		switch {
		case seen[name]:
			r.fault(CategoryLayers, where, "the layer %s lists the parameter %s twice", quoted(l.Name), quoted(name)).suggest("remove one of them")
		case !known:
			r.forms[at].isBroken = true
			r.nearest(r.fault(CategoryLayers, where, "the layer %s refers to the parameter %s, which does not exist", quoted(l.Name), quoted(name)), name, r.parameterNames)
			if isInput {
				r.forms[at].operands[input] = absent
			}
		case !isInput:
			r.fault(CategoryLayers, where, "the parameter %s is not an input of the layer %s", quoted(name), quoted(l.Name)).
				suggest("add an input with this name, or remove the parameter from the layer")
		default:
			r.isUsedParameter[index] = true
			r.forms[at].operands[input] = Operand{Parameter: index, Node: None}
			r.declared(at, input, index)
		}
		seen[name] = true
	}
}

// declared compares an input of a layer with the parameter that it is.
func (r *resolver) declared(layer, input, parameter int) {
	t, p := &r.model.Layers[layer].Inputs[input], &r.model.Parameters[parameter]
	if t.DType == p.DType && slices.Equal(t.Shape, p.Shape) {
		return
	}
	r.forms[layer].isBroken = true
	r.fault(CategoryShapes, elementPath(elementPath("layers", layer)+".inputs", input), "the layer %s declares the parameter %s as %s%s: it is %s%s",
		quoted(r.layerNames[layer]), quoted(p.Name), t.DType, shapeText(t.Shape), p.DType, shapeText(p.Shape)).
		suggest("declare %s%s", p.DType, shapeText(p.Shape))
}
