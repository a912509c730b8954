package manager

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// lastWords has a block, a stream and an event, for every call that takes one.
type lastWords struct {
	*rig
	memory, spare MemoryHandle
	stream        StreamHandle
	event         EventHandle
}

// words has the argument types that are handles, or contain one.
var words = map[string][]reflect.Type{
	"block": {
		reflect.TypeFor[MemoryHandle](), reflect.TypeFor[Transfer](), reflect.TypeFor[Fill](), reflect.TypeFor[MapRequest](),
	},
	"stream": {reflect.TypeFor[StreamHandle]()},
	"event":  {reflect.TypeFor[EventHandle]()},
}

func (w *lastWords) argument(of reflect.Type) reflect.Value {
	switch of {
	case reflect.TypeFor[MemoryHandle]():
		return reflect.ValueOf(w.memory)
	case reflect.TypeFor[StreamHandle]():
		return reflect.ValueOf(w.stream)
	case reflect.TypeFor[EventHandle]():
		return reflect.ValueOf(w.event)
	case reflect.TypeFor[Transfer]():
		return reflect.ValueOf(NewTransfer(w.memory, w.spare, 64))
	case reflect.TypeFor[Fill]():
		return reflect.ValueOf(fillOf(w.memory, 0, 64, 1, 1))
	case reflect.TypeFor[MapRequest]():
		return reflect.ValueOf(MapRequest{Memory: w.memory, SizeBytes: 64, Access: HostRead})
	case reflect.TypeFor[device.HostAddr]():
		return reflect.ValueOf(device.HostAddr(reflect.ValueOf(make([]byte, 64)).Pointer()))
	case reflect.TypeFor[func()]():
		return reflect.ValueOf(func() {})
	}
	if of == reflect.TypeOf(w.engine) {
		return reflect.ValueOf(w.engine)
	}
	made := reflect.New(of).Elem()
	if of.Kind() == reflect.Uint64 && of == reflect.TypeFor[uint64]() {
		made.SetUint(8)
	}
	return made
}

// A call that found a block, a stream or an event just before its end returns
// CodeInvalidHandle, and no other error. A call that only waits for the end of work may
// succeed.
func TestCallsBetweenTheEndOfAnObjectAndThatOfItsHandle(t *testing.T) {
	ends := map[string]func(t *testing.T, w *lastWords){
		"block": func(t *testing.T, w *lastWords) {
			b, err := w.factory.memory.Get(w.memory.ID())
			require.NoError(t, err)
			b.dead = true
			t.Cleanup(func() { b.dead = false })
		},
		"stream": func(t *testing.T, w *lastWords) {
			s, err := w.factory.streams.Get(w.stream.ID())
			require.NoError(t, err)
			require.NoError(t, s.destroy(false))
			t.Cleanup(func() {
				_, err := w.factory.streams.Remove(w.stream.ID())
				require.NoError(t, err)
				s.owner.gone(&s.owner.streams)
			})
		},
		"event": func(t *testing.T, w *lastWords) {
			e, err := w.factory.events.Get(w.event.ID())
			require.NoError(t, err)
			require.NoError(t, e.release())
			e.dead = true
			t.Cleanup(func() {
				_, err := w.factory.events.Remove(w.event.ID())
				require.NoError(t, err)
				e.owner.gone(&e.owner.events)
			})
		},
	}
	// Stream returns a stream for pools, which report its errors in their own way.
	idle := []string{"IsStreamReady", "SynchronizeStream", "Stream"}
	for kind, end := range ends {
		t.Run(kind, func(t *testing.T) {
			w := &lastWords{rig: cleanRig(t, devicetest.Config{Backed: true})}
			m := w.manager(t, nil)
			var err error
			w.memory, err = m.Alloc(4096)
			require.NoError(t, err)
			w.spare, err = m.Alloc(4096)
			require.NoError(t, err)
			w.stream, err = w.streams.CreateStream()
			require.NoError(t, err)
			w.event, err = w.streams.RecordEvent(w.stream)
			require.NoError(t, err)
			end(t, w)
			factory := reflect.ValueOf(w.factory)
			asked := 0
			for i := range factory.NumMethod() {
				name, method := factory.Type().Method(i).Name, factory.Method(i)
				var arguments []reflect.Value
				takes := false
				for p := range method.Type().NumIn() {
					arguments = append(arguments, w.argument(method.Type().In(p)))
					takes = takes || slices.Contains(words[kind], method.Type().In(p))
				}
				if !takes {
					continue
				}
				asked++
				results := method.Call(arguments)
				err, _ := results[len(results)-1].Interface().(error)
				if err == nil {
					assert.Contains(t, idle, name, "%s found nothing wrong with a %s that is over", name, kind)
					continue
				}
				want := device.CodeInvalidHandle
				if name == "ShareEvent" {
					// These devices return it at any time.
					want = device.CodeUnsupported
				}
				assert.Equal(t, want, device.CodeOf(err), "%s: %v", name, err)
			}
			require.Greater(t, asked, 4)
		})
	}
}

// A device is closed by force during calls that have found one of its blocks: they
// return the error of its handle.
func TestDeviceClosedDuringACall(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	m := r.manager(t, nil)
	memory, err := m.Alloc(4096)
	require.NoError(t, err)
	b, err := r.factory.memory.Get(memory.ID())
	require.NoError(t, err)
	closed := device.Errorf(device.CodeInvalidState, "test", "the stream is closed")
	move := func() error {
		return r.factory.Copy(Transfer{Src: memory, Dst: memory, SizeBytes: 8, DstOffsetBytes: 64})
	}
	r.dev.FailNth(devicetest.StreamSynchronize, 1, closed)
	requireError(t, move(), device.CodeInvalidState)
	b.dead = true
	r.dev.FailNth(devicetest.StreamSynchronize, 1, closed)
	requireError(t, move(), device.CodeInvalidHandle)
	b.dead = false
	require.NoError(t, move())
}
