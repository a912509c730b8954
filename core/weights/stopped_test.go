package weights_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"ferrum_mem/core/device"
	"ferrum_mem/core/weights"
	"ferrum_mem/core/weights/header"
)

// work is one of the calls that read a source, with the checks of its result.
type work struct {
	// run returns whether there is a result.
	run func(ctx context.Context, s *weights.Source) (hasResult bool, err error)
	// isUnchanged is called after an error.
	isUnchanged func()
}

// allWork returns a load for each kind of memory, a conversion and the sums.
func allWork(t *testing.T, m *model) map[string]work {
	t.Helper()
	onto := filepath.Join(t.TempDir(), "to.safetensors")
	list := map[string]work{
		"convert": {
			run: func(ctx context.Context, s *weights.Source) (bool, error) {
				err := s.Convert(ctx, all(t, s), onto, weights.ConvertOptions{Format: header.Safetensors})
				if err == nil {
					got, _ := contents(t, onto, weights.Options{}, nil)
					assert.Equal(t, m.bytes, got)
					require.NoError(t, os.Remove(onto))
				}
				return err == nil, err
			},
			isUnchanged: func() { assert.Empty(t, left(t, filepath.Dir(onto))) },
		},
		"sums": {
			run: func(ctx context.Context, s *weights.Source) (bool, error) {
				sums, err := s.Sums(ctx, nil)
				return sums != nil, err
			},
			isUnchanged: func() {},
		},
	}
	for name, isHidden := range map[string]bool{"load": false, "load through staging": true} {
		e := newHost(t)
		if isHidden {
			_, e = newHidden(t, true)
		}
		p := newPool(t, e)
		list[name] = work{
			run: func(ctx context.Context, s *weights.Source) (bool, error) {
				set, err := s.Load(ctx, all(t, s), weights.LoadOptions{Memory: weights.InPool(p, ""), Threads: 2, StagingBytes: 256 << 10})
				if err == nil {
					m.assertLoaded(t, set)
					require.NoError(t, set.Free())
				}
				return set != nil, err
			},
			isUnchanged: func() {
				assert.Zero(t, p.Statistics().Allocated.Current)
				assert.Zero(t, p.Statistics().LiveBlocks.Current)
				assert.Zero(t, weights.StagingBytes())
			},
		}
	}
	return list
}

// The caller cancels at each read of the files. A call returns its whole result, or none.
func TestCancelledAtEveryRead(t *testing.T) {
	m := newModel(t, 5<<20, 1, 300<<10)
	for name, of := range allWork(t, m) {
		t.Run(name, func(t *testing.T) {
			cancelled := 0
			for n := 1; ; n += readStep() {
				s := m.open(t)
				ctx, cancel := context.WithCancel(context.Background())
				reads := weights.OnRead(s, n, cancel)
				hasResult, err := of.run(ctx, s)
				cancel()
				require.Equal(t, err == nil, hasResult, "read %d", n)
				if err != nil {
					cancelled++
					require.ErrorIs(t, err, device.CodeCancelled, "read %d", n)
				}
				of.isUnchanged()
				if reads() < n {
					require.NoError(t, err)
					break
				}
			}
			assert.Positive(t, cancelled)
		})
	}
}

// At each read of the files another program removes the file, or makes it shorter. An open file
// that was removed still has all bytes.
func TestTheFileGoesAtEveryRead(t *testing.T) {
	for _, isRemoved := range []bool{true, false} {
		m := newModel(t, 5<<20, 1, 300<<10)
		whole, err := os.ReadFile(m.path)
		require.NoError(t, err)
		for name, of := range allWork(t, m) {
			t.Run(name, func(t *testing.T) {
				failed := 0
				for n := 1; ; n += readStep() {
					s := m.open(t)
					reads := weights.OnRead(s, n, func() {
						if isRemoved {
							assert.NoError(t, os.Remove(m.path))
						} else {
							assert.NoError(t, os.Truncate(m.path, 0))
						}
					})
					hasResult, err := of.run(context.Background(), s)
					require.NoError(t, os.WriteFile(m.path, whole, 0o600))
					require.Equal(t, err == nil, hasResult, "read %d", n)
					if err != nil {
						failed++
						require.ErrorIs(t, err, device.CodeIO, "read %d", n)
						require.ErrorContains(t, err, m.path)
					}
					of.isUnchanged()
					if reads() < n {
						require.NoError(t, err)
						break
					}
				}
				assert.Equal(t, isRemoved, failed == 0)
			})
		}
	}
}

// After each part of a preload the caller cancels, or the file becomes shorter. Its pages are
// released.
func TestPreloadsThatStop(t *testing.T) {
	m := newModel(t, 64<<20)
	if !dropped(t, m.path) {
		t.Skip("this file system keeps its files in the page cache")
	}
	isDropped := func() bool { return dropped(t, m.path) } // pages that are being read stay for a moment
	for _, n := range []int{0, 1, 2, 20, 63} {
		s := m.open(t)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		calls := 0
		_, err := s.Preload(ctx, nil, func(uint64, uint64) {
			if calls++; calls == n {
				cancel()
			}
		})
		if n == 0 {
			require.NoError(t, err)
			require.Eventually(t, isDropped, 10*time.Second, time.Millisecond)
			continue
		}
		require.ErrorIs(t, err, device.CodeCancelled)
		assert.LessOrEqual(t, weights.Resident(t, m.path), 34<<20)
		require.Eventually(t, isDropped, 10*time.Second, time.Millisecond)
	}
	s := m.open(t)
	calls := 0
	_, err := s.Preload(context.Background(), nil, func(uint64, uint64) {
		if calls++; calls == 2 {
			assert.NoError(t, os.Truncate(m.path, 1<<20))
		}
	})
	require.ErrorIs(t, err, device.CodeIO)
	assert.ErrorContains(t, err, m.path)
}

