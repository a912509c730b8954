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

// staging is the one host buffer for copies between devices that cannot reach each
// other. Staged copies run one after the other.
type staging struct {
	// take allocates the buffer at the first use. Its second result keeps the buffer
	// alive.
	take func(bytes uint64) (device.HostAddr, any)
	// takeMapCopy allocates the memory of a mapping.
	takeMapCopy func(bytes uint64) (*mappings.Copy, error)

	mu     sync.Mutex
	addr   device.HostAddr
	buffer any
}

// takeHostBuffer allocates a buffer in pageable memory of this process, which does not
// move. Drivers get only its address as a number.
func takeHostBuffer(bytes uint64) (device.HostAddr, any) {
	buffer := make([]byte, bytes)
	return device.HostAddr(reflect.ValueOf(buffer).Pointer()), buffer
}

// route is a copy between two devices.
type route struct {
	dst, src *openDevice
	dstAddr  device.Addr
	srcAddr  device.Addr
	size     uint64
}

// queueCopy queues a copy on a stream of the destination's device: by the device
// itself, from its peer, from host memory, or otherwise staged.
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
		// Create the bounce streams now, because an error can be returned here.
		if _, err := r.src.bounceStream(); err != nil {
			return err
		}
		if _, err := r.dst.bounceStream(); err != nil {
			return err
		}
		return dev.HostFunction(func() {
			// The stream waits here for its order. A host function may not call CUDA, so
			// another thread makes the copy.
			<-device.Go("a staged copy", func() { s.fail(f.staging.copy(r)) })
		})
	}
}

// peerOf returns the capability to copy between two devices of one backend.
func peerOf(to, from *engine.Engine) (device.Peer, bool) {
	peer, ok := to.Device().(device.Peer)
	return peer, ok && to.ID().Backend == from.ID().Backend && peer.CanCopyFrom(from.Device())
}

// bounceStream returns the device's stream for staged copies. Nothing else is queued on
// it and it waits for no event, so a wait for it always ends.
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

// copy runs a staged copy, part by part. A host function of the stream on which the copy
// was queued waits for it, which orders it.
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

// finish waits for queued work, unless queueing failed.
func finish(s device.Stream, queued error) error {
	if queued != nil {
		return queued
	}
	return s.Synchronize(device.Forever)
}
