package library_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/fallback"
	"ferrum_mem/core/library"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/vmm"
)

// closable is a kind of object that may be in use when it is to end.
type closable struct {
	// make creates an object on a device and returns its handle.
	make func(b *bench, dev uint64) uint64
	// use makes the object be in use, and returns the function that ends the use.
	use []func(b *bench, id uint64) (end func() error, err error)
	// end ends the object without force.
	end func(b *bench, id uint64) error
	// gone is the error of a call on an ended object; the zero value means
	// CodeInvalidHandle.
	gone device.Code
}

func ending[T any](object T, err error, end func(T) error) (func() error, error) {
	if err != nil {
		return nil, err
	}
	return func() error { return end(object) }, nil
}

func must(b *bench) func(uint64, error) uint64 {
	return func(id uint64, err error) uint64 {
		require.NoError(b.t, err)
		return id
	}
}

var closables = map[string]closable{
	"device": {
		make: func(b *bench, _ uint64) uint64 { return b.open("test:1") },
		use: []func(b *bench, id uint64) (func() error, error){
			func(b *bench, id uint64) (func() error, error) {
				s, err := b.StreamCreate(id)
				return ending(s, err, func(s uint64) error { return b.StreamDestroy(s, false) })
			},
			func(b *bench, id uint64) (func() error, error) {
				s, err := b.StreamDefault(id)
				if err != nil {
					return nil, err
				}
				e, err := made(b).RecordEvent(manager.StreamHandle(s))
				return ending(uint64(e), err, func(e uint64) error { return made(b).DestroyEvent(manager.EventHandle(e)) })
			},
			func(b *bench, id uint64) (func() error, error) {
				r, err := b.PressureCallbackAdd(id, 0, func(uint64, int32) {})
				return ending(r, err, func(r uint64) error { return b.RegistrationRemove(r, nil) })
			},
			func(b *bench, id uint64) (func() error, error) {
				p, err := b.PoolCreate(id, smallPool())
				return ending(p, err, func(p uint64) error { return end(b.Pool, p, func(o *library.Pool) error { return o.Destroy(false) }) })
			},
			func(b *bench, id uint64) (func() error, error) {
				m, err := b.ManagerCreate(id, nil)
				return ending(m, err, func(m uint64) error {
					return end(b.Manager, m, func(o *library.Manager) error { return o.Destroy(false) })
				})
			},
		},
		end: func(b *bench, id uint64) error {
			return end(b.Device, id, func(o *library.Device) error { return o.Close(false) })
		},
	},
	"pool": {
		make: func(b *bench, dev uint64) uint64 { return b.pool(dev) },
		use: []func(b *bench, id uint64) (func() error, error){
			func(b *bench, id uint64) (func() error, error) {
				a, err := b.PoolAlloc(id, 4096, 0)
				return ending(a, err, func(a device.Addr) error { return b.PoolFree(id, a, 0) })
			},
		},
		end: func(b *bench, id uint64) error {
			return end(b.Pool, id, func(o *library.Pool) error { return o.Destroy(false) })
		},
	},
	"virtual pool": {
		make: func(b *bench, dev uint64) uint64 {
			return must(b)(b.VPoolCreate(dev, vmm.Config{Name: "v", CapacityBytes: 8 * page, PageBytes: page}))
		},
		use: []func(b *bench, id uint64) (func() error, error){useRange(0), useRange(4 * page)},
		end: func(b *bench, id uint64) error {
			return end(b.VPool, id, func(o *library.VPool) error { return o.Destroy(false) })
		},
	},
	"elastic pool": {
		make: sharedWithModels,
		use:  []func(b *bench, id uint64) (func() error, error){useModel("first"), useModel("last")},
		end: func(b *bench, id uint64) error {
			return end(b.ElasticPool, id, func(o *library.ElasticPool) error { return o.Destroy(false) })
		},
	},
	"model": {
		make: sharedWithModels,
		use:  []func(b *bench, id uint64) (func() error, error){useModel("last")},
		end: func(b *bench, id uint64) error {
			return do(b.ElasticPool, id, func(o *library.ElasticPool) error { return o.UnregisterModel("last", false) })
		},
		gone: device.CodeModelNotFound,
	},
	"manager": {
		make: func(b *bench, dev uint64) uint64 { return b.manager(dev) },
		use: []func(b *bench, id uint64) (func() error, error){
			func(b *bench, id uint64) (func() error, error) {
				var m manager.MemoryHandle
				err := do(b.Manager, id, func(o *library.Manager) (err error) {
					m, err = o.Alloc(4096)
					return err
				})
				return ending(uint64(m), err, b.free)
			},
		},
		end: func(b *bench, id uint64) error {
			return end(b.Manager, id, func(o *library.Manager) error { return o.Destroy(false) })
		},
	},
	"memory": {
		make: func(b *bench, dev uint64) uint64 {
			m, err := at(b.Manager, b.manager(dev)).Alloc(4096)
			return must(b)(uint64(m), err)
		},
		use: []func(b *bench, id uint64) (func() error, error){
			func(b *bench, id uint64) (func() error, error) {
				err := ofFactory(b.Library, func(f *manager.Factory) error { return second(f.Pin(manager.MemoryHandle(id))) })
				return ending(id, err, func(m uint64) error { return made(b).Unpin(manager.MemoryHandle(m)) })
			},
		},
		end: (*bench).free,
	},
	"stream": {
		make: func(b *bench, dev uint64) uint64 { return must(b)(b.StreamCreate(dev)) },
		use: []func(b *bench, id uint64) (func() error, error){
			func(b *bench, id uint64) (func() error, error) {
				ran := make(chan struct{})
				err := made(b).HostFunction(manager.StreamHandle(id), func() { close(ran) })
				return ending(ran, err, func(ran chan struct{}) error { <-ran; return nil })
			},
		},
		end: func(b *bench, id uint64) error { return b.StreamDestroy(id, false) },
	},
	"fallback manager": {
		make: fallbackManager,
		use: []func(b *bench, id uint64) (func() error, error){
			func(b *bench, id uint64) (func() error, error) {
				var made uint64
				err := do(b.FallbackManager, id, func(o *library.FallbackManager) (err error) {
					made, err = o.Alloc(words)
					return err
				})
				return ending(made, err, func(made uint64) error {
					return end(b.FallbackBuffer, made, func(o *library.FallbackBuffer) error { return o.Free(0) })
				})
			},
		},
		end: func(b *bench, id uint64) error {
			return end(b.FallbackManager, id, func(o *library.FallbackManager) error { return o.Destroy(false) })
		},
	},
	"buffer": {
		make: func(b *bench, dev uint64) uint64 {
			return must(b)(at(b.FallbackManager, fallbackManager(b, dev)).Alloc(words))
		},
		use: []func(b *bench, id uint64) (func() error, error){
			func(b *bench, id uint64) (func() error, error) {
				err := do(b.FallbackBuffer, id, func(o *library.FallbackBuffer) error {
					_, _, err := o.PinAddr()
					return err
				})
				return ending(id, err, func(id uint64) error {
					return do(b.FallbackBuffer, id, func(o *library.FallbackBuffer) error { return o.Unpin() })
				})
			},
		},
		end: func(b *bench, id uint64) error {
			return end(b.FallbackBuffer, id, func(o *library.FallbackBuffer) error { return o.Free(0) })
		},
	},
	"generic pool": {
		make: func(b *bench, _ uint64) uint64 {
			return must(b)(b.GenericPoolCreate(fallback.DefaultMemoryConfig()))
		},
		use: []func(b *bench, id uint64) (func() error, error){
			func(b *bench, id uint64) (func() error, error) {
				err := do(b.GenericPool, id, func(o *library.GenericPool) error { return o.AddFree(7, 100) })
				return ending(id, err, func(id uint64) error {
					return do(b.GenericPool, id, func(o *library.GenericPool) error {
						_, _, err := o.Drain(1)
						return err
					})
				})
			},
		},
		end: func(b *bench, id uint64) error {
			return end(b.GenericPool, id, func(o *library.GenericPool) error { return o.Destroy(false) })
		},
	},
}

