package library

import (
	"sync"
	"time"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/tensor"
	"ferrum_mem/core/weights"
)

// Computes opens backends, and finds backends, operations and sequences by their handles. It is a part of
// a Library.
type Computes struct {
	library *Library
	// made is made by the first use of registry: most programs compute nothing.
	once sync.Once
	made *backend.Registry
}

func (x *Computes) registry() *backend.Registry {
	x.once.Do(func() {
		x.made = backend.NewRegistry(backend.Settings{Engines: x.library.options.Engines, Devices: x.hostDevices, Operators: &x.library.Layers})
	})
	return x.made
}

// Compute finds a backend by its handle.
func (x *Computes) Compute(op string, id uint64) (*Compute, error) {
	return find(x.library, x.library.registry.computes, op, id)
}

// Op finds an operation by its handle.
func (x *Computes) Op(op string, id uint64) (*Op, error) {
	return find(x.library, x.library.registry.ops, op, id)
}

// Sequence finds a sequence by its handle.
func (x *Computes) Sequence(op string, id uint64) (*Sequence, error) {
	return find(x.library, x.library.registry.sequences, op, id)
}

// ComputeConfig has the settings of a backend, whose device is a handle.
type ComputeConfig struct {
	backend.Config
	// DeviceHandle replaces Device.
	DeviceHandle uint64
}

// Validate checks settings. Errors: those of backend.Config.Validate.
func (x *Computes) Validate(c ComputeConfig) error {
	const op = "compute.validate"
	if _, err := x.library.started(op); err != nil {
		return err
	}
	if c.DeviceHandle != 0 {
		if _, err := x.library.Tensors.device(op, c.DeviceHandle); err != nil {
			return err
		}
	}
	return c.Config.Validate()
}

// Open opens a backend on a device. Errors: those of backend.Registry.Open.
func (x *Computes) Open(c ComputeConfig) (uint64, error) {
	const op = "compute.open"
	d, err := x.library.making(op, c.DeviceHandle)
	if err != nil {
		return 0, err
	}
	defer d.gate.exit()
	c.Device = ""
	opened, err := x.registry().Open(x.library.registry.factory, d.Engine, c.Config)
	if err != nil {
		return 0, on(err, d.Engine)
	}
	made := &Compute{Backend: opened, device: d}
	made.memory = &Manager{Manager: opened.Manager(), device: d, owner: made, using: newGate()}
	managers := x.library.registry.managers
	held, err := insert(x.library, managers, made.memory)
	if err == nil {
		made.memory.SetHandle(held)
		var id uint64
		if id, err = insert(x.library, x.library.registry.computes, made); err == nil {
			return id, nil
		}
		_, _ = managers.Remove(held) // nobody knows the handle
	}
	x.giveUp("backend", opened.Close(true))
	return 0, on(err, d.Engine)
}

// Manager returns the handle of the manager of the backend, which ends with the backend.
func (c *Compute) Manager() (uint64, error) { return c.memory.id(), nil }

// giveUp logs the failed end of an object without a handle.
func (x *Computes) giveUp(what string, err error) {
	if err != nil {
		x.library.log.printf(LogError, "a %s without a handle cannot be ended: %v", what, err)
	}
}

// BackendsJSON lists the backends, in the form that docs/compute.md documents.
func (x *Computes) BackendsJSON() ([]byte, error) {
	const op = "compute.backends_json"
	if _, err := x.library.started(op); err != nil {
		return nil, err
	}
	return encode(op, map[string]any{"backends": x.registry().List()})
}

// FindJSON chooses a backend by requirements, in the forms that docs/compute.md documents.
func (x *Computes) FindJSON(requirements []byte) ([]byte, error) {
	const op = "compute.find_json"
	if _, err := x.library.started(op); err != nil {
		return nil, err
	}
	required, err := backend.ParseRequirements(requirements)
	if err != nil {
		return nil, err
	}
	return encode(op, x.registry().Find(required))
}

// CapabilitiesJSON returns the properties of the backend, in the form that docs/compute.md documents.
func (c *Compute) CapabilitiesJSON() ([]byte, error) {
	return encode("compute.capabilities_json", c.Capabilities())
}

