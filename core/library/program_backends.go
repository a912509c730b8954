package library

import (
	"fmt"
	"slices"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
)

// ProgramBackend is a compute backend of the program. Its functions may be called by any number of
// threads at the same time, with no lock held.
type ProgramBackend struct {
	Name, Version string
	// Capabilities is a text in the form that docs/compute.md documents. The backend computes on its
	// supported_devices.
	Capabilities []byte
	// Plan states how the backend computes a call; nil: as a zero ComputePlan states. The call has no
	// addresses and no workspace.
	Plan func(*ComputeCall) (ComputePlan, error)
	// Run computes the outputs.
	Run func(*ComputeCall) error
	// Synchronize waits for work that Run has left on the device with that handle; nil: it leaves none.
	Synchronize func(device uint64) error
	// Release is called once after the end of the registration; nil: not called.
	Release func()
}

// ComputeCall is an operation on operands.
type ComputeCall struct {
	// Domain and Name are those of the operator, and Opset is the one that introduced its form.
	Domain, Name string
	Opset        uint32
	// Attributes is the text of operator.Operator.AttributesJSON.
	Attributes []byte
	// Device is the handle of the device.
	Device          uint64
	Inputs, Outputs []TensorDesc
	// Workspace is aligned to 64 bytes.
	Workspace      device.Addr
	WorkspaceBytes uint64
}

// ComputePlan states how a backend of the program computes a call.
type ComputePlan struct {
	// WorkspaceBytes is the memory that a run needs besides its operands.
	WorkspaceBytes uint64
	// InPlace states that an output may be the memory of an input of the same type and strides.
	InPlace bool
}

// programBackend is a registered backend of the program.
type programBackend struct {
	ProgramBackend
	library *Library
	has     backend.Capabilities
}

var _ backend.UserBackend = (*programBackend)(nil)

// Register registers a compute backend of the program, and returns the handle of the registration. After
// an error nothing of it is called. Errors: CodeNullPointer without Run; CodeInvalidFormat and
// CodeInvalidConfig for the capabilities; those of backend.Registry.Register for the name.
func (x *Computes) Register(b ProgramBackend) (uint64, error) {
	const op = "compute.register"
	l := x.library
	if _, err := l.started(op); err != nil {
		return 0, err
	}
	if b.Run == nil {
		return 0, device.Errorf(device.CodeNullPointer, op, "backend->run is NULL")
	}
	made := &programBackend{ProgramBackend: b, library: l}
	var err error
	if made.has, err = backend.ParseCapabilities(b.Capabilities); err != nil {
		return 0, err
	}
	if len(made.has.Devices) == 0 {
		return 0, device.Errorf(device.CodeInvalidConfig, op, "supported_devices is empty: the backend computes on no device")
	}
	entry := &registration{program: made, subject: made}
	made.ProgramBackend.Capabilities = nil // the memory of the text is the caller's
	// Nobody ends the registration before the backend is known by its name.
	entry.destroying.Lock()
	defer entry.destroying.Unlock()
	id, err := insertLate(&l.Loader, l.registry.registrations, op, entry)
	if err != nil {
		return 0, err
	}
	if err := x.registry().Register(b.Name, made); err != nil {
		_, _ = l.registry.registrations.Remove(id) // nobody else removes it now
		return 0, err
	}
	return id, nil
}

// remove ends a registration. Errors: CodeBusy while the backend is open.
func (b *programBackend) remove(op string, of *registration) error {
	return b.released(endNow(b.library.registry.registrations, op, of, b.unregister))
}

// removeByForce ends a registration. The devices on which the backend was open have ended.
func (b *programBackend) removeByForce(of *registration) error {
	of.destroying.Lock()
	err := endOf(b.library.registry.registrations, of, b.unregister)
	of.destroying.Unlock()
	return b.released(err)
}

func (b *programBackend) unregister() error {
	return b.library.Computes.registry().Unregister(b.Name)
}

