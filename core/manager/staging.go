package manager

import (
	"reflect"
	"runtime"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/manager/mappings"
)

// stagingBytes bounds the host memory of all staged copies together.
const stagingBytes = 4 << 20

// staging is the one host buffer through which copies go between devices that
// cannot reach each other. Staged copies run one after the other.
type staging struct {
	// take makes the buffer when it is first needed. What it returns besides
	// the address keeps the buffer alive.
	take func(bytes uint64) (device.HostAddr, any)
	// takeMapCopy makes the memory of a mapping.
	takeMapCopy func(bytes uint64) (*mappings.Copy, error)

	mu     sync.Mutex
	addr   device.HostAddr
	buffer any
}

// takeHostBuffer makes a buffer out of ordinary memory of this process, which
// does not move. The number of its address is all that drivers get.
func takeHostBuffer(bytes uint64) (device.HostAddr, any) {
	buffer := make([]byte, bytes)
	return device.HostAddr(reflect.ValueOf(buffer).Pointer()), buffer
}

// route is how bytes get from one device to another.
type route struct {
	dst, src *openDevice
	dstAddr  device.Addr
	srcAddr  device.Addr
	size     uint64
}

// queueCopy queues a copy on a stream of the destination's device: by the
// device itself, from its peer, from host memory, or else staged.
func (f *Factory) queueCopy(s *stream, r route) func(device.Stream) error {
	return func(dev device.Stream) error {
		if r.dst == r.src {
			return dev.Copy(r.dstAddr, r.srcAddr, r.size)
		}
		to, from := r.dst.engine, r.src.engine
		if peer, ok := peerOf(to, from); ok {
			return peer.CopyFromPeer(dev, r.dstAddr, from.Device(), r.srcAddr, r.size)
		}
		if from.Info().HostAddressable {
			return dev.CopyFromHost(r.dstAddr, device.HostAddr(r.srcAddr), r.size)
		}
		// The bounce streams are made now, where a failure can be told.
		if _, err := r.src.bounceStream(); err != nil {
			return err
		}
		if _, err := r.dst.bounceStream(); err != nil {
			return err
		}
		return dev.HostFunction(func() { s.fail(f.staging.copy(r)) })
	}
}

// peerOf gives the capability of copying between two devices of one backend.
func peerOf(to, from *engine.Engine) (device.Peer, bool) {
	peer, ok := to.Device().(device.Peer)
	return peer, ok && to.ID().Backend == from.ID().Backend && peer.CanCopyFrom(from.Device())
}

// bounceStream gives the device's stream for staged copies. Nothing else is
// queued on it and it waits for no event, so waiting for it always ends.
func (d *openDevice) bounceStream() (device.Stream, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bounce == nil {
		made, err := d.engine.Device().NewStream()
		if err != nil {
			return nil, err
		}
		d.bounce = made
	}
	return d.bounce, nil
}

// copy runs a staged copy to its end, part by part. It runs as a host function
// of the stream that the copy was queued on, which gives it its order.
func (g *staging) copy(r route) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	from, err := r.src.bounceStream()
	if err != nil {
		return err
	}
	if r.dst.engine.Info().HostAddressable {
		return finish(from, from.CopyToHost(device.HostAddr(r.dstAddr), r.srcAddr, r.size))
	}
	to, err := r.dst.bounceStream()
	if err != nil {
		return err
	}
	if g.buffer == nil {
		g.addr, g.buffer = g.take(stagingBytes)
	}
	defer runtime.KeepAlive(g.buffer)
	for done := uint64(0); done < r.size; {
		part := min(r.size-done, stagingBytes)
		if err := finish(from, from.CopyToHost(g.addr, r.srcAddr+device.Addr(done), part)); err != nil {
			return err
		}
		if err := finish(to, to.CopyFromHost(r.dstAddr+device.Addr(done), g.addr, part)); err != nil {
			return err
		}
		done += part
	}
	return nil
}

// finish waits for what was queued, unless queueing it failed.
func finish(s device.Stream, queued error) error {
	if queued != nil {
		return queued
	}
	return s.Synchronize(device.Forever)
}
