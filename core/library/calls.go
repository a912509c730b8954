package library

import "ferrum_mem/core/handle"

// find finds an object by its handle. It costs two atomic loads and no allocation.
func find[T any](l *Library, table *handle.Table[T], op string, id uint64) (T, error) {
	if l.current.Load() == nil {
		var none T
		return none, notStarted(op)
	}
	return table.Get(id)
}
