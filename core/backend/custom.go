package backend

import (
	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/operator"
)

// UserBackend is a backend of the program. All methods but Close may be called by any number of threads
// at the same time. A method that panics counts as one that fails with CodeInternal.
type UserBackend interface {
	// Capabilities states the properties. It is called once, by Register.
	Capabilities() (Capabilities, error)
	// Version is a text for people.
	Version() string
	// SupportsDevice states whether the backend computes on a device.
	SupportsDevice(id device.ID) (bool, error)
	// Plan chooses how to compute a request on a device, as compute.Engine does. The plan's
	// WorkspaceBytes, InPlace and Run may fail or panic too.
	Plan(id device.ID, r compute.Request) (compute.Plan, error)
	// Synchronize waits for work of the backend that its plans have left on a device.
	Synchronize(id device.ID) error
	// Close ends the backend. Unregister calls it once, when no other call is in progress.
	Close() error
}

// guarded calls a function of a custom backend. A panic becomes an error.
func guarded(name, what string, call func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = device.Errorf(device.CodeInternal, opCustom, "backend %s: %s panicked: %v", shortened(name), what, value)
		}
	}()
	if err := call(); err != nil {
		return device.Errorf(device.CodeOf(err), opCustom, "backend %s: %s: %w", shortened(name), what, err)
	}
	return nil
}

// customEngine is the engine of a custom backend on a device.
type customEngine struct {
	name   string
	of     UserBackend
	device device.ID
}

// Capabilities is not used: Register has read those of the contract.
func (e *customEngine) Capabilities() compute.Capabilities {
	return compute.Capabilities{Name: e.name}
}

func (e *customEngine) Plan(r compute.Request) (compute.Plan, error) {
	made := &customPlan{engine: e}
	err := guarded(e.name, "plan of "+r.Operator.Name, func() (err error) {
		if made.plan, err = e.of.Plan(e.device, r); err != nil {
			return err
		}
		if made.plan == nil {
			return device.Errorf(device.CodeInternal, opCustom, "it returned no plan")
		}
		made.workspace = made.plan.WorkspaceBytes()
		return nil
	})
	if err != nil {
		return nil, err
	}
	made.running, made.choosing = "run of "+r.Operator.Name, "in place of "+r.Operator.Name
	return made, nil
}

func (e *customEngine) Bind(steps []compute.Step) (run func() error, err error) {
	return inTurn(steps), nil
}

// inTurn returns a function that runs steps one after the other.
func inTurn(steps []compute.Step) func() error {
	return func() error {
		for i := range steps {
			if err := steps[i].Plan.Run(steps[i].Inputs, steps[i].Outputs, steps[i].Workspace); err != nil {
				return err
			}
		}
		return nil
	}
}

func (e *customEngine) Pack(*operator.Operator, int, compute.Operand) (compute.Packed, error) {
	return compute.Packed{}, device.Errorf(device.CodeUnsupported, opPack, "backend %s packs nothing", shortened(e.name))
}

// Close does nothing: the registry owns the backend.
func (e *customEngine) Close() {}

// customPlan is a plan whose failures name the backend.
type customPlan struct {
	engine *customEngine
	plan   compute.Plan
	// running and choosing name the calls in errors.
	running, choosing string
	workspace         uint64
}

func (p *customPlan) WorkspaceBytes() uint64 { return p.workspace }

func (p *customPlan) Run(inputs, outputs []device.Addr, workspace device.Addr) error {
	return guarded(p.engine.name, p.running, func() error { return p.plan.Run(inputs, outputs, workspace) })
}

func (p *customPlan) InPlace(output, input int) (is bool) {
	// A plan that fails here allows nothing.
	_ = guarded(p.engine.name, p.choosing, func() error { is = p.plan.InPlace(output, input); return nil })
	return is
}

// UserOperator is an operator of the program, which computes on every backend. All methods may be called by
// any number of threads at the same time.
type UserOperator interface {
	operator.Custom
	// Keep keeps the operator until release is called. Errors: CodeInvalidHandle for an operator that ends.
	Keep() (release func(), err error)
	// Plan chooses how to compute a request on a device, as compute.Engine does.
	Plan(id device.ID, r compute.Request) (compute.Plan, error)
}

// userPlan is the plan of an operator of the program.
type userPlan struct{ compute.Plan }

func isUser(p compute.Plan) bool {
	_, is := p.(*userPlan)
	return is
}
