package weights

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
)

// guard keeps the memory of a load mapped while host threads write it. The memory is allocated for
// the guard's stream. If the host can address the device's memory, the stream has one piece of work
// that lasts as long as the load. So a free of the memory waits for the load, as for any queued work.
// For other devices the copies queued on streams have this effect. Between two copies no work protects
// the memory; the memory belongs to the load, and only the load frees it. A Sleep waits for the load on every device
// (Memory.KeepAwake).
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

// begin waits until earlier work on the memory has completed, then starts the guard.
func (g *guard) begin() error {
	if err := g.stream.Synchronize(device.Forever); err != nil || !g.isHost {
		return err
	}
	return g.stream.HostFunction(func() { <-g.over })
}

// end completes the work of the guard.
func (g *guard) end() error {
	close(g.over)
	return twice(g.stream.Close)
}
