package model

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/tensor"
)

// layerTypeOf returns the layer type of the program that makes the elements of a parameter: its initialization
// is the custom one with the name "<type>.<parameter>". nil: there is none.
func layerTypeOf(known operator.Vocabulary, spec *ir.Parameter) *operator.Schema {
	if known == nil || spec.Initialization.Strategy != ir.StrategyCustom {
		return nil
	}
	full, _ := operator.SplitName(spec.Initialization.Name)
	return known.Find(operator.SplitName(full))
}

// makeByLayer makes the layer type of a parameter write its elements.
func (f *filling) makeByLayer(by *operator.Schema, spec *ir.Parameter, whole string, to *tensor.Tensor) error {
	if f.to.engine.Info().HostAddressable {
		// Other work may still use the memory.
		if err := f.stream.Synchronize(device.Forever); err != nil {
			return err
		}
		return madeByLayer(f.program.definition, by, spec, whole, to.Addr())
	}
	block, err := offheap.NewBlock(int(to.SizeBytes()))
	if err != nil {
		return err
	}
	defer block.Free()
	bytes := block.Bytes()
	if err := madeByLayer(f.program.definition, by, spec, whole, device.Addr(offheap.AddressOf(bytes))); err != nil {
		return err
	}
	return to.Write(bytes, f.stream)
}

// configOf returns the configuration of the first layer of a type that has a parameter.
func configOf(m *ir.Model, of *operator.Schema, parameter string) ([]byte, error) {
	for i := range m.Layers {
		l := &m.Layers[i]
		if l.Type == of.FullName() && slices.Contains(l.Parameters, parameter) {
			op, err := l.Operator(m.Operators)
			if err != nil {
				return nil, err
			}
			return op.Config(), nil
		}
	}
	plain, err := of.Prepare(nil)
	if err != nil {
		return nil, err
	}
	return plain.Config(), nil
}

// madeByLayer makes the layer type of a parameter write its elements. The configuration is that of the first layer
// of this type that has the parameter with the name whole, of which spec may be a part.
func madeByLayer(m *ir.Model, by *operator.Schema, spec *ir.Parameter, whole string, to device.Addr) error {
	_, name := operator.SplitName(spec.Initialization.Name)
	config, err := configOf(m, by, whole)
	if err != nil {
		return err
	}
	of := operator.Value{Type: spec.DType}
	for _, length := range spec.Shape {
		of.Shape = append(of.Shape, uint64(length)) // the definition is valid
	}
	return by.Custom.Initialize(config, name, of, to)
}