// The disk becomes full while a file is written. Each attempt has a little more free space.
func TestConversionsThatFillTheDisk(t *testing.T) {
	folder := t.TempDir()
	if err := unix.Mount("tmpfs", folder, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("a small file system needs more rights: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(folder, 0)) })
	m := newModel(t, 1<<20, 1<<20, 1<<20)
	s := m.open(t)
	filler, path := filepath.Join(folder, "filler"), filepath.Join(folder, "to.safetensors")
	failed := 0
	for room := int64(0); ; room += 256 << 10 {
		isFull := false
		err := s.Convert(context.Background(), all(t, s), path, weights.ConvertOptions{Format: header.Safetensors, Progress: func(weights.Progress) {
			if !isFull {
				isFull = true
				fill(t, filler, room)
			}
		}})
		require.NoError(t, os.Remove(filler))
		if err == nil {
			break
		}
		failed++
		require.ErrorIs(t, err, device.CodeResourceExhausted)
		assert.ErrorContains(t, err, path)
		assert.Empty(t, left(t, folder))
	}
	assert.Greater(t, failed, 5)
	assert.Equal(t, []string{"to.safetensors"}, left(t, folder))
	got, _ := contents(t, path, weights.Options{}, nil)
	assert.Equal(t, m.bytes, got)
	require.NoError(t, os.Remove(path))
}

// fill writes a file that leaves a given number of bytes of a file system free.
func fill(t *testing.T, path string, room int64) {
	t.Helper()
	var stat unix.Statfs_t
	require.NoError(t, unix.Statfs(filepath.Dir(path), &stat))
	size := int64(stat.Bavail)*stat.Bsize - room
	require.NoError(t, os.WriteFile(path, make([]byte, max(size, 0)), 0o600))
}

// Many threads use one source at a time, while decoders are registered and removed.
func TestOneSourceOnManyThreads(t *testing.T) {
	m := newModel(t, 5<<20, 1, 300<<10)
	s := m.open(t)
	p := newPool(t, newHost(t))
	_, e := newHidden(t, true)
	hidden := newPool(t, e)
	background, folder := context.Background(), t.TempDir()
	load := func(onto weights.Memory) func(int) {
		return func(int) {
			set, err := s.Load(background, all(t, s), weights.LoadOptions{Memory: onto, Threads: 2, Progress: func(weights.Progress) {}})
			if assert.NoError(t, err) {
				m.assertLoaded(t, set)
				assert.NoError(t, set.Free())
			}
		}
	}
	decoders := &weights.Decoders{}
	var group sync.WaitGroup
	for _, call := range []func(n int){
		load(weights.InPool(p, "")), load(weights.InPool(hidden, "")),
		func(int) {
			set, err := s.Map(all(t, s))
			if assert.NoError(t, err) {
				m.assertLoaded(t, set)
				assert.NoError(t, set.CheckMapped())
				assert.NoError(t, set.Free())
			}
		},
		func(int) {
			of, err := s.Preload(background, nil, func(uint64, uint64) {})
			if assert.NoError(t, err) {
				of.Undo()
			}
		},
		func(n int) {
			path := filepath.Join(folder, "file")
			err := s.Convert(background, all(t, s), path, weights.ConvertOptions{Format: header.Safetensors, Replace: n > 0, Progress: func(weights.Progress) {}})
			assert.NoError(t, err)
		},
		func(int) {
			_, err := s.Sums(background, func(uint64, uint64) {})
			assert.NoError(t, err)
		},
		func(int) {
			number, err := decoders.Register(weights.NewToy("toy"))
			if assert.NoError(t, err) {
				assert.NoError(t, decoders.Remove(number))
			}
		},
		func(int) {
			toy, err := weights.OpenMemory("toy", []byte("TOY1\x01\x00\x01"), weights.Options{Decoders: decoders})
			if err == nil {
				assert.NoError(t, toy.Close())
			} else {
				assert.ErrorIs(t, err, device.CodeUnsupported)
			}
			_ = decoders.Formats()
		},
		func(int) {
			loading, err := s.Start(all(t, s), weights.LoadOptions{Memory: weights.InPool(p, "")})
			if assert.NoError(t, err) {
				_ = loading.Progress()
				loading.Cancel()
				assert.NoError(t, loading.Wait(device.Forever))
				if set, err := loading.Result(); err == nil {
					assert.NoError(t, set.Free())
				}
			}
		},
	} {
		group.Add(1)
		device.Go("test", func() {
			defer group.Done()
			for n := range 4 {
				call(n)
			}
		})
	}
	group.Wait()
	assert.Zero(t, p.Statistics().LiveBlocks.Current)
	assert.Zero(t, hidden.Statistics().LiveBlocks.Current)
	assert.Zero(t, weights.StagingBytes())
	assert.Equal(t, []string{"file"}, left(t, folder))
}
