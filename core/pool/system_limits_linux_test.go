package pool_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool"
	"ferrum_mem/drivers/host"
)

// A limit of the system stays exceeded for a process, so these tests run one process for
// each limit.

const limitVariable = "FERRUM_POOL_TEST_LIMIT"

var limitPrograms = map[string]func(t *testing.T){
	"addresses": fewAddresses,
	"none":      noAddresses,
	"mappings":  noMappings,
}

var limitsReached bool

func TestLimitsOfTheSystem(t *testing.T) {
	if name := os.Getenv(limitVariable); name != "" {
		if !limitsReached {
			settle()
			limitPrograms[name](t)
		}
		limitsReached = true
		return
	}
	if limitsReached {
		t.Skip("these processes take the one kind of pool only")
	}
	limitsReached = true
	for name := range limitPrograms {
		t.Run(name, func(t *testing.T) {
			child := exec.Command(os.Args[0], "-test.run=^TestLimitsOfTheSystem$", "-test.timeout=60s", "-test.v")
			child.Env = append(os.Environ(), limitVariable+"="+name, "MALLOC_ARENA_MAX=1")
			said, err := child.CombinedOutput()
			require.NoError(t, err, "%s", said)
			if strings.Contains(string(said), "--- SKIP") {
				t.Skipf("%s", said)
			}
			require.Contains(t, string(said), "PASS")
		})
	}
}

// statusBytes returns a line of /proc/self/status.
func statusBytes(t *testing.T, name string) uint64 {
	text, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			var kilobytes uint64
			_, err := fmt.Sscan(rest, &kilobytes)
			require.NoError(t, err)
			return kilobytes << 10
		}
	}
	t.Fatalf("no %s", name)
	return 0
}

// settle makes the process allocate what its runtime may need later. On a slow machine a
// further thread or heap arena would be needed in the middle of a test, and would fail
// there.
func settle() {
	debug.SetGCPercent(-1)
	var started, done sync.WaitGroup
	stop := make(chan struct{})
	for range 4 * runtime.GOMAXPROCS(0) {
		started.Add(1)
		done.Add(1)
		go func() {
			runtime.LockOSThread()
			defer done.Done()
			defer runtime.UnlockOSThread()
			started.Done()
			<-stop
		}()
	}
	started.Wait()
	close(stop)
	done.Wait()
	runtime.KeepAlive(make([]byte, 48<<20))
	runtime.GC()
}

// leaveAddresses limits the address space of this process to a number of further bytes.
func leaveAddresses(t *testing.T, bytes uint64) {
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_AS, &limit))
	limit.Cur = statusBytes(t, "VmSize") + bytes
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_AS, &limit))
}

func openWhole(t *testing.T) *realBench {
	driver, err := host.New(host.Config{Devices: 1, MemoryBytes: 1 << 40, MemoryForced: true})
	require.NoError(t, err)
	dev, err := driver.Open(0)
	require.NoError(t, err)
	return benchOn(dev)
}

// fillUp allocates blocks until an allocation fails, and returns its error.
func fillUp(p *pool.Pool, size uint64) (blocks []device.Addr, err error) {
	for {
		block, err := p.Alloc(pool.Request{SizeBytes: size})
		if err != nil {
			return blocks, err
		}
		blocks = append(blocks, block.Addr)
	}
}

// Address space runs out: the error states that, the rest of the process has some left,
// and everything is released.
func fewAddresses(t *testing.T) {
	b := openWhole(t)
	const room = 2 << 30
	leaveAddresses(t, room)
	p, err := pool.New(b.engine, pool.DefaultConfig())
	require.NoError(t, err)
	require.NotZero(t, p.PhysicalPageBytes())
	blocks, err := fillUp(p, 1<<20)
	require.ErrorIs(t, err, device.CodeOutOfVirtualMemory)
	require.Greater(t, len(blocks), 1200)
	require.EqualValues(t, len(blocks)<<20, p.Statistics().Allocated.Current)
	require.LessOrEqual(t, b.engine.AddressBytes(), uint64(room-100<<20), "some address space is left for other uses")
	full := statusBytes(t, "VmSize")
	for _, addr := range blocks {
		require.NoError(t, p.Free(addr, nil))
	}
	again, err := fillUp(p, 1<<20)
	require.ErrorIs(t, err, device.CodeOutOfVirtualMemory)
	require.Len(t, again, len(blocks))
	require.NoError(t, p.Close(true))
	require.Zero(t, b.engine.AddressBytes())
	require.Less(t, statusBytes(t, "VmSize"), full-uint64(len(blocks))<<19, "the heap of Go may have grown meanwhile")
	b.close(t)
}

// No address space at all: the same error, and the pool works as soon as there is some.
func noAddresses(t *testing.T) {
	b := openWhole(t)
	leaveAddresses(t, 1<<20)
	p, err := pool.New(b.engine, pool.DefaultConfig())
	require.NoError(t, err)
	blocks, err := fillUp(p, 1<<20)
	require.ErrorIs(t, err, device.CodeOutOfVirtualMemory)
	require.Empty(t, blocks)
	require.Zero(t, b.engine.AddressBytes())
	leaveAddresses(t, 1<<30)
	_, err = p.Alloc(pool.Request{SizeBytes: 1 << 20})
	require.NoError(t, err)
	b.close(t, p)
}