// StatusJSON returns the state of the backend, in the form that docs/compute.md documents.
func (c *Compute) StatusJSON() ([]byte, error) { return encode("compute.status_json", c.Status()) }

// Synchronize waits until all work of the device is done. Errors: CodeTimeout.
func (c *Compute) Synchronize(timeout time.Duration) error {
	return c.Backend.Synchronize(c.device.Engine.ID(), timeout)
}

// Prepare prepares an operation. Errors: those of backend.Backend.Prepare.
func (x *Computes) Prepare(computeID uint64, name string, attributes []byte, opset uint32) (uint64, error) {
	const op = "op.prepare"
	c, err := x.Compute(op, computeID)
	if err != nil {
		return 0, err
	}
	if opset > maxOpset {
		return 0, device.Errorf(device.CodeInvalidArgument, op, "opset is %d: want at most %d", opset, maxOpset).On(c.device.Engine.ID())
	}
	if err := c.device.pass(op); err != nil {
		return 0, err
	}
	defer c.device.gate.exit()
	prepared, err := c.Backend.Prepare(name, attributes, int(opset))
	if err != nil {
		return 0, CallError(err, c)
	}
	id, err := insert(x.library, x.library.registry.ops, &Op{op: prepared, compute: c})
	if err != nil {
		x.giveUp("operation", prepared.Close())
	}
	return id, on(err, c.device.Engine)
}

// maxOpset is above every opset.
const maxOpset = 1 << 20

// CreateSequence creates an empty sequence.
func (x *Computes) CreateSequence(computeID uint64) (uint64, error) {
	const op = "sequence.create"
	c, err := x.Compute(op, computeID)
	if err != nil {
		return 0, err
	}
	if err := c.device.pass(op); err != nil {
		return 0, err
	}
	defer c.device.gate.exit()
	made, err := c.NewSequence()
	if err != nil {
		return 0, CallError(err, c)
	}
	id, err := insert(x.library, x.library.registry.sequences, &Sequence{sequence: made, compute: c})
	if err != nil {
		x.giveUp("sequence", made.Close())
	}
	return id, on(err, c.device.Engine)
}

// home is that of tensors in the memory of the backend.
func (c *Compute) home() *tensorHome {
	return &tensorHome{device: c.device, place: tensorPlace{isGone: c.HasEnded}}
}

// Infer describes the outputs of a run and returns its workspace. It fills outputs, except for those that
// are absent. Errors: those of backend.Op.Infer.
func (o *Op) Infer(inputs, outputs []TensorDesc) (workspaceBytes uint64, err error) {
	const op = "op.infer"
	operands := make([]compute.Operand, len(inputs))
	for i := range inputs {
		d := &inputs[i]
		if d.Absent {
			operands[i].IsAbsent = true
			continue
		}
		operands[i].Type, operands[i].Known = d.DType, d.Elements
		if operands[i].Layout, err = d.layout(op, 0); err != nil {
			return 0, err
		}
	}
	wanted := make([]bool, len(outputs))
	for i := range outputs {
		wanted[i] = !outputs[i].Absent
	}
	found, workspace, err := o.op.Infer(operands, wanted)
	if err != nil {
		return 0, err
	}
	for i := range outputs {
		if i >= len(found) || found[i].IsAbsent {
			outputs[i] = TensorDesc{Absent: true}
			continue
		}
		outputs[i] = described(found[i].Type, &found[i].Layout)
		outputs[i].Device = o.compute.device.Engine.ID().String()
		outputs[i].SizeBytes, err = found[i].Type.Size(uint64(found[i].Layout.Elements()))
		if err != nil {
			return 0, err
		}
	}
	return workspace, nil
}

// unwanted is the id of an output that is not wanted.
const unwanted = ^uint64(0)

// few is the number of tensors up to which a call takes no memory of the heap for its lists.
const few = 16

// tensors finds the tensors of a call, and appends them to a list.
func (c *Compute) tensors(op string, list []*tensor.Tensor, ids []uint64, areOutputs bool) ([]*tensor.Tensor, error) {
	tensors := &c.library.Tensors
	for _, id := range ids {
		switch {
		case id == 0:
			list = append(list, nil)
			continue
		case areOutputs && id == unwanted:
			list = append(list, backend.Unwanted)
			continue
		}
		t, err := tensors.Tensor(op, id)
		if err != nil {
			return nil, err
		}
		if err := t.usable(op); err != nil {
			return nil, err
		}
		list = append(list, t.tensor)
	}
	return list, nil
}

