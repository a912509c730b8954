package manager

import "ferrum_mem/core/device"

// StreamNative returns the object of the vendor's runtime that a stream represents. It
// returns CodeUnsupported for a backend without such objects. The object exists until
// the stream is destroyed.
func (f *Factory) StreamNative(h StreamHandle) (native uint64, err error) {
	const op = "stream.native"
	found, err := f.lookUpStream(op, h)
	if err != nil {
		return 0, err
	}
	err = found.queue(op, func(dev device.Stream) (err error) {
		of, is := dev.(device.Native)
		if !is {
			return lacks(op, found.owner.engine, "return native handles")
		}
		native, err = of.NativeHandle()
		return err
	})
	return native, err
}

// EventNative is StreamNative for an event.
func (f *Factory) EventNative(h EventHandle) (native uint64, err error) {
	const op = "event.native"
	err = f.use(op, h, func(e *event) (err error) {
		of, is := e.dev.(device.Native)
		if !is {
			return lacks(op, e.owner.engine, "return native handles")
		}
		native, err = of.NativeHandle()
		return err
	})
	return native, err
}