var words = library.BufferRequest{Request: fallback.Request{Shape: fallback.Shape{DType: fallback.U8, Len: 4096}}}

func fallbackManager(b *bench, dev uint64) uint64 {
	memory := fallback.DefaultMemoryConfig().WithMinFreeBytes(0).WithCPUFallback(false)
	return must(b)(b.FallbackManagerCreate(dev, 0, memory))
}

func sharedWithModels(b *bench, dev uint64) uint64 {
	id := must(b)(b.ElasticPoolCreate(dev, vmm.ElasticConfig{Name: "kv", PageBytes: page, LimitBytes: 16 * page}))
	for _, model := range []string{"first", "second", "last"} {
		require.NoError(b.t, at(b.ElasticPool, id).RegisterModel(model, vmm.ModelConfig{VirtualBytes: 8 * page}))
	}
	return id
}

func useRange(offset uint64) func(b *bench, id uint64) (func() error, error) {
	return func(b *bench, id uint64) (func() error, error) {
		err := do(b.VPool, id, func(o *library.VPool) error {
			return second(o.Alloc(library.ByteRange{OffsetBytes: offset, SizeBytes: page}))
		})
		return ending(id, err, func(id uint64) error {
			return do(b.VPool, id, func(o *library.VPool) error {
				return o.Free(library.ByteRange{OffsetBytes: offset, SizeBytes: page}, 0)
			})
		})
	}
}

