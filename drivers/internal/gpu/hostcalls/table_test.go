package hostcalls

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

// one returns the same number for all threads, which is enough while one function runs at a
// time.
func one() int64 { return 1 }

// Functions are queued, dropped, forgotten and run in any order, and compared with a plain
// list. Each runs at most once, and no stream exceeds its bound.
func TestHostFunctionsEqualAPlainList(t *testing.T) {
	type entry struct {
		stream string
		ran    int
	}
	rapid.Check(t, func(t *rapid.T) {
		const most = 3
		table := New[string]("test", one)
		queued := map[uintptr]*entry{}
		var all []*entry
		count := func(s string) (n int) {
			for _, e := range queued {
				if e.stream == s {
					n++
				}
			}
			return n
		}
		stream := func() string { return rapid.SampledFrom([]string{"a", "b"}).Draw(t, "stream") }
		number := func() uintptr { return uintptr(rapid.IntRange(0, len(all)+1).Draw(t, "number")) }
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0, 1:
				e := &entry{stream: stream()}
				n, full := table.Queue(e.stream, most, func() { e.ran++ })
				require.Equal(t, count(e.stream) >= most, full)
				if !full {
					require.NotContains(t, queued, n)
					queued[n], all = e, append(all, e)
				}
			case 2:
				n := number()
				table.Run(n, func(string) { t.Fatalf("it returned") })
				if e := queued[n]; e != nil {
					require.Equal(t, 1, e.ran)
					delete(queued, n)
				}
			case 3:
				n := number()
				table.Drop(n)
				delete(queued, n)
			case 4:
				gone := stream()
				table.Forget(func(s string) bool { return s == gone })
				for n, e := range queued {
					if e.stream == gone {
						delete(queued, n)
					}
				}
			}
			for _, s := range []string{"a", "b"} {
				require.Equal(t, count(s), table.Queued(s))
			}
		}
		for n, e := range queued {
			require.Zero(t, e.ran)
			table.Run(n, nil)
			require.Equal(t, 1, e.ran)
		}
	})
}

func TestInsideIsTrueOnlyInAFunction(t *testing.T) {
	table := New[int]("test", one)
	require.False(t, table.Inside())
	inside := false
	n, _ := table.Queue(7, 1, func() { inside = table.Inside() })
	table.Run(n, nil)
	require.True(t, inside)
	require.False(t, table.Inside(), "the function has returned")
	threads := New[int]("test", func() int64 { return 0 })
	n, _ = threads.Queue(7, 1, func() { inside = threads.Inside() })
	threads.Run(n, nil)
	require.False(t, inside, "threads without a number cannot be distinguished")
}

func TestAPanickingFunctionIsReported(t *testing.T) {
	device.OnWorkerPanic(func(string, any, []byte) {})
	defer device.OnWorkerPanic(nil)
	table := New[int]("test", one)
	var failed []int
	for stream, function := range []func(){func() { panic("broken") }, runtime.Goexit, func() {}} {
		n, _ := table.Queue(stream, 1, function)
		table.Run(n, func(s int) { failed = append(failed, s) })
		require.False(t, table.Inside(), "the function does not run any more")
	}
	require.Equal(t, []int{0, 1}, failed)
}

func TestThreadsQueueAndRunAtOnce(t *testing.T) {
	table := New[int]("test", one)
	var group sync.WaitGroup
	var mu sync.Mutex
	ran := 0
	for stream := range 4 {
		group.Go(func() {
			for range 200 {
				n, full := table.Queue(stream, 1, func() {
					mu.Lock()
					defer mu.Unlock()
					ran++
				})
				if full {
					panic("its own has run")
				}
				table.Run(n, nil)
			}
		})
	}
	group.Wait()
	require.Equal(t, 800, ran)
	require.False(t, table.Inside())
}
