package diskfile

import "sync/atomic"

// Watch watches the pages of one mapping. If the process uses a lost page, the page becomes zeros
// and the process continues.
type Watch interface {
	// IsDamaged states whether the process has used a lost page.
	IsDamaged() bool
	// End ends the watch. It is called before the mapping is unmapped.
	End()
}

var onMap atomic.Pointer[func(mapping []byte, fd int) (Watch, error)]

// OnMap sets the hook that starts the watch of each later mapping of an open file. nil, the initial
// value: no mapping is watched.
func OnMap(hook func(mapping []byte, fd int) (Watch, error)) {
	if hook == nil {
		onMap.Store(nil)
		return
	}
	onMap.Store(&hook)
}

// noWatch is the Watch of a mapping if there is no hook.
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
