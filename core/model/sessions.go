package model

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/onnx"
	"ferrum_mem/core/tensor"
	"ferrum_mem/core/weights"
)

// sessions computes a model with a session of an engine of graphs. The session has no plan before a run, and
// reads the parameters where they are.
type sessions struct {
	*Executor
	// file is the file of the model, and original its definition; nil, or after passes: the definition of the
	// executor is the model.
	file     *onnx.File
	original *ir.Model
	graph    *onnx.Graph
	// functions are the layers of the program in the graph.
	functions []compute.Function
	// constants are the parameters in memory, in the order of the graph.
	constants []constant
	// kept is memory of the session that stays as long as the session, with the tag of the parameters.
	kept    *zone
	memory  *sessionMemory
	session compute.Session
	// opening is how long the session took to open.
	opening time.Duration
	// ran has what runs have shown about the shapes that were run last.
	ran []*observed
}

var _ computation = (*sessions)(nil)

// constant is a tensor of a graph with its place in the segment of the parameters.
type constant struct {
	*onnx.Initializer
	offset uint64
}

// observed is what a run has shown.
type observed struct {
	key  string
	dims map[string]uint64
	// outputs has the shapes of outputs that follow from the lengths of the dimensions.
	outputs map[string][]int64
	// arenaBytes is the most memory of the arena that was live.
	arenaBytes uint64
}

func (x *sessions) compile(resolved *ir.Resolved) (err error) {
	if x.file == nil || x.definition != x.original || hasProgramLayers(resolved) {
		if x.graph, err = onnx.FromDefinition(x.definition); err != nil {
			return err
		}
		if x.program, err = compile(resolved, nil); err != nil {
			return err
		}
		return x.prepareFunctions(resolved)
	}
	if x.graph, err = x.file.Graph(); err != nil {
		return err
	}
	defined := &program{}
	if x.undefined == nil {
		if defined, err = compile(resolved, nil); err != nil {
			return err
		}
	}
	x.program = &program{definition: x.definition}
	for i := range x.graph.Inputs {
		in, err := inputOf(&x.graph.Inputs[i], defined.inputs)
		if err != nil {
			return err
		}
		x.program.inputs = append(x.program.inputs, in)
	}
	for i := range x.graph.Outputs {
		x.program.outputs = append(x.program.outputs, output{name: x.graph.Outputs[i].Name, value: i})
	}
	return nil
}

// inputOf describes an input of a file. Its default and its table are those that the definition has for the
// name. A definition may have further inputs for what nodes of the file compute.
func inputOf(v *onnx.Value, defined []input) (input, error) {
	in := input{name: v.Name, kind: v.Type, shape: make([]int64, len(v.Shape)), dims: make([]string, len(v.Shape))}
	if !v.HasShape {
		return in, device.Errorf(device.CodeUnsupported, opCompile, "input %q: the file does not state its shape", v.Name)
	}
	for axis, d := range v.Shape {
		in.shape[axis] = d.Length
		if d.Length == ir.Dynamic {
			if in.dims[axis] = d.Name; d.Name == "" {
				in.dims[axis] = fmt.Sprintf("%s.%d", v.Name, axis)
			}
		}
	}
	for i := range defined {
		if of := &defined[i]; of.name == v.Name {
			in.rule, in.table, in.rows = of.rule, of.table, of.rows
		}
	}
	return in, nil
}

func (x *sessions) bind(source *weights.Source) error {
	x.constants = make([]constant, len(x.graph.Initializers))
	for i := range x.graph.Initializers {
		of := &x.graph.Initializers[i]
		switch {
		case source == nil:
			of.Spec.Tensor = ""
		case of.Parameter == nil:
			of.Spec.Tensor = of.Name // a tensor of the file
		}
		if of.Spec.Tensor != "" {
			if _, err := source.Find(of.Spec.Tensor); err != nil {
				return device.Errorf(device.CodeOf(err), opCompile, "parameter %q: %w", of.Name, err)
			}
		}
		x.constants[i].Initializer = of
	}
	return nil
}

// choose checks the rules of parameters that are initialised. All parameters are as the definition states.
func (x *sessions) choose(s *Settings) error {
	for _, c := range x.constants {
		if c.Spec.Tensor != "" || c.Parameter != nil && layerTypeOf(x.definition.Operators, c.Parameter) != nil {
			continue
		}
		if c.Parameter == nil || len(c.Parameter.Parts) > 0 || !c.Parameter.DType.IsConvertible() {
			return device.Errorf(device.CodeUnsupported, opBuild, "parameter %q: elements of %s are not made", c.Name, c.Type)
		}
		if _, err := initializer(c.Parameter, s.Fill.Seed, s.Fill.Initializers); err != nil {
			return err
		}
	}
	return nil
}

// arrange gives each constant its place in the segment, and returns the size of the segment.
func (x *sessions) arrange() uint64 {
	size := uint64(0)
	for i := range x.constants {
		x.constants[i].offset = size
		size += up(max(x.constants[i].SizeBytes, 1), alignmentBytes)
	}
	return size
}

func (x *sessions) register(s *Settings) error {
	const parts = 2 // what the session keeps, and the arena
	start, err := x.enroll(s, x.arrange(), parts)
	if err != nil {
		return err
	}
	x.kept = &zone{model: x.model, engine: x.parameters.engine, tag: ParametersTag, offset: start, most: x.arena.most}
	return nil
}