func useModel(name string) func(b *bench, id uint64) (func() error, error) {
	return func(b *bench, id uint64) (func() error, error) {
		ref := modelRef{pool: id, id: name}
		var offset uint64
		err := do(b.ElasticPool, ref.pool, func(o *library.ElasticPool) (err error) {
			_, offset, err = o.Alloc(ref.id, page)
			return err
		})
		return ending(offset, err, func(offset uint64) error {
			return do(b.ElasticPool, ref.pool, func(o *library.ElasticPool) error {
				return o.Free(ref.id, library.ByteRange{OffsetBytes: offset, SizeBytes: page}, 0)
			})
		})
	}
}

// An object in use rejects its end and works as before; when it is not in use any more
// it ends.
func TestAnEndThatIsRefusedChangesNothing(t *testing.T) {
	for name, c := range closables {
		for i, use := range c.use {
			if name == "stream" {
				// It is in use while work is queued, which the test below covers.
				continue
			}
			t.Run(fmt.Sprint(name, i), func(t *testing.T) {
				b := startBackedBench(t)
				id := c.make(b, b.open("test:0"))
				free, err := use(b, id)
				require.NoError(t, err)
				err = c.end(b, id)
				requireCode(t, device.CodeBusy, err)
				require.Regexp(t, `[1-9]`, err.Error(), "it says how much is left")
				for _, use := range c.use {
					if other, err := use(b, id); assertServed(t, err) {
						require.NoError(t, other())
					}
				}
				requireCode(t, device.CodeBusy, c.end(b, id))
				require.NoError(t, free())
				require.NoError(t, c.end(b, id))
				_, err = use(b, id)
				requireCode(t, c.goneCode(), err)
			})
		}
	}
}

// assertServed returns false for a call that finds its one range taken.
func assertServed(t *testing.T, err error) bool {
	if device.CodeOf(err) == device.CodeAlreadyMapped {
		return false
	}
	return assert.NoError(t, err)
}

func (c closable) goneCode() device.Code {
	if c.gone == device.CodeOK {
		return device.CodeInvalidHandle
	}
	return c.gone
}

// Threads use an object while another ends it without force, until it succeeds. A call
// reports the end only after a successful end, and uses that have begun can be
// completed.
func TestCallsDuringDestroyWithoutForce(t *testing.T) {
	for name, c := range closables {
		t.Run(name, func(t *testing.T) {
			b := startBackedBench(t)
			for range 40 {
				dev := b.open("test:0")
				useWhileItEnds(t, b, c, c.make(b, dev))
				require.NoError(t, at(b.Device, dev).Close(true))
			}
		})
	}
}

func useWhileItEnds(t *testing.T, b *bench, c closable, id uint64) {
	var over atomic.Int32
	var wait, begun sync.WaitGroup
	for _, use := range c.use {
		begun.Add(1)
		wait.Go(func() {
			first := sync.OnceFunc(begun.Done)
			defer first()
			for range 30 {
				free, err := use(b, id)
				if err != nil {
					assert.Equal(t, c.goneCode(), device.CodeOf(err), "%v", err)
					over.Add(1)
					return
				}
				first()
				assert.NoError(t, free(), "an object in use can be freed until it is closed")
			}
		})
	}
	begun.Wait()
	deadline, ended := time.Now().Add(20*time.Second), false
	for !ended && time.Now().Before(deadline) {
		err := c.end(b, id)
		if ended = err == nil; !ended {
			require.Equal(t, device.CodeBusy, device.CodeOf(err), "%v", err)
			require.Zero(t, over.Load(), "the object stays open, and no call has failed because of the rejected close")
		}
	}
	wait.Wait()
	require.True(t, ended, "after the last call the object ends")
}