// give assigns handles to the outputs that a call has made, and writes the handles to ids. After an error
// no output stays.
func (c *Compute) give(op string, outputs []*tensor.Tensor, ids []uint64) error {
	var given []int
	for at, t := range outputs {
		if ids[at] != 0 || t == nil {
			continue
		}
		id, err := c.library.Tensors.add(op, c.home(), func() (*tensor.Tensor, error) { return t, nil })
		if err == nil {
			ids[at] = id
			given = append(given, at)
			continue
		}
		// add has closed the tensor, or has not begun.
		for later, t := range outputs[at:] {
			if ids[at+later] == 0 && t != nil && !t.IsClosed() {
				c.library.Computes.giveUp("tensor", t.Close())
			}
		}
		for _, before := range given {
			c.library.Tensors.EndExport(ids[before])
			ids[before] = 0
		}
		return err
	}
	return nil
}

// Run runs the operation. It replaces the outputs with the id 0 by those that it makes. Errors: those of
// backend.Op.Run.
func (o *Op) Run(inputs, outputs []uint64, stream uint64) error {
	const op = "op.run"
	c := o.compute
	queue, err := c.library.registry.streamOrDefault(op, stream, c.device)
	if err != nil {
		return err
	}
	var onStack [2][few]*tensor.Tensor
	from, err := c.tensors(op, onStack[0][:0], inputs, false)
	if err != nil {
		return err
	}
	to, err := c.tensors(op, onStack[1][:0], outputs, true)
	if err != nil {
		return err
	}
	if err := o.op.Run(from, to, queue); err != nil {
		return c.library.registry.callErrorOn(stream, err, o)
	}
	return c.give(op, to, outputs)
}

// Pack packs a constant input; a memory without handles: that of the backend. Errors: those of
// backend.Op.Pack.
func (o *Op) Pack(input uint32, from uint64, m TensorMemory, stream uint64) (uint64, error) {
	const op = "op.pack"
	c := o.compute
	source, err := c.library.Tensors.Tensor(op, from)
	if err != nil {
		return 0, err
	}
	queue, err := c.library.registry.streamOrDefault(op, stream, c.device)
	if err != nil {
		return 0, err
	}
	home, memory := c.home(), weights.Memory(nil)
	if m.Pool|m.VPool|m.ElasticPool|m.Device != 0 {
		r, err := c.library.Tensors.request(op, &m, int32(source.tensor.Type()))
		if err != nil {
			return 0, err
		}
		home, memory = r.home, r.memory
	}
	if err := source.usable(op); err != nil {
		return 0, err
	}
	return c.library.Tensors.add(op, home, func() (*tensor.Tensor, error) {
		packed, err := o.op.Pack(int(input), source.tensor, backend.Packing{Memory: memory, Stream: queue})
		return packed, c.library.registry.callErrorOn(stream, err, o)
	})
}

// Add adds a run of an operation. Errors: those of backend.Sequence.Add.
func (s *Sequence) Add(opID uint64, inputs, outputs []uint64) error {
	const op = "sequence.add"
	o, err := s.library.Computes.Op(op, opID)
	if err != nil {
		return err
	}
	from, err := s.compute.tensors(op, nil, inputs, false)
	if err != nil {
		return err
	}
	to, err := s.compute.tensors(op, nil, outputs, true)
	if err != nil {
		return err
	}
	if err := s.sequence.Add(o.op, from, to); err != nil {
		return CallError(err, o, s)
	}
	return s.compute.give(op, to, outputs)
}

// Run runs the operations. Errors: those of backend.Sequence.Run.
func (s *Sequence) Run(stream uint64) error {
	queue, err := s.library.registry.streamOrDefault("sequence.run", stream, s.compute.device)
	if err != nil {
		return err
	}
	return s.library.registry.callErrorOn(stream, s.sequence.Run(queue), s)
}