// fill loads or makes the parameters, and opens the session.
func (x *sessions) fill(ctx context.Context, s *Settings, tell func(done, total uint64)) error {
	if err := x.place(s, x.arrange(), func(f *filling) error { return x.load(ctx, f, tell) }); err != nil {
		return err
	}
	if err := ended(ctx, opBuild, nil); err != nil {
		return err
	}
	var err error
	if x.memory, err = newSessionMemory(x.kept, x.arena); err != nil {
		return err
	}
	g := compute.Graph{
		Name: x.id, ONNX: x.graph.Bytes, External: onnx.ExternalName, Functions: x.functions, Memory: x.memory,
		Device: x.backend.Device().Device(),
	}
	for _, c := range x.constants {
		g.Constants = append(g.Constants, compute.Constant{Name: c.Name, Type: c.Type, Shape: signed(c.Shape), Addr: x.parameters.addr(c.offset)})
	}
	start := time.Now()
	if x.session, err = x.backend.OpenGraph(g); err != nil {
		x.session = nil
		return err
	}
	x.opening = time.Since(start)
	x.publish(0)
	return nil
}

// load places the constants.
func (x *sessions) load(ctx context.Context, f *filling, tell func(done, total uint64)) error {
	var specs []weights.Spec
	var made []*constant
	for i := range x.constants {
		c := &x.constants[i]
		f.total.Add(c.SizeBytes)
		if c.Spec.Tensor == "" {
			made = append(made, c)
			continue
		}
		spec := c.Spec
		spec.Name, spec.Memory = fmt.Sprint(i), slot{zone: x.parameters}
		spec.Into = &weights.Range{Addr: x.parameters.addr(c.offset), SizeBytes: c.SizeBytes}
		specs = append(specs, spec)
	}
	if len(specs) > 0 {
		before := uint64(0)
		_, err := f.source.Load(ctx, specs, weights.LoadOptions{Threads: f.threads(), Progress: func(of weights.Progress) {
			f.tell(of.DoneBytes-before, tell)
			before = of.DoneBytes
		}})
		if err != nil {
			return ended(ctx, opBuild, err)
		}
	}
	for _, c := range made {
		if err := ended(ctx, opBuild, nil); err != nil {
			return err
		}
		if err := x.make(f, c); err != nil {
			return device.Errorf(device.CodeOf(err), opBuild, "parameter %q: %w", c.Name, err)
		}
		f.tell(c.SizeBytes, tell)
	}
	return nil
}

// make makes the elements of a constant by the rule of its parameter.
func (x *sessions) make(f *filling, c *constant) (err error) {
	to, err := tensor.New(slot{x.parameters, c.offset}, c.Type, signed(c.Shape), f.stream)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if !c.IsTransposed {
		return f.make(c.Parameter, c.Parameter.Name, to)
	}
	if err := f.scratch.grow(c.SizeBytes, f.stream); err != nil {
		return err
	}
	from, err := tensor.New(slot{f.scratch, 0}, c.Type, c.Parameter.Shape, f.stream)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if err := f.make(c.Parameter, c.Parameter.Name, from); err != nil {
		return err
	}
	if !x.backend.Device().Info().HostAddressable {
		return writeTransposed(to, from, f.stream)
	}
	turned, err := from.Transpose(0, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, turned.Close()) }()
	if err := to.Copy(turned, f.stream); err != nil {
		return err
	}
	return f.stream.Synchronize(device.Forever)
}

// writeTransposed writes a matrix with its dimensions exchanged through memory of the host, because a device
// copies each element on its own.
func writeTransposed(to, from *tensor.Tensor, stream device.Stream) error {
	read, written := make([]byte, from.SizeBytes()), make([]byte, to.SizeBytes())
	if err := from.Read(read, stream); err != nil {
		return err
	}
	layout := to.Layout()
	rows, columns := int(layout.Shape()[0]), int(layout.Shape()[1])
	each := len(read) / max(rows*columns, 1)
	for row := range rows {
		for column := range columns {
			copy(written[(row*columns+column)*each:][:each], read[(column*rows+row)*each:])
		}
	}
	return to.Write(written, stream)
}

func signed(lengths []uint64) []int64 {
	list := make([]int64, len(lengths))
	for i, length := range lengths {
		list[i] = int64(length)
	}
	return list
}

// plan returns what a run with these lengths has used. Errors: CodeUnsupported before such a run.
func (x *sessions) plan(_ context.Context, dims map[string]uint64) (*MemoryPlan, error) {
	key := keyOf(dims)
	for _, o := range x.ran {
		if o.key == key {
			return &MemoryPlan{
				Dimensions: o.dims, ArenaBytes: o.arenaBytes, LowerBoundBytes: o.arenaBytes, SumBytes: o.arenaBytes,
				ParameterBytes: x.parameters.bytes, Steps: []PlannedStep{}, Buffers: []PlannedBuffer{}, Loops: []PlannedLoop{},
			}, nil
		}
	}
	return nil, noPlan(x.backend)
}

// noPlan is the error for a shape that was not run yet.
func noPlan(b *backend.Backend) error {
	return device.Errorf(device.CodeUnsupported, opPlan, "%s plans no memory before a run: run the model once with these lengths", b.Name())
}

func (x *sessions) needsArena() bool { return x.memory != nil && x.memory.isArenaLive() }

func (x *sessions) sizes() (s parameterSizes) {
	for _, c := range x.constants {
		elements := uint64(1)
		for _, length := range c.Shape {
			elements *= length
		}
		s.elements += elements
		s.bytes += c.SizeBytes
	}
	return s
}

func (x *sessions) close() error {
	if x.session != nil {
		x.session.Close()
		x.session = nil
	}
	if x.memory != nil {
		x.memory.close()
		x.memory = nil
	}
	if x.program != nil {
		x.program.close()
	}
	if x.kept == nil {
		return nil
	}
	if err := x.kept.free(); err != nil && !errors.Is(err, device.CodeModelNotFound) {
		return err
	}
	return nil
}
