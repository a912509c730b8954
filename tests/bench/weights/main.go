package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/weights"
	"ferrum_mem/drivers/host"
)

func main() {
	answer, err := run(os.Args[1:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(answer)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "weights: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) (any, error) {
	if len(args) < 2 {
		return nil, fmt.Errorf("want a measurement and a file")
	}
	numbers := []int{1, 1}
	for at, text := range args[2:min(len(args), 4)] {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no number above 0", text)
		}
		numbers[at] = n
	}
	switch args[0] {
	case "resident", "warm", "cold":
		m := loads{path: args[1], threads: numbers[0], isWarm: args[0] == "warm", isCold: args[0] == "cold"}
		return m.run(numbers[1])
	}
	return nil, fmt.Errorf("%q is no measurement", args[0])
}

// loads measures loads, alternately with reads of the same bytes.
type loads struct {
	path           string
	threads        int
	isWarm, isCold bool

	file *os.File
	size int64
	e    *engine.Engine
	// kept is memory that was written before, for warm measurements.
	kept []byte
}

// pair has the rates of the library and of the peer in bytes per second, one value for each round.
type pair struct {
	Bytes int64     `json:"bytes"`
	Ours  []float64 `json:"ours"`
	Peer  []float64 `json:"peer"`
	// PeerThreads is the number of threads with which the peer was fastest.
	PeerThreads int `json:"peer_threads"`
	// Residency is the largest share of the file in the page cache before a cold measurement.
	Residency float64 `json:"residency"`
}

func (m *loads) run(rounds int) (*pair, error) {
	var err error
	if m.file, err = os.Open(m.path); err != nil {
		return nil, err
	}
	defer m.file.Close()
	info, err := m.file.Stat()
	if err != nil {
		return nil, err
	}
	m.size = info.Size()
	driver, err := host.New(host.Config{})
	if err != nil {
		return nil, err
	}
	opened, err := driver.Open(0)
	if err != nil {
		return nil, err
	}
	m.e = engine.New(opened, engine.Options{})
	defer m.e.Close()
	if m.isWarm {
		if m.kept, err = fresh(m.size); err != nil {
			return nil, err
		}
		for at := 0; at < len(m.kept); at += 4096 {
			m.kept[at] = 1
		}
	}
	answer := &pair{Bytes: m.size, PeerThreads: m.threads}
	if m.isCold {
		if answer.PeerThreads, err = m.fastest(); err != nil {
			return nil, err
		}
	} else if _, err := m.read(m.file, m.threads); err != nil { // into the page cache
		return nil, err
	}
	type side struct {
		measure func() (float64, error)
		to      *[]float64
	}
	sides := []side{{m.load, &answer.Ours}, {func() (float64, error) { return m.peer(answer.PeerThreads) }, &answer.Peer}}
	for range rounds {
		// The first of a pair finds memory that the second of the pair before has just freed.
		slices.Reverse(sides)
		for _, one := range sides {
			if m.isCold {
				share, err := m.drop()
				if err != nil {
					return nil, err
				}
				answer.Residency = max(answer.Residency, share)
			}
			rate, err := one.measure()
			if err != nil {
				return nil, err
			}
			*one.to = append(*one.to, rate)
		}
	}
	return answer, nil
}

// load is one load into a pool that has no memory yet, or into memory that was written before.
func (m *loads) load() (float64, error) {
	p, err := pool.New(m.e, pool.Config{Name: "bench", GrowthIncrementBytes: 64 << 20, AutoExpansion: true})
	if err != nil {
		return 0, err
	}
	defer p.Close(true)
	s, err := weights.Open(m.path, weights.Options{})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	specs, err := s.Select(weights.Selection{})
	if err != nil {
		return 0, err
	}
	if m.isWarm {
		at := device.Addr(uintptr(unsafe.Pointer(unsafe.SliceData(m.kept))))
		for i := range specs {
			size := s.Tensors()[i].Size
			specs[i].Into = &weights.Range{Addr: at, SizeBytes: size}
			at += device.Addr((size + 63) / 64 * 64)
		}
	}
	began := time.Now()
	set, err := s.Load(context.Background(), specs, weights.LoadOptions{Memory: weights.InPool(p, ""), Threads: m.ownThreads()})
	took := time.Since(began)
	if err != nil {
		return 0, err
	}
	return float64(m.size) / took.Seconds(), set.Free()
}

// ownThreads is the number of threads of a load: its default for a cold file, as the peer has the number
// that is the best for it.
func (m *loads) ownThreads() int {
	if m.isCold {
		return 0
	}
	return m.threads
}

// peer reads the same bytes: through the page cache, or around it.
func (m *loads) peer(threads int) (float64, error) {
	if !m.isCold {
		return m.read(m.file, threads)
	}
	direct, err := os.OpenFile(m.path, os.O_RDONLY|unix.O_DIRECT, 0)
	if err != nil {
		return 0, err
	}
	defer direct.Close()
	return m.read(direct, threads)
}

// fastest measures with which number of threads reads around the page cache are fastest.
func (m *loads) fastest() (threads int, err error) {
	best := 0.0
	for _, n := range []int{1, 2, 4, 8, 16} {
		rate, err := m.peer(n)
		if err != nil {
			return 0, err
		}
		if rate > best {
			best, threads = rate, n
		}
	}
	return threads, nil
}

// read reads a file into fresh memory. Its threads read parts of 4 MiB.
func (m *loads) read(file *os.File, threads int) (float64, error) {
	memory := m.kept
	began := time.Now()
	if memory == nil {
		var err error
		if memory, err = fresh(m.size); err != nil {
			return 0, err
		}
		defer unix.Munmap(memory)
	}
	const part = 4 << 20
	parts := make(chan int64)
	failed := make(chan error, threads)
	var group sync.WaitGroup
	for range threads {
		group.Go(func() {
			for at := range parts {
				// A direct read has whole blocks. The file may end inside its last block.
				end := min(at+part, int64(len(memory)))
				for done := at; done < min(end, m.size); {
					n, err := unix.Pread(int(file.Fd()), memory[done:end], done)
					if err != nil || n == 0 {
						failed <- fmt.Errorf("%s: %d bytes at %d: %w", m.path, n, done, err)
						return
					}
					done += int64(n)
				}
			}
		})
	}
	for at := int64(0); at < m.size; at += part {
		select {
		case parts <- at:
		case err := <-failed:
			close(parts)
			group.Wait()
			return 0, err
		}
	}
	close(parts)
	group.Wait()
	took := time.Since(began)
	select {
	case err := <-failed:
		return 0, err
	default:
		return float64(m.size) / took.Seconds(), nil
	}
}

// fresh maps memory that was never written, with huge pages if the system has them, as the host
// device does.
func fresh(size int64) ([]byte, error) {
	const whole = 2 << 20
	memory, err := unix.Mmap(-1, 0, int((size+whole-1)/whole*whole), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err == nil {
		_ = unix.Madvise(memory, unix.MADV_HUGEPAGE)
	}
	return memory, err
}

// drop removes the file from the page cache, and returns the share that is still cached.
func (m *loads) drop() (share float64, err error) {
	file, size := m.file, m.size
	if err := unix.Fsync(int(file.Fd())); err != nil {
		return 0, err
	}
	mapping, err := unix.Mmap(int(file.Fd()), 0, int(size), unix.PROT_NONE, unix.MAP_SHARED)
	if err != nil {
		return 0, err
	}
	defer unix.Munmap(mapping)
	held := make([]byte, (size+4095)/4096)
	for range 50 {
		if err := unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			return 0, err
		}
		if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(unsafe.SliceData(mapping))), uintptr(size), uintptr(unsafe.Pointer(unsafe.SliceData(held)))); errno != 0 {
			return 0, errno
		}
		resident := 0
		for _, of := range held {
			resident += int(of & 1)
		}
		if share = float64(resident) / float64(len(held)); share == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return share, nil
}
