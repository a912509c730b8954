package library_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/library"
	"ferrum_mem/core/placement"
	"ferrum_mem/core/vmm"
)

// callToken is the token of the callbacks here.
const callToken = 42

// callers has a function for each kind of callback. It makes the callback run, and
// calls running with the function that removes it.
var callers = map[string]func(b *bench, dev uint64, running func(remove func() error)){
	"pressure":  callPressure,
	"reclaim":   callReclaim,
	"model":     callModelReclaim,
	"monitor":   callMonitor,
	"placement": callPlacement,
}

func callPressure(b *bench, dev uint64, running func(remove func() error)) {
	var id uint64
	added := make(chan struct{})
	id, err := b.PressureCallbackAdd(dev, callToken, func(uint64, int32) {
		<-added
		running(func() error { return b.RegistrationRemove(id, []uint64{callToken}) })
	})
	require.NoError(b.t, err)
	close(added)
	_, err = b.PoolAlloc(b.pool(dev), capacity/100*90, 0)
	require.NoError(b.t, err)
}

func callReclaim(b *bench, dev uint64, running func(remove func() error)) {
	var id uint64
	var called atomic.Bool
	short := engine.ReclaimConfig{Deadline: time.Millisecond}
	id, err := b.ReclaimCallbackAdd(dev, callToken, short, func(uint64, uint64) uint64 {
		called.Store(true)
		running(func() error { return b.RegistrationRemove(id, []uint64{callToken}) })
		return 0
	})
	require.NoError(b.t, err)
	p := b.pool(dev)
	_, err = b.PoolAlloc(p, capacity/2, 0)
	require.NoError(b.t, err)
	for !called.Load() {
		_, err = b.PoolAlloc(p, capacity/4*3, 0)
		requireCode(b.t, device.CodeOutOfMemory, err)
	}
}

func callModelReclaim(b *bench, dev uint64, running func(remove func() error)) {
	s, err := b.ElasticPoolCreate(dev, vmm.ElasticConfig{PageBytes: page, LimitBytes: 4 * page, ReadyPages: -1})
	require.NoError(b.t, err)
	chat := modelRef{pool: s, id: "chat"}
	require.NoError(b.t, at(b.ElasticPool, chat.pool).RegisterModel(chat.id, vmm.ModelConfig{VirtualBytes: 8 * page}))
	var id uint64
	var called atomic.Bool
	id, err = at(b.ElasticPool, chat.pool).ReclaimCallbackAdd(chat.id, callToken, time.Millisecond, func(uint64) uint64 {
		called.Store(true)
		running(func() error { return b.RegistrationRemove(id, []uint64{callToken}) })
		return 0
	})
	require.NoError(b.t, err)
	_, _, err = at(b.ElasticPool, chat.pool).Alloc(chat.id, 3*page)
	require.NoError(b.t, err)
	for !called.Load() {
		_, _, err = at(b.ElasticPool, chat.pool).Alloc(chat.id, 3*page)
		requireCode(b.t, device.CodeOutOfPhysicalMemory, err)
	}
}

func callMonitor(b *bench, dev uint64, running func(remove func() error)) {
	m := b.monitor()
	require.NoError(b.t, at(b.Monitor, m).Register(b.manager(dev)))
	require.NoError(b.t, at(b.Monitor, m).SetCallback(nil, func([]library.DeviceLevel) {
		running(func() error { return at(b.Monitor, m).Destroy([]uint64{m}) })
	}))
	b.others(0, dev, 99)
}

func callPlacement(b *bench, dev uint64, running func(remove func() error)) {
	var s uint64
	s, err := b.PlacementCreateOwn("mine", func(library.PlacementRequest, []library.PlacementOption) (int, error) {
		running(func() error { return at(b.Placement, s).Destroy([]uint64{s}) })
		return 0, nil
	})
	require.NoError(b.t, err)
	go func() {
		_, _ = at(b.Placement, s).Select(library.PlacementRequest{Request: placement.Request{SizeBytes: page}, Devices: []uint64{dev}})
	}()
}

