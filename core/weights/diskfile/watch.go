package diskfile

import "sync/atomic"

// Watch is the watch over the pages of one mapping. A page that is gone when it is used becomes zeros,
// and not the end of the process.
type Watch interface {
	// IsDamaged states whether a page was gone when it was used.
	IsDamaged() bool
	// End ends the watch, before the mapping is unmapped.
	End()
}

var onMap atomic.Pointer[func(mapping []byte, fd int) (Watch, error)]

// OnMap sets the hook that begins the watch over each further mapping of an open file; nil: no mapping
// is watched, as at first.
func OnMap(hook func(mapping []byte, fd int) (Watch, error)) {
	if hook == nil {
		onMap.Store(nil)
		return
	}
	onMap.Store(&hook)
}

// noWatch is the watch over a mapping if there is no hook.
type noWatch struct{}

func (noWatch) IsDamaged() bool { return false }
func (noWatch) End()            {}

func watch(mapping []byte, fd int) (Watch, error) {
	hook := onMap.Load()
	if hook == nil {
		return noWatch{}, nil
	}
	return (*hook)(mapping, fd)
}
