package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/handle"
	"ferrum_mem/core/manager"
)

// CallError turns what objects say of a call that found one of them as it ended into what
// its handle will say in a moment: CodeInvalidHandle. Any other error names the device
// of the first. It is for callers of an object that was found by its handle.
func CallError(err error, objects ...member) error {
	if err == nil {
		return nil
	}
	for _, o := range objects {
		if o.isOver() {
			return over(o)
		}
	}
	if _, e := objects[0].known(); e != nil {
		return on(err, e)
	}
	return err
}

// over is what a call hears of an object that is over.
func over(o member) error {
	id, e := o.known()
	kind := handle.KindOf(id)
	ended := device.Errorf(device.CodeInvalidHandle, "handle.ended",
		"%s handle %#x: the %s has ended, or is being ended", kind, id, kind)
	if e != nil {
		return ended.On(e.ID())
	}
	return ended
}

// callErrorOn is CallError for a call that uses a stream as well; 0: the default one.
func (g *registry) callErrorOn(stream uint64, err error, object member) error {
	if err == nil {
		return nil
	}
	if stream != 0 && device.CodeOf(err) == device.CodeInvalidState {
		if ended := g.factory.StreamEnded(manager.StreamHandle(stream)); ended != nil {
			err = ended
		}
	}
	return CallError(err, object)
}

func engineOf(m member) *engine.Engine {
	_, e := m.known()
	return e
}
