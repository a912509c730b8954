package library

import "ferrum_mem/core/manager"

// Factory returns the factory, which creates blocks of managers, streams and events,
// and finds them by handle.
func (l *Library) Factory(op string) (*manager.Factory, error) {
	if _, err := l.started(op); err != nil {
		return nil, err
	}
	return l.registry.factory, nil
}

// StreamCreate creates a stream on a device.
func (l *Library) StreamCreate(deviceID uint64) (uint64, error) {
	d, err := l.making("stream.create", deviceID)
	if err != nil {
		return 0, err
	}
	defer d.gate.exit()
	h, err := d.streams.CreateStream()
	return h.ID(), CallError(err, d)
}

// StreamDestroy destroys a stream. Without force it returns CodeBusy while work is
// queued; with force it waits for the work. It returns CodeInvalidArgument for a
// default stream.
func (l *Library) StreamDestroy(stream uint64, force bool) error {
	if _, err := l.started("stream.destroy"); err != nil {
		return err
	}
	if err := l.registry.factory.DestroyStream(manager.StreamHandle(stream), force); err != nil {
		return l.log.orLog(err, force, stream)
	}
	if l.options.ThreadCaches != nil {
		l.options.ThreadCaches.ForgetStream(stream)
	}
	return nil
}

// StreamDefault returns the handle of a device's default stream, which is the same each
// time.
func (l *Library) StreamDefault(deviceID uint64) (uint64, error) {
	d, err := l.making("stream.default", deviceID)
	if err != nil {
		return 0, err
	}
	defer d.gate.exit()
	h, err := d.streams.DefaultStream()
	return h.ID(), CallError(err, d)
}
