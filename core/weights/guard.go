package weights

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
)

// guard keeps the memory of a load mapped while threads of the host write it. The memory is allocated
// for the guard's stream, and on a device that the host can address that stream has one piece of
// work, which lasts as long as the load. So a sleep or a free of that memory waits for the load, as
// for any queued work. Copies of other devices are queued on streams, which does the same.
type guard struct {
	stream device.Stream
	isHost bool
	over   chan struct{}
}

func newGuard(e *engine.Engine) (*guard, error) {
	stream, err := e.Device().NewStream()
	if err != nil {
		return nil, err
	}
	return &guard{stream: stream, isHost: e.Info().HostAddressable, over: make(chan struct{})}, nil
}

// begin waits until the memory is free of earlier work, then starts the guard.
func (g *guard) begin() error {
	if err := g.stream.Synchronize(device.Forever); err != nil || !g.isHost {
		return err
	}
	return g.stream.HostFunction(func() { <-g.over })
}

// end ends the guard.
func (g *guard) end() error {
	close(g.over)
	return twice(g.stream.Close)
}
