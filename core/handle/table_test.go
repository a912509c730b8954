package handle

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

func TestInsertGetRemove(t *testing.T) {
	table := New[*int](Pool)
	value := 7
	id, err := table.Insert(&value)
	require.NoError(t, err)
	require.Equal(t, Pool, KindOf(id))
	found, err := table.Get(id)
	require.NoError(t, err)
	require.Same(t, &value, found)
	require.Equal(t, 1, table.Len())
	removed, err := table.Remove(id)
	require.NoError(t, err)
	require.Same(t, &value, removed)
	require.Zero(t, table.Len())
}

func TestErrorExplainsInvalidHandles(t *testing.T) {
	table := New[*int](Stream)
	value := 1
	live, err := table.Insert(&value)
	require.NoError(t, err)
	dead, err := table.Insert(&value)
	require.NoError(t, err)
	_, err = table.Remove(dead)
	require.NoError(t, err)

	cases := map[string]struct {
		id   uint64
		want []string
	}{
		"zero":                {0, []string{"stream handle is 0"}},
		"another kind":        {live&^(0xff<<kindShift) | uint64(Memory)<<kindShift, []string{"memory", "stream"}},
		"no kind":             {live & (1<<kindShift - 1), []string{"unknown (0)", "stream"}},
		"destroyed":           {dead, []string{"destroyed"}},
		"generation to come":  {dead + 1<<generationShift, []string{"never created"}},
		"generation 0":        {makeID(Stream, 0, 0), []string{"never created"}},
		"index to come":       {makeID(Stream, 1, 2), []string{"never created"}},
		"largest index":       {makeID(Stream, 1, 1<<32-1), []string{"never created"}},
		"everything set":      {1<<64 - 1, []string{"unknown (255)"}},
		"largest of the kind": {makeID(Stream, generationMax, 1<<32-1), []string{"never created"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for _, call := range []func(uint64) (*int, error){table.Get, table.Remove} {
				found, err := call(c.id)
				require.Nil(t, found)
				require.ErrorIs(t, err, device.CodeInvalidHandle)
				for _, word := range c.want {
					require.ErrorContains(t, err, word)
				}
			}
			require.Equal(t, 1, table.Len())
		})
	}
}

func TestSlotIsRetiredWhenItsGenerationsAreUsedUp(t *testing.T) {
	table := New[*int](Memory)
	table.store.firstGeneration = generationMax - 2
	value := 3
	seen := map[uint64]bool{}
	for range 3 {
		id, err := table.Insert(&value)
		require.NoError(t, err)
		require.Zero(t, indexOf(id))
		require.False(t, seen[id])
		seen[id] = true
		_, err = table.Remove(id)
		require.NoError(t, err)
	}
	next, err := table.Insert(&value)
	require.NoError(t, err)
	require.EqualValues(t, 1, indexOf(next))
	for id := range seen {
		_, err := table.Get(id)
		require.ErrorContains(t, err, "destroyed")
	}
	_, err = table.Get(makeID(Memory, 1, 0))
	require.ErrorContains(t, err, "never created")
}

func TestFullTableReturnsResourceExhausted(t *testing.T) {
	table := New[*int](Event)
	table.store.capacity = 3
	table.store.firstGeneration = generationMax
	value := 3
	var ids []uint64
	for range 3 {
		id, err := table.Insert(&value)
		require.NoError(t, err)
		ids = append(ids, id)
	}
	_, err := table.Insert(&value)
	require.ErrorIs(t, err, device.CodeResourceExhausted)
	_, err = table.Remove(ids[1])
	require.NoError(t, err)
	_, err = table.Insert(&value)
	require.ErrorIs(t, err, device.CodeResourceExhausted)
	require.ErrorContains(t, err, "event")
	require.Equal(t, 2, table.Len())
}

