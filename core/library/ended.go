package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/handle"
	"ferrum_mem/core/manager"
)

// CallError converts the error of a call on an object that ended during the call into
// CodeInvalidHandle, which is the error of its handle from then on. In any other error
// it sets the device of the first object. It is for callers that found an object by its
// handle.
func CallError(err error, objects ...member) error {
	if err == nil {
		return nil
	}
	for _, o := range objects {
		if o.hasEnded() {
			return endedError(o)
		}
	}
	if _, e := objects[0].known(); e != nil {
		return on(err, e)
	}
	return err
}

// endedError is the error of a call on an ended object.
func endedError(o member) error {
	id, e := o.known()
	kind := handle.KindOf(id)
	ended := device.Errorf(device.CodeInvalidHandle, "handle.ended",
		"%s handle %#x: the %s has ended, or is being ended", kind, id, kind)
	if e != nil {
		return ended.On(e.ID())
	}
	return ended
}

// callErrorOn is CallError for a call that also uses a stream; 0: the default one.
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

// hold is enter for an access to the memory of an object: a forced end of the object waits until
// release is called.
func (g *gate) hold(of member) (release func(), err error) {
	if !g.enter() {
		return nil, endedError(of)
	}
	return g.leave, nil
}