// The system has no further mapping for this process. Pages whose release would need one
// stay with the pool; allocations that need one fail with an error that states that;
// blocks are placed where pages are mapped; and everything is released at the end.
func noMappings(t *testing.T) {
	text, err := os.ReadFile("/proc/sys/vm/max_map_count")
	require.NoError(t, err)
	bound, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	if bound > 100_000 {
		t.Skipf("vm.max_map_count is %d: too many to reach here", bound)
	}
	b := openReal(t)
	c := pool.DefaultConfig()
	c.PhysicalPageBytes, c.ReadyPages = hostPage, -1
	p, err := pool.New(b.engine, c)
	require.NoError(t, err)
	require.EqualValues(t, hostPage, p.PhysicalPageBytes())
	p.PauseReturn()
	blocks := make([]device.Addr, 120)
	require.NoError(t, p.AllocBatch(pool.Request{SizeBytes: hostPage}, blocks))
	for _, addr := range blocks {
		require.NoError(t, b.dev.(device.HostVisible).FillNow(addr, 1, hostPage))
	}

	free := useUpMappings(t, bound, 40)
	for i := 0; i < len(blocks); i += 2 {
		require.NoError(t, p.Free(blocks[i], nil))
	}
	_, err = p.ReturnIdle()
	require.ErrorIs(t, err, device.CodeResourceExhausted)
	held := p.HeldBytes()
	require.Greater(t, held, uint64(hostPage*len(blocks)/2), "not all pages could be released")
	require.Equal(t, held, p.Statistics().Reserved.Current)
	for {
		block, err := p.Alloc(pool.Request{SizeBytes: hostPage})
		if err != nil {
			require.ErrorIs(t, err, device.CodeResourceExhausted)
			break
		}
		require.NoError(t, b.dev.(device.HostVisible).FillNow(block.Addr, 2, hostPage))
		if p.Statistics().LiveBlocks.Current == uint64(len(blocks)) {
			break
		}
	}
	require.GreaterOrEqual(t, p.Statistics().LiveBlocks.Current, held/hostPage, "where pages are")
	for i := 1; i < len(blocks); i += 2 {
		_, other, err := b.dev.(device.HostVisible).FirstOther(blocks[i], 1, hostPage)
		require.NoError(t, err)
		require.False(t, other)
	}
	free()
	for i := 1; i < len(blocks); i += 2 {
		require.NoError(t, p.Free(blocks[i], nil))
	}
	_, err = p.ReturnIdle()
	require.NoError(t, err)
	require.Equal(t, p.Statistics().Allocated.Current, p.HeldBytes())
	b.close(t, p)
}

// useUpMappings leaves this process about left mappings, until free is called.
func useUpMappings(t *testing.T, bound, left int) (free func()) {
	text, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	count := bound - left - strings.Count(string(text), "\n")
	small := os.Getpagesize()
	memory, err := unix.Mmap(-1, 0, count*small, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	for i := 0; i+1 < count; i += 2 {
		require.NoError(t, unix.Mprotect(memory[i*small:(i+1)*small], unix.PROT_READ))
	}
	return func() { require.NoError(t, unix.Munmap(memory)) }
}

// A forced close with live blocks releases their memory and its addresses, as the system
// counts them. Without force both stay.
func TestForcedCloseReleasesTheMemory(t *testing.T) {
	b := openReal(t)
	c := pool.DefaultConfig()
	c.ThreadCacheBytes, c.PhysicalPageBytes = 0, hostPage
	p, err := pool.New(b.engine, c)
	require.NoError(t, err)
	if p.PhysicalPageBytes() == 0 {
		t.Skip("the device has no pages")
	}
	live := make([]filled, 10)
	for i := range live {
		size := uint64(i+1) * 500 << 10
		block, err := p.Alloc(pool.Request{SizeBytes: size})
		require.NoError(t, err)
		live[i] = filled{Block: block, value: byte(i + 1)}
		b.fill(t, &live[i])
	}
	before := b.resident(t, live)
	require.True(t, isMapped(t, live[9].Addr))
	require.GreaterOrEqual(t, before, p.Statistics().Allocated.Current)
	require.LessOrEqual(t, before, p.HeldBytes())
	err = p.Close(false)
	require.ErrorIs(t, err, device.CodeBusy)
	require.ErrorContains(t, err, "10 live blocks")
	for i := range live {
		b.look(t, &live[i], true)
	}
	require.Equal(t, before, b.resident(t, live))
	b.close(t, p)
	require.Zero(t, b.engine.AddressBytes())
	for _, block := range live {
		require.False(t, isMapped(t, block.Addr))
	}
}

// isMapped queries whether an address is mapped in this process.
func isMapped(t *testing.T, addr device.Addr) bool {
	text, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		var start, end uint64
		_, err := fmt.Sscanf(line, "%x-%x", &start, &end)
		require.NoError(t, err)
		if start <= uint64(addr) && uint64(addr) < end {
			return true
		}
	}
	return false
}
