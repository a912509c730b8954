package library_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/library"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/memcheck"
)

// debugBench is a library on devices with bytes, under FERRUM_DEBUG. site is the call
// site of all calls, stderr gets the messages without a receiver.
type debugBench struct {
	*bench
	site   uintptr
	stderr bytes.Buffer
}

func startDebugBench(t *testing.T, value string) *debugBench {
	d := &debugBench{site: 1}
	d.bench = newBench(t, func(o *library.Options) {
		o.Stderr = &d.stderr
		o.CallSites = memcheck.Hooks{
			Watch: func(bool) {},
			Read:  func(to []uintptr) int { return copy(to, []uintptr{d.site}) },
			Describe: func(frames []uintptr) []string {
				return []string{fmt.Sprintf("engine+0x%x (site)", frames[0])}
			},
		}
	})
	d.driver.Driver = devicetest.New(devicetest.Config{Devices: 2, TotalBytes: capacity, Backed: true})
	d.env["FERRUM_DEBUG"] = value
	require.NoError(t, d.Init(nil))
	return d
}

// stop stops the library, which delivers what is queued, and returns what it wrote.
func (d *debugBench) stop() string {
	require.NoError(d.t, d.Shutdown(true))
	return d.stderr.String()
}

func TestDebugEnvironmentReachesPoolsAndManagers(t *testing.T) {
	d := startDebugBench(t, "all")
	dev := d.open("test:0")
	p := d.pool(dev)
	addr, err := d.PoolAlloc(p, 100, 0)
	require.NoError(t, err)
	require.NoError(t, d.device(0).SetBytes(addr+100, []byte{1}))
	requireCode(t, device.CodeCorrupted, d.PoolFree(p, addr, 0))
	addr, err = d.PoolAlloc(p, 300, 0)
	require.NoError(t, err)
	require.NoError(t, at(d.Pool, p).Check())
	require.NoError(t, d.device(0).SetBytes(addr-100, []byte{1}))
	requireCode(t, device.CodeCorrupted, at(d.Pool, p).Check())
	require.NoError(t, d.PoolFree(p, addr, 0), "a free after the report succeeds")
	m, err := d.ManagerCreate(dev, nil)
	require.NoError(t, err)
	memory, err := at(d.Manager, m).Alloc(200)
	require.NoError(t, err)
	info, err := d.MemoryGetHandleInfo(uint64(memory))
	require.NoError(t, err)
	require.NoError(t, d.device(0).SetBytes(info.Addr-1, []byte{1}))
	requireCode(t, device.CodeCorrupted, made(d).Free(manager.MemoryHandle(memory)))
	_, err = d.MemoryGetHandleInfo(uint64(memory))
	requireCode(t, device.CodeInvalidHandle, err)
	require.NoError(t, at(d.Manager, m).Destroy(false), "the block was freed in spite of the error")
	require.NoError(t, at(d.Pool, p).Destroy(false))
	text := d.stop()
	require.Contains(t, text, "ferrum_mem: error: test:0: pool \"small\": overrun of the block of 100 bytes")
	require.Contains(t, text, "overrun of the block of 200 bytes")
	require.Contains(t, text, "overrun of the block of 300 bytes")
	require.Equal(t, 5, strings.Count(text, "engine+0x1 (site)"))
}

func TestDebugWordsSelectChecks(t *testing.T) {
	d := startDebugBench(t, "quarantine")
	p := d.pool(d.open("test:0"))
	addr, err := d.PoolAlloc(p, 100, 0)
	require.NoError(t, err)
	require.NoError(t, d.device(0).SetBytes(addr+100, []byte{1}))
	require.NoError(t, d.PoolFree(p, addr, 0), "there are no zones")
	stats := at(d.Pool, p).Statistics()
	require.NotZero(t, stats.Active.Current)
	require.NoError(t, at(d.Pool, p).Destroy(false))
	require.NoError(t, d.Shutdown(true))
	d.env["FERRUM_DEBUG"] = ""
	require.NoError(t, d.Init(nil), "the next start reads it again")
	p = d.pool(d.open("test:0"))
	addr, err = d.PoolAlloc(p, 100, 0)
	require.NoError(t, err)
	require.NoError(t, d.PoolFree(p, addr, 0))
	stats = at(d.Pool, p).Statistics()
	require.Zero(t, stats.Active.Current)
	require.NotContains(t, d.stop(), "overrun")
}

