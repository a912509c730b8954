package model

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/internal/similar"
	"ferrum_mem/core/strided"
	"ferrum_mem/core/tensor"
)

// RunOptions state how a model runs.
type RunOptions struct {
	// NoWait returns CodeBusy if another call uses the model, or if it sleeps.
	NoWait bool
	// Stream orders the work: inputs are complete after the work that is queued on it; nil: the default
	// stream.
	Stream device.Stream
}

// Run computes outputs from inputs, both by name. It returns when the outputs are complete. An input that
// has a default may be missing. An output is a tensor with the type and the shape of the result, or nil:
// then Run makes it in the memory of the backend and stores it in outputs. Only the outputs whose names
// are in the map are copied. Inputs of integers and floating-point numbers may have another type, and are
// converted. All tensors are on the device of the backend.
//
// The first run with new lengths of the dynamic dimensions plans them, and may allocate memory for the
// arena. Later runs with these lengths, whose outputs are given, allocate no memory of the device.
//
// Errors: CodeInvalidArgument, which names the input and its shape, for a missing or an unknown name,
// shapes that do not fit each other or the model, ids out of the vocabulary, and a tensor in the memory of
// the model; CodeBusy and CodeTimeout or CodeCancelled for a call that cannot wait or has waited too long;
// CodeInvalidState for a closed model; those of the memory and of the operations. After an error, outputs
// that were given have undefined elements, and no output was made.
func (x *Executor) Run(ctx context.Context, inputs, outputs map[string]*tensor.Tensor, o RunOptions) error {
	if x.IsClosed() {
		return x.closed(opRun)
	}
	// A call with wrong inputs does not wait.
	dims, err := x.checkedDims(inputs, outputs)
	if err != nil {
		return x.failedRun(err)
	}
	if err := x.enter(ctx, opRun, o.NoWait); err != nil {
		return err
	}
	defer x.leave()
	start := time.Now()
	if o.Stream == nil {
		o.Stream = x.backend.Device().Device().DefaultStream()
	}
	if err = errors.Join(x.checkMemory("input", inputs), x.checkMemory("output", outputs)); err == nil {
		err = x.computation.run(ctx, dims, inputs, outputs, o.Stream)
	}
	if err != nil {
		return x.failedRun(err)
	}
	x.count(func(c *Counters) { c.Runs, c.RunNs = c.Runs+1, c.RunNs+since(start) })
	return nil
}

// failedRun counts a run that failed.
func (x *Executor) failedRun(err error) error {
	x.count(func(c *Counters) { c.Failures++ })
	return x.fail(device.CodeOf(err), opRun, "%w", err)
}

// checkedDims checks the names and shapes of a run, and returns the lengths of the dynamic dimensions.
func (x *Executor) checkedDims(inputs, outputs map[string]*tensor.Tensor) (map[string]uint64, error) {
	if err := x.checkNames(inputs, outputs); err != nil {
		return nil, err
	}
	return x.dimsOf(inputs)
}

// checkNames checks that the model has all names, and that an input that has no default is given.
func (x *Executor) checkNames(inputs, outputs map[string]*tensor.Tensor) error {
	var known []string
	for i := range x.program.inputs {
		known = append(known, x.program.inputs[i].name)
	}
	if err := onlyKnown("input", known, inputs); err != nil {
		return err
	}
	for i := range x.program.inputs {
		if in := &x.program.inputs[i]; inputs[in.name] == nil && in.rule == "" {
			return invalid("input %q of %s is required", in.name, in)
		}
	}
	known = nil
	for _, out := range x.program.outputs {
		known = append(known, out.name)
	}
	if len(outputs) == 0 {
		return invalid("no output is wanted")
	}
	return onlyKnown("output", known, outputs)
}

func invalid(format string, values ...any) error {
	return device.Errorf(device.CodeInvalidArgument, opRun, format, values...)
}

