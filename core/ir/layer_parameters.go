package ir

import (
	"errors"
	"slices"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/operator"
)

// Layer types of the program state the parameters of a layer. A layer that lists no parameters gets them:
// they follow its inputs, and have the names "<layer>.<parameter>". A layer that lists parameters must have
// as many of the same types and shapes, in the same order.

const opLayerParameters = "ir.layer_parameters"

// AddLayerParameters adds the parameters of layers of the program to the model. A parameter without an
// initialization is made by the layer: its rule has the name "<type>.<parameter>". isStored states whether
// the weights have a tensor with a name; then it is the source of the parameter. nil: there are no weights.
// Errors: those of the layers; CodeInvalidFormat for their lists; CodeInvalidConfig for a layer that lists
// other parameters.
func (m *Model) AddLayerParameters(isStored func(name string) bool) error {
	if m.Operators == nil {
		return nil
	}
	known := map[string]*Parameter{}
	for i := range m.Parameters {
		known[m.Parameters[i].Name] = &m.Parameters[i]
	}
	var added []Parameter
	for at := range m.Layers {
		l := &m.Layers[at]
		stated, err := l.statedParameters(m)
		if err != nil {
			return device.Errorf(device.CodeOf(err), opLayerParameters, "%s: the layer %s (%s): %w", elementPath("layers", at), quoted(l.Name), l.Type, err)
		}
		if len(l.Parameters) > 0 && stated != nil {
			if err := l.compare(stated, known); err != nil {
				return device.Errorf(device.CodeInvalidConfig, opLayerParameters, "%s.parameters: %w", elementPath("layers", at), err)
			}
			continue
		}
		for _, p := range stated {
			p.complete(l, isStored)
			if known[p.Name] != nil {
				return device.Errorf(device.CodeInvalidConfig, opLayerParameters, "%s: the layer %s needs a parameter %s, and the model has one with this name: list it in the parameters of the layer",
					elementPath("layers", at), quoted(l.Name), quoted(p.Name))
			}
			known[p.Name] = &p
			added = append(added, p)
			l.Inputs = append(l.Inputs, Tensor{Name: p.Name, Shape: slices.Clone(p.Shape), DType: p.DType})
			l.Parameters = append(l.Parameters, p.Name)
		}
	}
	m.Parameters = append(m.Parameters, added...)
	return nil
}

// statedParameters returns the parameters that the type of a layer states; nil: none, or the layer is not one
// of the program, or is wrong, which Validate reports.
func (l *Layer) statedParameters(m *Model) ([]Parameter, error) {
	if domain, _ := operator.SplitName(l.Type); domain == operator.ONNX || domain == operator.Ferrum {
		return nil, nil
	}
	op, err := l.Operator(m.Operators)
	if err != nil || op.Custom == nil {
		return nil, nil
	}
	text, err := op.Custom.Parameters(op.Config())
	if err != nil || text == nil {
		return nil, err
	}
	list, err := ParseParameters(text)
	if err != nil {
		return nil, device.Errorf(device.CodeOf(err), opLayerParameters, "its parameters: %w", err)
	}
	names := map[string]bool{}
	for _, p := range list {
		if p.Name == "" || strings.ContainsRune(p.Name, '.') || names[p.Name] {
			return nil, device.Errorf(device.CodeInvalidConfig, opLayerParameters, "the parameter name %s is empty, has a '.', or is there twice", quoted(p.Name))
		}
		names[p.Name] = true
	}
	return list, nil
}

// complete makes a stated parameter one of the model.
func (p *Parameter) complete(l *Layer, isStored func(string) bool) {
	if p.Initialization == (Initialization{}) {
		p.Initialization = Initialization{Strategy: StrategyCustom, Name: l.Type + "." + p.Name}
	}
	p.Name = l.Name + "." + p.Name
	if isStored != nil && isStored(p.Name) {
		p.Source = p.Name
	}
}

// compare checks the parameters that a layer lists. Validate reports names that the model does not have.
func (l *Layer) compare(stated []Parameter, known map[string]*Parameter) error {
	if len(stated) != len(l.Parameters) {
		return errors.New("the layer " + quoted(l.Name) + " lists " + device.Count(len(l.Parameters), "parameter") + ": its type " + l.Type + " has " + device.Count(len(stated), "parameter"))
	}
	for i, want := range stated {
		has := known[l.Parameters[i]]
		if has != nil && (has.DType != want.DType || !slices.Equal(has.Shape, want.Shape)) {
			return errors.New("the layer " + quoted(l.Name) + " lists " + quoted(has.Name) + " " + has.DType.String() + shapeText(has.Shape) + ": its type " + l.Type +
				" has " + quoted(want.Name) + " " + want.DType.String() + shapeText(want.Shape))
		}
	}
	return nil
}
