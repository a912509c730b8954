package model

import (
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

// makeByLayer makes the layer type of a parameter write its elements. The configuration is that of the first
// layer of this type that uses the parameter.
func (f *filling) makeByLayer(by *operator.Schema, p *parameter, spec *ir.Parameter, to *tensor.Tensor) error {
	_, name := operator.SplitName(spec.Initialization.Name)
	config, err := f.configOf(by, p)
	if err != nil {
		return err
	}
	of := operator.Value{Type: spec.DType}
	for _, length := range spec.Shape {
		of.Shape = append(of.Shape, uint64(length)) // the definition is valid
	}
	if f.to.engine.Info().HostAddressable {
		// Other work may still use the memory.
		if err := f.stream.Synchronize(device.Forever); err != nil {
			return err
		}
		return by.Custom.Initialize(config, name, of, to.Addr())
	}
	block, err := offheap.NewBlock(int(to.SizeBytes()))
	if err != nil {
		return err
	}
	defer block.Free()
	bytes := block.Bytes()
	if err := by.Custom.Initialize(config, name, of, device.Addr(offheap.AddressOf(bytes))); err != nil {
		return err
	}
	return to.Write(bytes, f.stream)
}

// configOf returns the configuration of a use of a layer type that has a parameter.
func (f *filling) configOf(of *operator.Schema, p *parameter) ([]byte, error) {
	for _, u := range p.uses {
		if op := f.program.nodes[u.node].op; op.Name() == of.FullName() {
			return op.Config(), nil
		}
	}
	plain, err := of.Prepare(nil)
	if err != nil {
		return nil, err
	}
	return plain.Config(), nil
}
