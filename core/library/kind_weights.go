package library

import (
	"strings"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/handle"
	"ferrum_mem/core/weights"
)

// Weights is a source of tensors opened by Loader.Open.
type Weights struct {
	object
	source *sharedSource

	mu sync.Mutex
	// left is signalled when a reading has ended.
	left  *sync.Cond
	ended bool
	// readings are the loads and other calls that read the files now.
	readings map[*reading]bool

	// metadata is the text of the first MetadataJSON. A program usually asks twice: for the length of the
	// text, and for the text.
	metadata atomic.Pointer[[]byte]
}

// reading is a load or another call that reads the files of a source.
type reading struct {
	// what names the call in messages.
	what string
	// token is the token of its callback; 0: there is no callback.
	token  uint64
	cancel func()
}

// sharedSource is an open source. It stays open while its Weights, a call or a preloaded set uses
// it.
type sharedSource struct {
	*weights.Source
	mu    sync.Mutex
	users int
}

// hold keeps the source open until release. It returns false if the source is closed already.
func (s *sharedSource) hold() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		return false
	}
	s.users++
	return true
}

func (s *sharedSource) release(log *logger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users > 0 {
		return
	}
	if err := s.Close(); err != nil {
		log.printf(LogWarning, "%s: closing the files: %v", s.Name, err)
	}
}

// Loader opens sources of tensors, and finds sources and sets by their handles. It is a part of a
// Library.
type Loader struct {
	library *Library
	// decoders are the decoders of the program.
	decoders weights.Decoders
}

// Weights finds a source of tensors by its handle.
func (l *Loader) Weights(op string, id uint64) (*Weights, error) {
	return find(l.library, l.library.registry.weights, op, id)
}

// insertLate assigns a handle to an object that belongs to no device. It fails during the stop of
// the library, which has already listed the objects.
func insertLate[T interface{ base() *object }](of *Loader, table *handle.Table[T], op string, value T) (uint64, error) {
	l := of.library
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.started(op); err != nil {
		return 0, err
	}
	return insert(l, table, value)
}

// A source belongs to no device.
func (w *Weights) hasEnded() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}
func (w *Weights) known() (uint64, *engine.Engine) { return w.id(), nil }
func (w *Weights) of(d *Device) bool               { return d == nil }

func (w *Weights) leak() leak {
	found := w.alive("weights", nil)
	found.Tag = w.source.Name
	return found
}

func (w *Weights) endByForce(*Library, uint64) error { return w.Close(true) }

// Close closes the source. Without force it returns CodeBusy while a load or another call reads the
// source. With force it cancels these calls and waits for them. Inside a callback of one of them it
// returns CodeInvalidState.
func (w *Weights) Close(force bool) error {
	if err := w.end(force); err != nil {
		return err
	}
	_, err := w.library.registry.weights.Remove(w.id())
	w.source.release(w.library.log)
	return err
}

func (w *Weights) end(force bool) error {
	const op = "weights.close"
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		id := w.id()
		return device.Errorf(device.CodeInvalidHandle, op, "weight source handle %#x: it has been closed", id)
	}
	if len(w.readings) > 0 && !force {
		return device.Errorf(device.CodeBusy, op, "%s: %s reads the files", w.source.Name, w.readers())
	}
	for r := range w.readings {
		if r.token != 0 && w.library.running.insideCallback(r.token) {
			return device.Errorf(device.CodeInvalidState, op, "%s: called from a callback of %s, for which the call would wait", w.source.Name, r.what)
		}
	}
	w.ended = true
	for r := range w.readings {
		r.cancel()
	}
	for len(w.readings) > 0 {
		w.left.Wait()
	}
	return nil
}

// readers names the calls that read the source.
func (w *Weights) readers() string {
	var names []string
	for r := range w.readings {
		names = append(names, r.what)
	}
	return strings.Join(names, ", ")
}

// begin registers a call that reads the files. The caller calls end after the call.
func (w *Weights) begin(r *reading) (end func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || !w.source.hold() {
		return nil, device.Errorf(device.CodeInvalidHandle, "weights.begin", "weight source handle %#x: it has been closed", w.id())
	}
	w.readings[r] = true
	return func() {
		w.source.release(w.library.log)
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.readings, r)
		w.left.Broadcast()
	}, nil
}

// describe calls fn, which reads no file. The source stays open during the call.
func (w *Weights) describe(fn func(*weights.Source) error) error {
	if !w.source.hold() {
		return endedError(w)
	}
	defer w.source.release(w.library.log)
	return fn(w.source.Source)
}
