package library

import (
	"bytes"
	"context"
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/passes"
)

// ProgramPass is a pass of the program. Its functions may be called by any number of threads at the same
// time, with no lock held.
type ProgramPass struct {
	Name         string
	Dependencies []string
	// IsApplicable states whether Apply has something to do; nil: always.
	IsApplicable func(PassCall) (bool, error)
	// Apply returns the changed definition; nil: it is as before.
	Apply func(PassCall) (definition []byte, warnings []string, err error)
	// Release is called once after the end of the registration; nil: not called.
	Release func()
}

// PassCall is a call of a pass.
type PassCall struct {
	// Definition is the text of the definition.
	Definition []byte
	// Token is the token of the callbacks of the build; 0: the call belongs to no build.
	Token uint64
}

// callerKey is the key of the caller in a context.
type callerKey struct{}

// caller states to what the calls of passes belong. The zero value is for calls of no build.
type caller struct {
	device *Device
	token  uint64
}

// programPass is a registered pass of the program.
type programPass struct {
	ProgramPass
	library *Library
	// running counts the running calls. It is closed by a forced end.
	running *gate
}

var _ passes.Pass = (*programPass)(nil)

const opPass = "pass.apply"

// RegisterPass registers a pass of the program, and returns the handle of the registration. After an error
// nothing of it is called. Errors: CodeNullPointer without Apply; those of passes.Registry.Add.
func (x *Executors) RegisterPass(p ProgramPass) (uint64, error) {
	const op = "pass.register"
	l := x.library
	if _, err := l.started(op); err != nil {
		return 0, err
	}
	if p.Apply == nil {
		return 0, device.Errorf(device.CodeNullPointer, op, "pass->apply is NULL")
	}
	made := &programPass{ProgramPass: p, library: l, running: newGate()}
	entry := &registration{program: made, subject: made}
	// Nobody ends the registration before the pass is known by its name.
	entry.destroying.Lock()
	defer entry.destroying.Unlock()
	id, err := insertLate(&l.Loader, l.registry.registrations, op, entry)
	if err != nil {
		return 0, err
	}
	if err := x.builder.Passes().Add(made); err != nil {
		_, _ = l.registry.registrations.Remove(id) // nobody else removes it now
		return 0, err
	}
	return id, nil
}

// remove ends a registration. Errors: CodeBusy while a build uses the pass.
func (p *programPass) remove(op string, of *registration) error {
	return p.released(endNow(p.library.registry.registrations, op, of, func() error {
		return p.library.Executors.builder.Passes().Remove(p.ProgramPass.Name, false)
	}))
}

// removeByForce ends a registration. It waits for running calls; builds that use the pass fail at their next
// call of it.
func (p *programPass) removeByForce(of *registration) error {
	of.destroying.Lock()
	err := endOf(p.library.registry.registrations, of, func() error {
		err := p.library.Executors.builder.Passes().Remove(p.ProgramPass.Name, true)
		p.running.close()
		return err
	})
	of.destroying.Unlock()
	return p.released(err)
}

// released tells the program that its pass has ended.
func (p *programPass) released(err error) error {
	if err == nil && p.Release != nil {
		p.Release()
	}
	return err
}

func (p *programPass) String() string { return fmt.Sprintf("pass %q", p.ProgramPass.Name) }

// No object can end a pass before its registration ends.
func (p *programPass) hasEnded() bool { return false }

func (p *programPass) Name() string { return p.ProgramPass.Name }

func (p *programPass) Dependencies() []string { return p.ProgramPass.Dependencies }

// IsApplicable returns true: Apply asks the program, whose answer may be an error.
func (p *programPass) IsApplicable(*ir.Model) bool { return true }

// Apply lets the program change the text of a definition. Applied states whether the new definition differs.
// Errors: those of the program; those of ir.Parse for its text.
func (p *programPass) Apply(ctx context.Context, m *ir.Model) (passes.Result, error) {
	text, err := m.JSON()
	if err != nil {
		return passes.Result{}, err
	}
	if !p.running.enter() {
		return passes.Result{}, device.Errorf(device.CodeInvalidHandle, opPass, "the pass has been removed")
	}
	of, _ := ctx.Value(callerKey{}).(caller)
	var made []byte
	var warnings []string
	func() {
		defer p.running.exit()
		p.library.running.during(of.device, func() { made, warnings, err = p.call(PassCall{Definition: text, Token: of.token}) })
	}()
	if err != nil || made == nil {
		return passes.Result{Warnings: warnings}, err
	}
	changed, err := p.library.Executors.parsed(made)
	if err != nil {
		return passes.Result{}, device.Errorf(device.CodeOf(err), opPass, "the definition that it returned: %w", err)
	}
	again, err := changed.JSON()
	if err != nil {
		return passes.Result{}, err
	}
	*m = *changed
	return passes.Result{Applied: !bytes.Equal(again, text), Warnings: warnings}, nil
}

// call calls the functions of the program.
func (p *programPass) call(c PassCall) (definition []byte, warnings []string, err error) {
	if p.ProgramPass.IsApplicable != nil {
		if is, err := p.ProgramPass.IsApplicable(c); err != nil || !is {
			return nil, nil, err
		}
	}
	return p.ProgramPass.Apply(c)
}
