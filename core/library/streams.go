package library

import "ferrum_mem/core/manager"

// Factory is what makes blocks of managers, streams and events, and knows them by their
// handles.
func (l *Library) Factory(op string) (*manager.Factory, error) {
	if _, err := l.started(op); err != nil {
		return nil, err
	}
	return l.registry.factory, nil
}

// StreamCreate makes a stream on a device.
func (l *Library) StreamCreate(deviceID uint64) (uint64, error) {
	d, err := l.making("stream.create", deviceID)
	if err != nil {
		return 0, err
	}
	defer d.gate.leave()
	h, err := d.streams.CreateStream()
	return h.ID(), CallError(err, d)
}

// StreamDestroy destroys a stream: CodeBusy while work is queued, unless
// forced, which waits for it. The default one is CodeInvalidArgument.
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

// StreamDefault gives a device's default stream, the same handle each time.
func (l *Library) StreamDefault(deviceID uint64) (uint64, error) {
	d, err := l.making("stream.default", deviceID)
	if err != nil {
		return 0, err
	}
	defer d.gate.leave()
	h, err := d.streams.DefaultStream()
	return h.ID(), CallError(err, d)
}
