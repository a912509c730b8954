package library

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/sorting"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/strided"
)

const opLayerRegister = "layer.register"

// Layers has the layer types of the program. It is a part of a Library.
type Layers struct {
	library *Library

	// mu guards known. It is a leaf.
	mu sync.Mutex
	// known has the layer types by their full names.
	known map[string]*programLayer
}

var _ operator.Vocabulary = (*Layers)(nil)

// ProgramLayer is a layer type of the program. Its functions may be called by any number of threads at the
// same time, with no lock held, except for Forward with OneAtATime.
type ProgramLayer struct {
	// Type is the full name, such as "mine.scale". Name is for people; "": the type.
	Type, Name string
	// InputShape is the shape of the first input, with -1 for a dimension of any length. HasInputShape is
	// false if the first input may have any shape.
	InputShape    []int64
	HasInputShape bool
	// OutputCount is the number of outputs.
	OutputCount uint32
	// Config is a JSON object with the defaults of the configuration; empty: {}.
	Config []byte
	// InPlace states that an output may be the memory of an input of the same type and strides. Strides
	// states that operands may have any strides; otherwise they have no gaps. OneAtATime states that
	// Forward is called by one thread at a time.
	InPlace, Strides, OneAtATime bool
	// Infer changes the outputs, which have the type and shape of the first input; nil: they keep them. The
	// call has no outputs.
	Infer func(call *ComputeCall, outputs []TensorDesc) error
	// Parameters returns a text for ir.ParseParameters; nil: the layer states none.
	Parameters func(*ComputeCall) ([]byte, error)
	// Initialize writes a parameter, which is the output of the call; nil: no parameter is made by the layer.
	Initialize func(call *ComputeCall, parameter string) error
	// Plan states how the layer computes a call; nil: without a workspace.
	Plan func(*ComputeCall) (ComputePlan, error)
	// Forward returns the function that computes a call whose operands are then at some addresses.
	Forward func(*ComputeCall) LayerRun
	// Release is called once after the end of the registration; nil: not called.
	Release func()
}

// LayerRun computes the outputs of a layer. Addresses are in the order of the operands; that of an absent one
// is 0. workspace is aligned to 64 bytes.
type LayerRun func(inputs, outputs []device.Addr, workspace device.Addr) error

// programLayer is a registered layer type.
type programLayer struct {
	ProgramLayer
	library      *Library
	domain, name string
	defaults     map[string]json.RawMessage
	schema       *operator.Schema
	// turn is held while Forward of a layer with OneAtATime runs.
	turn sync.Mutex
	// calls counts the running calls. It is closed at the end of the registration.
	calls *gate

	// mu guards kept, which counts the operations that use the layer.
	mu   sync.Mutex
	kept int
}

var _ backend.UserOperator = (*programLayer)(nil)

// Register registers a layer type of the program, and returns the handle of the registration. After an error
// nothing of it is called. Errors: CodeNullPointer without Forward; CodeInvalidArgument for the type, the
// number of outputs, the shape and the configuration; CodeAlreadyExists for the type of another layer.
func (x *Layers) Register(p ProgramLayer) (uint64, error) {
	l := x.library
	if _, err := l.started(opLayerRegister); err != nil {
		return 0, err
	}
	if p.Forward == nil {
		return 0, device.Errorf(device.CodeNullPointer, opLayerRegister, "layer->forward is NULL")
	}
	made, err := newProgramLayer(p)
	if err != nil {
		return 0, err
	}
	made.library = l
	entry := &registration{program: made, subject: made}
	// Nobody ends the registration before the layer is known by its type.
	entry.destroying.Lock()
	defer entry.destroying.Unlock()
	id, err := insertLate(&l.Loader, l.registry.registrations, opLayerRegister, entry)
	if err != nil {
		return 0, err
	}
	if err := x.add(made); err != nil {
		_, _ = l.registry.registrations.Remove(id) // nobody else removes it now
		return 0, err
	}
	return id, nil
}

// maxLayerOutputs is the largest number of outputs of a layer.
const maxLayerOutputs = 64

func newProgramLayer(p ProgramLayer) (*programLayer, error) {
	if err := operator.CheckCustomName(p.Type); err != nil {
		return nil, err
	}
	wrong := func(format string, values ...any) error {
		return device.Errorf(device.CodeInvalidArgument, opLayerRegister, "layer %q: "+format, append([]any{p.Type}, values...)...)
	}
	if p.OutputCount < 1 || p.OutputCount > maxLayerOutputs {
		return nil, wrong("output_count is %d: want 1 to %d", p.OutputCount, maxLayerOutputs)
	}
	if slices.ContainsFunc(p.InputShape, func(length int64) bool { return length < -1 }) {
		return nil, wrong("input_shape is %s: -1 alone stands for a dimension of any length", strided.Text(p.InputShape))
	}
	made := &programLayer{ProgramLayer: p, calls: newGate()}
	made.domain, made.name = operator.SplitName(p.Type)
	made.schema = operator.NewCustom(made.domain, made.name, int(p.OutputCount), made)
	if made.Name == "" {
		made.Name = p.Type
	}
	if len(p.Config) > 0 {
		var err error
		if made.defaults, err = made.schema.ParseConfig(p.Config); err != nil {
			return nil, err
		}
	}
	made.Config = nil // the memory of the text is the caller's
	return made, nil
}