// A registration keeps its device open after its object has ended. The error names the
// registration, and so do the leak report and the error of a stop.
func TestARegistrationThatOutlivesItsModelIsNamed(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	shared := sharedWithModels(b, dev)
	chat := modelRef{pool: shared, id: "first"}
	reclaim, err := at(b.ElasticPool, chat.pool).ReclaimCallbackAdd(chat.id, 0, 0, func(uint64) uint64 { return 0 })
	require.NoError(t, err)
	const about = `reclaim callback of model "first" of elastic pool "kv"`
	require.ErrorContains(t, at(b.Device, dev).Close(false), fmt.Sprintf("registration %#x: %s)", reclaim, about))
	require.NoError(t, at(b.ElasticPool, chat.pool).UnregisterModel(chat.id, false))
	for range 5 {
		id, err := b.PressureCallbackAdd(dev, 0, func(uint64, int32) {})
		require.NoError(t, err)
		defer func() { requireCode(t, device.CodeNotInitialized, b.RegistrationRemove(id, nil)) }()
	}
	ended := fmt.Sprintf("registration %#x: %s, which has ended; ", reclaim, about)
	err = at(b.Device, dev).Close(false)
	requireCode(t, device.CodeBusy, err)
	require.ErrorContains(t, err, "6 registrations ("+ended)
	require.ErrorContains(t, err, "pressure callback of the device")
	// A new model with the same name is another model.
	require.NoError(t, at(b.ElasticPool, chat.pool).RegisterModel(chat.id, vmm.ModelConfig{VirtualBytes: page}))
	require.ErrorContains(t, b.Shutdown(false), ended)
	require.NoError(t, at(b.ElasticPool, shared).Destroy(false))
	require.ErrorContains(t, b.Shutdown(false), ended)
	require.Contains(t, string(b.LeakReportJSON()), `"callback":"reclaim callback of model \"first\" of elastic pool \"kv\", which has ended"`)

	m := fallbackManager(b, dev)
	onPressure, err := at(b.FallbackManager, m).PressureCallbackAdd(0, func(uint64, int32) {})
	require.NoError(t, err)
	require.NoError(t, at(b.FallbackManager, m).Destroy(false))
	require.ErrorContains(t, at(b.Device, dev).Close(false),
		fmt.Sprintf("registration %#x: pressure callback of fallback manager %#x, which has ended", onPressure, m))
	require.NoError(t, b.RegistrationRemove(onPressure, nil))
	require.NoError(t, b.RegistrationRemove(reclaim, nil))
	require.NoError(t, b.Shutdown(true))
}

// A destructor often forces an end and cannot report the error, so the log does.
func TestAnEndByForceThatFailsIsLogged(t *testing.T) {
	var inside atomic.Bool
	b := startBench(t, func(o *library.Options) {
		o.InsideCallback = func(uint64) bool { return inside.Load() }
	})
	var mu sync.Mutex
	var heard []string
	require.NoError(t, b.SetLog(library.LogError, func(_ int32, message string) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, message)
	}, true))
	last := func() string {
		b.Log(library.LogDebug, "no message")
		mu.Lock()
		defer mu.Unlock()
		if len(heard) == 0 {
			return ""
		}
		return heard[len(heard)-1]
	}
	dev := b.open("test:0")
	p := b.pool(dev)
	_, err := b.PoolAlloc(p, 4096, 0)
	require.NoError(t, err)
	requireCode(t, device.CodeBusy, at(b.Pool, p).Destroy(false))
	b.device(0).FailNth(giveBackCall(), 1, nil)
	requireCode(t, device.CodeDevice, at(b.Pool, p).Destroy(true))
	require.Eventually(t, func() bool {
		return strings.Contains(last(), fmt.Sprintf("pool handle %#x: the forced end failed", p))
	},
		20*time.Second, time.Millisecond)
	require.NoError(t, at(b.Pool, p).Destroy(true))
	mu.Lock()
	require.Len(t, heard, 1, "only the failed end is logged")
	mu.Unlock()
	inside.Store(true)
	requireCode(t, device.CodeInvalidState, b.Shutdown(true))
	inside.Store(false)
	require.Eventually(t, func() bool { return strings.Contains(last(), "the library was not stopped") }, 20*time.Second, time.Millisecond)
}