func onlyKnown(what string, known []string, given map[string]*tensor.Tensor) error {
	if len(given) <= len(known) {
		isKnown := true
		for name := range given {
			isKnown = isKnown && slices.Contains(known, name)
		}
		if isKnown {
			return nil
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(known, name) {
			continue
		}
		hint := ""
		if near := similar.Names(name, known, 1); len(near) > 0 {
			hint = ": the nearest is " + strconv.Quote(near[0])
		}
		return invalid("there is no %s %.64q%s", what, name, hint)
	}
	return nil
}

// checkMemory checks that tensors are not in the memory of the model: a run overwrites the arena, and an
// output would overwrite parameters.
func (x *Executor) checkMemory(what string, given map[string]*tensor.Tensor) error {
	from := x.model.BaseAddress()
	to := from + device.Addr(x.arena.offset+x.arena.most)
	for name, t := range given {
		if t != nil && t.Engine() == x.backend.Device() {
			if first, end := t.Reach(); first < to && from < end {
				return invalid("%s %q is in the memory of the model itself", what, name)
			}
		}
	}
	return nil
}

// String describes an input with the names of its dimensions.
func (in *input) String() string {
	text := in.kind.String() + "["
	for axis, length := range in.shape {
		if axis > 0 {
			text += ", "
		}
		if in.dims[axis] != "" {
			text += in.dims[axis]
		} else {
			text += strconv.FormatInt(length, 10)
		}
	}
	return text + "]"
}

// describe returns the type and the shape of a tensor.
func describe(t *tensor.Tensor) string {
	layout := t.Layout()
	return t.Type().String() + strided.Text(layout.Shape())
}

// dimsOf returns the lengths of the dynamic dimensions that inputs have.
func (x *Executor) dimsOf(inputs map[string]*tensor.Tensor) (map[string]uint64, error) {
	dims, from := map[string]uint64{}, map[string]*input{}
	for i := range x.program.inputs {
		in := &x.program.inputs[i]
		t := inputs[in.name]
		if t == nil {
			continue
		}
		layout := t.Layout()
		lengths := layout.Shape()
		if len(lengths) != len(in.shape) {
			return nil, invalid("input %q is %s, and the model takes %s", in.name, describe(t), in)
		}
		for axis, length := range lengths {
			name := in.dims[axis]
			if name == "" {
				if length != in.shape[axis] {
					return nil, invalid("input %q is %s, and the model takes %s", in.name, describe(t), in)
				}
				continue
			}
			if other := from[name]; other != nil && dims[name] != uint64(length) {
				return nil, invalid("input %q is %s, and input %q is %s: dimension %q has the lengths %d and %d",
					in.name, describe(t), other.name, describe(inputs[other.name]), name, length, dims[name])
			}
			dims[name], from[name] = uint64(length), in
		}
	}
	return dims, x.checkDims(opRun, dims)
}

// sequenceDim is the dimension whose length the definition bounds.
const sequenceDim = "sequence"

// checkDims checks lengths of the dynamic dimensions.
func (x *Executor) checkDims(op string, dims map[string]uint64) error {
	invalid := func(format string, values ...any) error {
		return device.Errorf(device.CodeInvalidArgument, op, format, values...)
	}
	var known []string
	for i := range x.program.inputs {
		in := &x.program.inputs[i]
		for _, name := range in.dims {
			if name == "" {
				continue
			}
			known = append(known, name)
			if _, isGiven := dims[name]; !isGiven {
				return invalid("dimension %q of input %q %s is not given", name, in.name, in)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(dims)) {
		if !slices.Contains(known, name) {
			return invalid("there is no dimension %.64q", name)
		}
		if dims[name] == 0 || dims[name] > math.MaxInt64 {
			return invalid("dimension %q has the length %d: want 1 to 2^63 - 1", name, dims[name])
		}
	}
	if most := x.definition.Architecture.Dimensions.MaxSequenceLength; most != 0 && dims[sequenceDim] > most {
		return invalid("dimension %q has the length %d: the model takes at most %d", sequenceDim, dims[sequenceDim], most)
	}
	return nil
}

// give writes the elements of an input into the arena.
func (s *shape) give(in *input, at *boundInput, from *tensor.Tensor, stream device.Stream) error {
	switch {
	case from == nil:
		bytes, err := s.ruleBytes(in, at)
		if err != nil {
			return err
		}
		return at.to.Write(bytes, stream)
	case at.bytes == nil:
		return at.to.Copy(from, stream)
	}
	kind, bytes := from.Type(), at.bytes
	if kind != in.kind {
		bytes = make([]byte, from.SizeBytes())
	}
	if err := readIndices(in, from, bytes, stream); err != nil {
		return err
	}
	if kind != in.kind {
		if err := dtype.Convert(in.kind, at.bytes, kind, bytes); err != nil {
			return err
		}
	}
	return at.to.Write(at.bytes, stream)
}

// readIndices reads the elements of a tensor, which index the table of an input, and checks them. bytes has
// room for them in the type of the tensor.
func readIndices(in *input, from *tensor.Tensor, bytes []byte, stream device.Stream) error {
	kind := from.Type()
	if kind.IsFloat() || !kind.IsConvertible() {
		return invalid("it is %s: indices are integers", describe(from))
	}
	if err := from.Read(bytes, stream); err != nil {
		return err
	}
	layout := from.Layout()
	return checkIndices(in, kind, bytes, uint64(layout.Elements()))
}

// checkIndices checks that each element is a row of the table of an input.
func checkIndices(in *input, kind dtype.DType, bytes []byte, elements uint64) error {
	if kind != dtype.I64 {
		// A number of U64 above 2^63 becomes a negative one.
		wide := make([]byte, 8*elements)
		if err := dtype.Convert(dtype.I64, wide, kind, bytes); err != nil {
			return err
		}
		bytes = wide
	}
	for i := range elements {
		value := int64(binary.NativeEndian.Uint64(bytes[8*i:]))
		if value < 0 || value >= in.rows {
			return invalid("element %d is %d: parameter %q has the rows 0 to %d", i, value, in.table.Name, in.rows-1)
		}
	}
	return nil
}