func (x *Layers) add(made *programLayer) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.known[made.Type] != nil {
		return device.Errorf(device.CodeAlreadyExists, opLayerRegister, "a layer of the type %q is registered already", made.Type)
	}
	if x.known == nil {
		x.known = map[string]*programLayer{}
	}
	x.known[made.Type] = made
	return nil
}

// Find returns a layer type; nil: there is none.
func (x *Layers) Find(domain, name string) *operator.Schema {
	x.mu.Lock()
	defer x.mu.Unlock()
	if found := x.known[operator.FullName(domain, name)]; found != nil {
		return found.schema
	}
	return nil
}

// Names returns the layer types in alphabetical order.
func (x *Layers) Names() []string {
	var names []string
	for _, each := range x.list() {
		names = append(names, each.Type)
	}
	return names
}

// list returns the layer types in the order of their names.
func (x *Layers) list() []*programLayer {
	x.mu.Lock()
	defer x.mu.Unlock()
	var all []*programLayer
	for _, each := range x.known {
		all = append(all, each)
	}
	sorting.By(all, func(a, b *programLayer) int { return strings.Compare(a.Type, b.Type) })
	return all
}

// layerInfo describes a layer type.
type layerInfo struct {
	Type string `json:"layer_type"`
	Name string `json:"name"`
	// InputShape is nil if the first input may have any shape.
	InputShape  []int64                    `json:"input_shape"`
	OutputCount uint32                     `json:"output_count"`
	Config      map[string]json.RawMessage `json:"config"`
	// Uses counts the operations that use the layer.
	Uses int `json:"uses"`
}

// ListJSON describes the layer types of the program, in the form that docs/layers.md documents.
func (x *Layers) ListJSON() ([]byte, error) {
	const op = "layers.json"
	if _, err := x.library.started(op); err != nil {
		return nil, err
	}
	list := []layerInfo{}
	for _, each := range x.list() {
		info := layerInfo{Type: each.Type, Name: each.Name, OutputCount: each.OutputCount, Config: each.defaults, Uses: each.uses()}
		if each.HasInputShape {
			info.InputShape = append([]int64{}, each.InputShape...)
		}
		if info.Config == nil {
			info.Config = map[string]json.RawMessage{}
		}
		list = append(list, info)
	}
	return encode(op, map[string]any{"layers": list})
}

// remove ends a registration. Errors: CodeBusy while models or operations use the layer, or a call runs.
func (p *programLayer) remove(op string, of *registration) error {
	return p.released(endNow(p.library.registry.registrations, op, of, func() error { return p.unregister(op) }))
}

// removeByForce ends a registration. It waits for running calls.
func (p *programLayer) removeByForce(of *registration) error {
	of.destroying.Lock()
	err := endOf(p.library.registry.registrations, of, func() error {
		p.calls.close()
		p.forget()
		return nil
	})
	of.destroying.Unlock()
	return p.released(err)
}

func (p *programLayer) unregister(op string) error {
	err := p.calls.tryClose(func(running int) error {
		switch uses := p.uses(); {
		case uses > 0:
			return device.Errorf(device.CodeBusy, op, "the layer %q is used by %s: close the models and operations first", p.Type, device.Count(uint64(uses), "operation"))
		case running > 0:
			return device.Errorf(device.CodeBusy, op, "a function of the layer %q is running", p.Type)
		}
		return nil
	})
	if err == nil {
		p.forget()
	}
	return err
}

func (p *programLayer) forget() {
	x := &p.library.Layers
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.known, p.Type)
}

// released tells the program that its layer has ended.
func (p *programLayer) released(err error) error {
	if err == nil && p.Release != nil {
		p.Release()
	}
	return err
}

func (p *programLayer) String() string { return fmt.Sprintf("layer %q", p.Type) }

// No object can end a layer before its registration ends.
func (p *programLayer) hasEnded() bool { return false }

func (p *programLayer) uses() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept
}

// Keep keeps the layer for an operation.
func (p *programLayer) Keep() (release func(), err error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.calls.exit()
	p.count(1)
	return func() { p.count(-1) }, nil
}

func (p *programLayer) count(more int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept += more
}