// released tells the program that its backend has ended.
func (b *programBackend) released(err error) error {
	if err == nil && b.Release != nil {
		b.Release()
	}
	return err
}

func (b *programBackend) String() string { return fmt.Sprintf("compute backend %q", b.Name) }

// No object can end a backend before its registration ends.
func (b *programBackend) hasEnded() bool { return false }

func (b *programBackend) Capabilities() (backend.Capabilities, error) { return b.has, nil }

func (b *programBackend) Version() string { return b.ProgramBackend.Version }

func (b *programBackend) SupportsDevice(id device.ID) (bool, error) {
	return slices.Contains(b.has.Devices, id), nil
}

func (b *programBackend) Synchronize(id device.ID) error {
	if b.ProgramBackend.Synchronize == nil {
		return nil
	}
	return b.ProgramBackend.Synchronize(b.library.registry.deviceHandle(id))
}

// Close does nothing: Release is called when the handle has ended.
func (b *programBackend) Close() error { return nil }

// deviceHandle returns the handle of an open device; 0: it has been closed.
func (g *registry) deviceHandle(id device.ID) uint64 {
	for _, d := range g.listDevices() {
		if d.Engine.ID() == id {
			return d.id()
		}
	}
	return 0
}

// programPlan is the plan of a call.
type programPlan struct {
	of   *programBackend
	call ComputeCall
	ComputePlan
}

func (b *programBackend) Plan(id device.ID, r compute.Request) (compute.Plan, error) {
	attributes, err := r.Operator.AttributesJSON()
	if err != nil {
		return nil, err
	}
	made := &programPlan{of: b, call: ComputeCall{
		Domain: r.Operator.Domain, Name: r.Operator.Name, Opset: uint32(r.Operator.Since), Attributes: attributes,
		Device: b.library.registry.deviceHandle(id),
	}}
	if made.call.Inputs, err = describeInputs(r.Inputs); err != nil {
		return nil, err
	}
	if made.call.Outputs, err = describeOperands(r.Outputs); err != nil {
		return nil, err
	}
	if b.ProgramBackend.Plan != nil {
		if made.ComputePlan, err = b.ProgramBackend.Plan(&made.call); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// describeInputs describes inputs without their addresses.
func describeInputs(operands []compute.Operand) ([]TensorDesc, error) {
	list, err := describeOperands(operands)
	for i := range list {
		list[i].ReadOnly = !list[i].Absent
	}
	return list, err
}

// describeOperands describes operands without their addresses.
func describeOperands(operands []compute.Operand) ([]TensorDesc, error) {
	list := make([]TensorDesc, len(operands))
	for i := range operands {
		of := &operands[i]
		switch {
		case of.IsAbsent:
			list[i].Absent = true
			continue
		case of.Packing != "":
			return nil, device.Errorf(device.CodeUnsupported, "compute.plan", "operand %d is packed as %q", i, of.Packing)
		}
		size, err := of.Type.Size(uint64(of.Layout.Elements()))
		if err != nil {
			return nil, err
		}
		list[i] = described(of.Type, &of.Layout)
		list[i].SizeBytes = size
	}
	return list, nil
}

func (p *programPlan) WorkspaceBytes() uint64 { return p.ComputePlan.WorkspaceBytes }

func (p *programPlan) InPlace(int, int) bool { return p.ComputePlan.InPlace }

func (p *programPlan) Run(inputs, outputs []device.Addr, workspace device.Addr) error {
	call := p.call
	call.Inputs, call.Outputs = placed(call.Inputs, inputs), placed(call.Outputs, outputs)
	call.Workspace, call.WorkspaceBytes = workspace, p.ComputePlan.WorkspaceBytes
	return p.of.ProgramBackend.Run(&call)
}

// placed returns the descriptions with addresses.
func placed(operands []TensorDesc, at []device.Addr) []TensorDesc {
	list := slices.Clone(operands)
	for i := range list {
		list[i].Address = at[i]
	}
	return list
}