// ofNoDevice has the kinds that the close of a device does not end.
var ofNoDevice = map[string]bool{"monitor": true, "placement": true}

// After a stop, or the close of the device, the program may free what a callback uses.
// So a callback that has removed itself must have ended by then, too.
func TestAStopWaitsForCallbacksThatRemovedThemselves(t *testing.T) {
	for kind, call := range callers {
		for _, what := range []string{"shutdown", "close"} {
			if what == "close" && ofNoDevice[kind] {
				continue
			}
			t.Run(kind+" "+what, func(t *testing.T) {
				b := newBench(t)
				require.NoError(t, b.Init(nil))
				dev := b.open("test:0")
				removed, hold := make(chan error), make(chan struct{})
				var ended atomic.Bool
				call(b, dev, func(remove func() error) {
					removed <- remove()
					<-hold
					// A stop that does not wait would end during this time.
					for range 1000 {
						runtime.Gosched()
					}
					ended.Store(true)
				})
				require.NoError(t, <-removed)
				type outcome struct {
					err   error
					ended bool
				}
				stopped := make(chan outcome, 1)
				go func() {
					var err error
					if what == "shutdown" {
						err = b.Shutdown(true)
					} else {
						err = at(b.Device, dev).Close(true)
					}
					stopped <- outcome{err, ended.Load()}
				}()
				b.untilNothingIsMade(dev)
				close(hold)
				stop := <-stopped
				require.NoError(t, stop.err)
				require.True(t, stop.ended, "the callback had ended by then")
				if what == "close" {
					require.NoError(t, b.Shutdown(true))
				}
			})
		}
	}
}

// untilNothingIsMade waits until a stop or the close of the device is in progress.
func (b *bench) untilNothingIsMade(dev uint64) {
	for ; ; runtime.Gosched() {
		id, err := b.PressureCallbackAdd(dev, callToken+1, func(uint64, int32) {})
		if err != nil {
			return
		}
		if err := b.RegistrationRemove(id, nil); err != nil {
			return // The stop has removed it.
		}
	}
}

// A close from inside a callback that has removed itself cannot wait for that callback;
// the following stop does.
func TestACallbackThatRemovedItselfClosesItsDevice(t *testing.T) {
	for kind, call := range callers {
		if kind == "placement" {
			continue // It runs on the thread of the caller, and not on one of the library.
		}
		t.Run(kind, func(t *testing.T) {
			// The thread that runs the callback belongs to the library. While inside is
			// false, calls from here are not from inside a callback.
			var inside atomic.Bool
			b := newBench(t, func(o *library.Options) {
				o.InsideCallback = func(token uint64) bool { return token == 0 && inside.Load() }
			})
			require.NoError(t, b.Init(nil))
			dev := b.open("test:0")
			closed, hold := make(chan error), make(chan struct{})
			var ended atomic.Bool
			called := make(chan struct{})
			call(b, dev, func(remove func() error) {
				<-called
				inside.Store(true)
				err := remove()
				if err == nil {
					err = at(b.Device, dev).Close(true)
				}
				inside.Store(false)
				closed <- err
				<-hold
				for range 1000 {
					runtime.Gosched()
				}
				ended.Store(true)
			})
			close(called)
			require.NoError(t, <-closed)
			err := do(b.Device, dev, func(o *library.Device) error { o.Info(); return nil })
			requireCode(t, device.CodeInvalidHandle, err)
			stopped := make(chan error, 1)
			go func() { stopped <- b.Shutdown(true) }()
			for device.CodeOf(err) != device.CodeNotInitialized {
				runtime.Gosched()
				err = do(b.Device, dev, func(o *library.Device) error { o.Info(); return nil })
			}
			close(hold)
			require.NoError(t, <-stopped)
			require.True(t, ended.Load(), "the stop waited for the callback")
		})
	}
}
