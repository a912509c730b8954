package library

import (
	"ferrum_mem/core/engine"
	"ferrum_mem/core/handle"
)

// find finds an object by its handle. It costs two atomic loads and no allocation.
func find[T any](l *Library, table *handle.Table[T], op string, id uint64) (T, error) {
	if l.current.Load() == nil {
		var none T
		return none, notStarted(op)
	}
	return table.Get(id)
}

// do calls an object; what it says as it ends is what its handle will say in a moment.
func do[T member](l *Library, table *handle.Table[T], op string, id uint64, call func(T) error) error {
	object, err := find(l, table, op, id)
	if err != nil {
		return err
	}
	return late(call(object), object)
}

// ask is do for a call that has a result.
func ask[T member, R any](l *Library, table *handle.Table[T], op string, id uint64, call func(T) (R, error)) (R, error) {
	object, err := find(l, table, op, id)
	if err != nil {
		var none R
		return none, err
	}
	result, err := call(object)
	return result, late(err, object)
}

// tell is ask for what an object always knows.
func tell[T, R any](l *Library, table *handle.Table[T], op string, id uint64, call func(T) R) (R, error) {
	object, err := find(l, table, op, id)
	if err != nil {
		var none R
		return none, err
	}
	return call(object), nil
}

func engineOf(m member) *engine.Engine {
	_, e := m.known()
	return e
}