// FERRUM_LOG decides which messages are written, and a receiver decides where.
func TestDebugLogsToStderrByDefault(t *testing.T) {
	d := startDebugBench(t, "call_sites")
	d.Log(library.LogInfo, "fine")
	d.Log(library.LogWarning, "heard")
	var r listener
	require.NoError(t, d.SetLog(library.LogDebug, r.hear, true))
	d.Log(library.LogError, "to the receiver")
	require.NoError(t, d.SetLog(library.LogDebug, nil, true))
	require.Equal(t, "ferrum_mem: warning: heard\n", d.stop())

	d.env["FERRUM_LOG"] = "error"
	require.NoError(t, d.Init(nil))
	d.Log(library.LogWarning, "not heard")
	require.Equal(t, "ferrum_mem: warning: heard\n", d.stop())
}

func TestLeaksAreAddedUpByTagAndPlace(t *testing.T) {
	d := startDebugBench(t, "call_sites")
	dev := d.open("test:0")
	p := d.pool(dev)
	for i, size := range []uint64{100, 200, 300} {
		d.site = uintptr(i/2 + 1)
		_, err := d.PoolAlloc(p, size, 0)
		require.NoError(t, err)
	}
	m, err := d.ManagerCreate(dev, nil)
	require.NoError(t, err)
	d.site = 7
	_, err = at(d.Manager, m).Alloc(1000)
	require.NoError(t, err)
	var report struct {
		Leaks []struct {
			Kind     string
			Bytes    uint64
			CallSite []string `json:"call_site"`
		}
	}
	require.NoError(t, json.Unmarshal(d.LeakReportJSON(), &report))
	sites := map[uint64][]string{}
	for _, found := range report.Leaks {
		sites[found.Bytes] = found.CallSite
	}
	require.Equal(t, map[uint64][]string{
		0: nil, 100: {"engine+0x1 (site)"}, 200: {"engine+0x1 (site)"}, 300: {"engine+0x2 (site)"},
		1000: {"engine+0x7 (site)"},
	}, sites)
	require.NoError(t, at(d.Pool, p).Destroy(true))
	require.NoError(t, at(d.Manager, m).Destroy(true))
	text := d.stop()
	require.Contains(t, text, "forced destroy of a pool: 2 blocks of 300 bytes, tag \"small\", allocated at\n    engine+0x1 (site)\n")
	require.Contains(t, text, "forced destroy of a pool: 1 block of 300 bytes, tag \"small\", allocated at\n    engine+0x2 (site)\n")
	require.Contains(t, text, "1 block of 1000 bytes, tag \"\", allocated at\n    engine+0x7 (site)\n")
	require.Equal(t, 4, strings.Count(text, ": freed block of")+strings.Count(text, ": freed memory of"))
}

// Without call sites the sums are by tag.
func TestLeaksAreAddedUpByTag(t *testing.T) {
	b := startBench(t)
	p := b.pool(b.open("test:0"))
	for range 5 {
		_, err := b.PoolAlloc(p, 10, 0)
		require.NoError(t, err)
	}
	var r listener
	require.NoError(t, b.SetLog(library.LogWarning, r.hear, true))
	require.NoError(t, at(b.Pool, p).Destroy(true))
	require.NoError(t, b.SetLog(library.LogWarning, nil, true))
	require.Contains(t, r.all(), "2 test:0: forced destroy of a pool: 5 blocks of 50 bytes, tag \"small\"")
}
