package devicetest

import (
	"slices"

	"ferrum_mem/core/device"
)

// Capture returns the capture state of the stream.
func (s *Stream) Capture() (device.Capture, error) {
	err := s.enter(StreamCapture)
	defer s.dev.driver.mu.Unlock()
	switch {
	case err != nil:
		return device.Capture{}, err
	case s.graph == nil:
		return device.Capture{}, nil
	case s.graph.spoilt:
		return device.Capture{State: device.CaptureInvalid}, nil
	}
	return device.Capture{State: device.CaptureActive, ID: s.graph.id}, nil
}

// MayCapture reports whether SetMayCapture was called, and the stream can be used.
func (s *Stream) MayCapture() bool {
	d := s.dev.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	return s.mayCapture && !s.closed
}

// SetMayCapture lets other code begin a capture on the stream at any moment. From now on
// Forbidden counts every Idle: if a capture began at that moment, Idle would invalidate it.
func (s *Stream) SetMayCapture() {
	s.dev.driver.mu.Lock()
	defer s.dev.driver.mu.Unlock()
	s.mayCapture = true
}

// BeginCapture makes the stream record its work, and the work of streams that wait for
// its events.
func (s *Stream) BeginCapture() *Graph {
	d := s.dev.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.graph != nil {
		panic("the stream captures already")
	}
	d.captures++
	g := &Graph{dev: s.dev, id: d.captures}
	g.join(s)
	return g
}

func (g *Graph) join(s *Stream) {
	if s.graph == nil {
		s.graph = g
		g.streams = append(g.streams, s)
	}
}

// Spoil invalidates the capture.
func (g *Graph) Spoil() {
	g.dev.driver.mu.Lock()
	defer g.dev.driver.mu.Unlock()
	g.spoilt = true
}

// End ends the capture, and reports whether it is valid.
func (g *Graph) End() bool {
	g.dev.driver.mu.Lock()
	defer g.dev.driver.mu.Unlock()
	for _, s := range g.streams {
		s.graph = nil
	}
	g.ended = true
	return !g.spoilt
}

// Launch queues the work of a graph whose capture has ended.
func (g *Graph) Launch(s *Stream) {
	g.dev.driver.mu.Lock()
	defer g.dev.driver.mu.Unlock()
	if !g.ended || g.spoilt {
		panic("there is no such graph")
	}
	for _, w := range slices.Clone(g.work) {
		s.pushLocked(w)
	}
}

// Forbidden counts calls that a capture forbids: those that queried or waited for a
// capturing stream or an event of a capture, and queries of a stream on which a capture
// might have begun (SetMayCapture).
func (d *Device) Forbidden() int {
	d.driver.mu.Lock()
	defer d.driver.mu.Unlock()
	return d.forbidden
}

// uncaptured returns an error for a call that a capture does not allow. The caller
// holds the lock.
func (s *Stream) uncaptured(call Call) error {
	if s.graph == nil {
		return nil
	}
	s.dev.forbidden++
	return device.Errorf(device.CodeInvalidState, "devicetest."+string(call), "the stream is capturing").On(s.dev.info.ID)
}

// Captured reports whether the event was recorded in a capture.
func (e *Event) Captured() bool {
	e.dev.driver.mu.Lock()
	defer e.dev.driver.mu.Unlock()
	return e.graph != nil
}

func (e *Event) uncaptured(call Call) error {
	if e.graph == nil {
		return nil
	}
	e.dev.forbidden++
	return device.Errorf(device.CodeInvalidState, "devicetest."+string(call), "the event is an edge of a graph").On(e.dev.info.ID)
}