// The reference model is a map of live ids and a set of removed ones.
func TestTableAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := New[*int](Manager)
		table.store.firstGeneration = uint32(rapid.SampledFrom([]int{1, generationMax - 3}).Draw(t, "first"))
		live, dead := map[uint64]*int{}, map[uint64]bool{}
		var order []uint64
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) {
				for range rapid.IntRange(1, 12).Draw(t, "count") {
					value := new(int)
					id, err := table.Insert(value)
					require.NoError(t, err)
					require.NotZero(t, id)
					require.NotContains(t, live, id)
					require.False(t, dead[id], "handle %#x was created twice", id)
					live[id] = value
					order = append(order, id)
				}
			},
			"remove": func(t *rapid.T) {
				if len(order) == 0 {
					t.Skip("nothing was inserted")
				}
				id := rapid.SampledFrom(order).Draw(t, "id")
				value, err := table.Remove(id)
				if dead[id] {
					require.ErrorContains(t, err, "destroyed")
					return
				}
				require.NoError(t, err)
				require.Same(t, live[id], value)
				delete(live, id)
				dead[id] = true
			},
			"made up": func(t *rapid.T) {
				id := rapid.Uint64().Draw(t, "id")
				_, known := live[id]
				_, err := table.Get(id)
				require.Equal(t, known, err == nil)
			},
			"": func(t *rapid.T) {
				require.Equal(t, len(live), table.Len())
				for id, value := range live {
					if found, err := table.Get(id); err != nil || found != value {
						t.Fatalf("%#x leads to %p (%v), not to %p", id, found, err, value)
					}
				}
				for id := range dead {
					if _, err := table.Get(id); device.CodeOf(err) != device.CodeInvalidHandle {
						t.Fatalf("%#x is dead and gives %v", id, err)
					}
				}
				visited := 0
				table.Each(func(id uint64, value *int) bool {
					if live[id] != value {
						t.Fatalf("%#x leads to %p, not to %p", id, value, live[id])
					}
					visited++
					return true
				})
				require.Equal(t, len(live), visited)
				scanned, from := 0, uint64(0)
				for next := uint64(0); ; from = next {
					next = table.Scan(from, 3, func(id uint64, value *int) {
						require.Equal(t, live[id], value)
						scanned++
					})
					if require.LessOrEqual(t, next, from+3); next == from {
						break
					}
				}
				require.Equal(t, len(live), scanned)
				require.Equal(t, from+1, table.Scan(from+1, 3, nil))
			},
		})
	})
}

func TestEachStopsWhenVisitReturnsFalse(t *testing.T) {
	table := New[*int](Device)
	for range 5 {
		_, err := table.Insert(new(int))
		require.NoError(t, err)
	}
	visited := 0
	table.Each(func(uint64, *int) bool {
		visited++
		return visited < 2
	})
	require.Equal(t, 2, visited)
}

func TestGetAndRemoveFromManyThreads(t *testing.T) {
	table := New[*uint64](Memory)
	var wait sync.WaitGroup
	shared := make(chan uint64, 64)
	for range 4 {
		wait.Add(2)
		go func() {
			defer wait.Done()
			for range 2000 {
				value := new(uint64)
				id, err := table.Insert(value)
				if err != nil {
					panic(err)
				}
				shared <- id
				// Another thread may remove it before or after this call.
				if found, err := table.Get(id); err == nil && found != value {
					panic("a handle led to another object")
				}
			}
		}()
		go func() {
			defer wait.Done()
			for range 2000 {
				id := <-shared
				if _, err := table.Remove(id); err != nil {
					panic(err)
				}
				if _, err := table.Get(id); err == nil {
					panic("a removed handle was found")
				}
			}
		}()
	}
	wait.Wait()
	require.Zero(t, table.Len())
}

func TestOneOfManyRemoversSucceeds(t *testing.T) {
	table := New[*int](Memory)
	for range 200 {
		id, err := table.Insert(new(int))
		require.NoError(t, err)
		won := make(chan bool, 4)
		for range 4 {
			go func() {
				_, err := table.Remove(id)
				won <- err == nil
			}()
		}
		winners := 0
		for range 4 {
			if <-won {
				winners++
			}
		}
		require.Equal(t, 1, winners)
	}
}

func TestKindsHaveNames(t *testing.T) {
	names := map[string]bool{}
	for kind := Device; kind <= Registration; kind++ {
		names[kind.String()] = true
	}
	require.Len(t, names, 7)
	require.NotContains(t, names, "unknown")
	require.Equal(t, "unknown", Kind(0).String())
}

func TestGetDoesNotUseTheGoHeap(t *testing.T) {
	table := New[*int](Memory)
	id, err := table.Insert(new(int))
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if _, err := table.Get(id); err != nil {
			panic(err)
		}
	}))
}

func BenchmarkGet(b *testing.B) {
	table := New[*int](Memory)
	var id uint64
	for range 1000 {
		id, _ = table.Insert(new(int))
	}
	for b.Loop() {
		if _, err := table.Get(id); err != nil {
			b.Fatal(err)
		}
	}
}
