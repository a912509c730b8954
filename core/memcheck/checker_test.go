package memcheck_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/memcheck"
)

// How this package is tested: random programs of a pool that only places blocks, with
// stray writes in between. The test records which bytes are damaged, and so what must be
// reported, when, and how often.

const (
	memoryBytes = 1 << 20
	slotBytes   = 2048
)

// rig is a checker of a device with bytes.
type rig struct {
	*memcheck.Checker
	dev  *devicetest.Device
	base device.Addr
	// caller is the present call site, with long further lines.
	caller  uintptr
	long    int
	watched int
}

func newRig(t require.TestingT, flags memcheck.Flags, backed bool) *rig {
	r := &rig{dev: devicetest.Open(devicetest.Config{Backed: backed}), caller: 1}
	var err error
	r.base, err = r.dev.Alloc(memoryBytes)
	require.NoError(t, err)
	r.Checker = memcheck.New(memcheck.Options{Flags: flags, Pool: "kv", Device: r.dev, Hooks: memcheck.Hooks{
		Watch: func(on bool) {
			r.watched--
			if on {
				r.watched += 2
			}
		},
		Read: func(to []uintptr) int { return copy(to, []uintptr{r.caller, 99}) },
		Describe: func(frames []uintptr) []string {
			var lines []string
			for _, frame := range frames {
				lines = append(lines, fmt.Sprintf("frame %d", frame))
				if frame != 99 {
					lines = append(lines, slices.Repeat([]string{"a long line of a call site, with a path"}, r.long)...)
				}
			}
			return lines
		},
	}})
	return r
}

// tell formats reports and returns their texts.
func (r *rig) tell(reports ...*memcheck.Report) (texts []string) {
	for _, report := range reports {
		if report == nil {
			continue
		}
		_ = r.Tell(report, func(level memcheck.Level, message string) {
			texts = append(texts, fmt.Sprintf("%d %s", level, message))
		})
	}
	return texts
}

// enter places a block at the start of a slot.
func (r *rig) enter(t require.TestingT, slot, size, align uint64) (base, user device.Addr) {
	padded, ok := r.Padded(size, align)
	require.True(t, ok)
	require.LessOrEqual(t, padded, uint64(slotBytes))
	base = r.base + device.Addr(slot*slotBytes)
	return base, r.Enter(memcheck.Block{Base: base, SizeBytes: padded, RequestedBytes: size, AlignmentBytes: align, Tag: "t"})
}

func TestNewReturnsNilWithoutChecks(t *testing.T) {
	require.Nil(t, memcheck.New(memcheck.Options{Flags: 0}))
	require.Nil(t, memcheck.New(memcheck.Options{Flags: memcheck.All + 1}))
}

func TestWatchEndsWithTheChecker(t *testing.T) {
	r := newRig(t, memcheck.CallSites, true)
	require.Equal(t, 1, r.watched)
	r.Close()
	require.Zero(t, r.watched)
	r = newRig(t, memcheck.All&^memcheck.CallSites, true)
	require.Zero(t, r.watched)
	r.Close()
	require.Zero(t, r.watched)
}

func TestOverrunNamesTheByteAndThePlaces(t *testing.T) {
	for _, c := range []struct {
		name   string
		offset int64
		text   string
	}{
		{"one behind", 1000, "the byte at 1000, 0 after its end, is 0x41 instead of 0xfd, seen at its free"},
		{"further behind", 1100, "the byte at 1100, 100 after its end, is 0x41 instead of 0xfd, seen at its free"},
		{"one before", -1, "the byte 1 before its start is 0x41 instead of 0xfd, seen at its free"},
		{"further before", -128, "the byte 128 before its start is 0x41 instead of 0xfd, seen at its free"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, memcheck.All, true)
			r.caller = 7
			base, user := r.enter(t, 3, 1000, 256)
			require.Equal(t, slices.Repeat([]byte{memcheck.FreshByte}, 1000), r.dev.Bytes(user, 1000))
			require.NoError(t, r.dev.SetBytes(user+device.Addr(c.offset), []byte{0x41}))
			r.caller = 8
			report := r.Free("pool.free", base)
			require.NotNil(t, report)
			var told string
			err := r.Tell(report, func(level memcheck.Level, message string) {
				require.Equal(t, memcheck.Error, level)
				told = message
			})
			require.Equal(t, device.CodeCorrupted, device.CodeOf(err))
			require.ErrorContains(t, err, told)
			require.ErrorContains(t, err, "test:0: pool.free: ")
			require.Equal(t, fmt.Sprintf("pool \"kv\": overrun of the block of 1000 bytes at %#x, tag \"t\": %s\n"+
				"  allocated at\n    frame 7\n    frame 99\n  freed at\n    frame 8\n    frame 99", uint64(user), c.text), told)
			r.CompleteFree(base, slotBytes)
			left, ok := r.Evict(0)
			require.True(t, ok)
			require.Equal(t, base, left)
			require.Empty(t, r.Pending(), "repaired damage is not reported again")
		})
	}
}

// An error contains all places of a long report, with as many lines of each as fit. The
// log has all lines.
func TestErrorOfALongReportNamesAllPlaces(t *testing.T) {
	r := newRig(t, memcheck.All, true)
	r.long = 15
	base, user := r.enter(t, 0, 500, 256)
	require.Nil(t, r.Free("pool.free", base))
	report := r.Refuse("pool.free", user, device.Errorf(device.CodeDoubleFree, "pool.free", "it is free"))
	var told string
	err := r.Tell(report, func(_ memcheck.Level, message string) { told = message })
	var typed *device.Error
	require.ErrorAs(t, err, &typed)
	require.Less(t, len(typed.Message), 1024)
	for _, place := range []string{"allocated at", "freed at", "called from"} {
		require.Contains(t, typed.Message, "\n  "+place+"\n    frame 1\n    a long")
	}
	require.Contains(t, typed.Message, " more, see the log")
	require.Equal(t, 3*15, strings.Count(told, "a long line of a call site"))
	require.NotContains(t, told, "see the log")
}

func TestWriteAfterFreeIsReportedWhenTheBlockLeaves(t *testing.T) {
	r := newRig(t, memcheck.All, true)
	base, user := r.enter(t, 0, 500, 256)
	require.Nil(t, r.Free("pool.free", base))
	require.Equal(t, slices.Repeat([]byte{memcheck.FreshByte}, 500), r.dev.Bytes(user, 500),
		"queued work may still use it")
	r.CompleteFree(base, slotBytes)
	require.Equal(t, slices.Repeat([]byte{memcheck.FreedByte}, 500), r.dev.Bytes(user, 500))
	blocks, bytes := r.Held()
	require.Equal(t, 1, blocks)
	require.NotZero(t, bytes)
	require.NoError(t, r.dev.SetBytes(user+123, []byte{1}))
	_, ok := r.Evict(0)
	require.True(t, ok)
	texts := r.tell(r.Pending()...)
	require.Len(t, texts, 1)
	require.Contains(t, texts[0], "write after the free of the block of 500 bytes")
	require.Contains(t, texts[0], "the byte at 123 is 0x01 instead of 0xdd, seen when it left quarantine")
	require.Contains(t, texts[0], "allocated at")
	require.Contains(t, texts[0], "freed at")
}

func TestErrorExplainsInvalidAddresses(t *testing.T) {
	r := newRig(t, memcheck.All, true)
	r.caller = 1
	base, user := r.enter(t, 0, 1000, 256)
	other, _ := r.enter(t, 5, 64, 256)
	unknown := device.Errorf(device.CodeInvalidAddress, "pool.free", "address 0x1 lies nowhere")
	refuse := func(addr device.Addr) (device.Code, string) {
		r.caller = 3
		report := r.Refuse("pool.free", addr, unknown)
		return report.Code, strings.Join(r.tell(report), "\n")
	}
	for offset, place := range map[int64]string{10: "10 bytes inside", -5: "5 bytes before", 1002: "2 bytes after the end of"} {
		code, text := refuse(user + device.Addr(offset))
		require.Equal(t, device.CodeInvalidAddress, code)
		require.Contains(t, text, "lies "+place+" the block of 1000 bytes")
		require.Contains(t, text, "which is live\n  allocated at\n    frame 1\n    frame 99\n  called from\n    frame 3")
	}
	code, text := refuse(1)
	require.Equal(t, device.CodeInvalidAddress, code)
	require.Contains(t, text, "address 0x1 lies nowhere\n  called from\n    frame 3")

	r.caller = 2
	require.Nil(t, r.Free("pool.free", base))
	_, isLive := r.Base(user)
	require.False(t, isLive)
	code, text = refuse(user)
	require.Equal(t, device.CodeDoubleFree, code)
	require.Contains(t, text, "was freed before and is still in use by queued work")
	require.Contains(t, text, "allocated at\n    frame 1\n    frame 99\n  freed at\n    frame 2\n    frame 99\n  called from\n    frame 3")
	r.CompleteFree(base, slotBytes)
	_, text = refuse(user)
	require.Contains(t, text, "is in quarantine")
	_, ok := r.Evict(0)
	require.True(t, ok)
	code, text = refuse(user)
	require.Equal(t, device.CodeDoubleFree, code)
	require.Contains(t, text, "was freed before and its memory was released")
	require.Contains(t, text, "was allocated at\n    frame 1\n    frame 99\n  and freed at\n    frame 2\n    frame 99\n  called from\n    frame 3")
	_, known := r.View(base)
	require.False(t, known)

	r.Drop(other)
	r.Drop(other)
	_, known = r.View(other)
	require.False(t, known)
	require.Empty(t, r.Pending())
}

func TestLastCheckIncludesLiveAndQuarantinedBlocks(t *testing.T) {
	r := newRig(t, memcheck.All, true)
	_, user := r.enter(t, 0, 100, 256)
	freed, gone := r.enter(t, 1, 100, 256)
	require.Nil(t, r.Free("pool.free", freed))
	r.CompleteFree(freed, slotBytes)
	require.NoError(t, r.dev.SetBytes(user-2, []byte{1}))
	require.NoError(t, r.dev.SetBytes(gone+99, []byte{2}))
	texts := r.tell(r.CheckLast()...)
	require.Len(t, texts, 2)
	require.Contains(t, texts[0], "the byte 2 before its start is 0x01 instead of 0xfd, seen when its pool was destroyed")
	require.Contains(t, texts[1], "the byte at 99 is 0x02 instead of 0xdd, seen when its pool was destroyed")
	require.Empty(t, r.CheckLast(), "the damage is repaired")
}

// If the host cannot address the memory, only frees are checked.
func TestInvisibleDeviceHasNoZones(t *testing.T) {
	r := newRig(t, memcheck.All, false)
	texts := r.tell(r.Pending()...)
	require.Equal(t, []string{`0 pool "kv": the process cannot address the device's memory: red_zones,poison are not used`}, texts)
	base, user := r.enter(t, 0, 100, 256)
	require.Equal(t, base, user)
	view, ok := r.View(base)
	require.True(t, ok)
	require.Equal(t, memcheck.View{Addr: user, SizeBytes: 100}, view)
	require.Nil(t, r.Free("pool.free", base))
	r.CompleteFree(base, slotBytes)
	_, bytes := r.Held()
	require.EqualValues(t, 100, bytes)
	_, ok = r.Evict(0)
	require.True(t, ok)
	require.Empty(t, r.Pending())
	require.Zero(t, r.dev.Calls(devicetest.FillNow)+r.dev.Calls(devicetest.FirstOther))
}

// If memory cannot be written or read, its block is not checked, but still works.
func TestFailuresOfTheDeviceLeaveBlocksUnchecked(t *testing.T) {
	for call, name := range map[devicetest.Call]string{devicetest.FillNow: "fill", devicetest.FirstOther: "look"} {
		for n := 1; n <= 6; n++ {
			t.Run(fmt.Sprint(name, n), func(t *testing.T) {
				r := newRig(t, memcheck.All, true)
				r.dev.FailNth(call, n, nil)
				base, user := r.enter(t, 0, 100, 256)
				got, ok := r.Base(user)
				require.True(t, ok)
				require.Equal(t, base, got)
				require.Nil(t, r.Free("pool.free", base))
				r.CompleteFree(base, slotBytes)
				left, ok := r.Evict(0)
				require.True(t, ok)
				require.Equal(t, base, left)
				texts := r.tell(r.Pending()...)
				if r.dev.ClearFaults() > 0 {
					require.Empty(t, texts)
					return
				}
				require.Len(t, texts, 1)
				require.Contains(t, texts[0], "2 pool \"kv\": the block of 100 bytes at")
				require.Contains(t, texts[0], "FERRUM_ERROR_DEVICE")
			})
		}
	}
}

// block is a block as the test knows it.
type block struct {
	base, user device.Addr
	size       uint64
	padded     uint64
	held       bool
	// beside and inside are the damaged bytes that were not reported yet.
	beside, inside map[device.Addr]bool
}

func (b *block) zoneReports() int {
	n := min(len(b.beside), 1)
	clear(b.beside)
	return n
}

func (b *block) heldReports() int {
	n := b.zoneReports() + min(len(b.inside), 1)
	clear(b.inside)
	return n
}

// Each damage is reported once, at the first occasion, and nothing else is reported.
func TestEveryStrayWriteIsReportedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRig(t, memcheck.All, true)
		const bound = 6 * slotBytes
		slots := map[uint64]*block{}
		var held []*block
		wanted, reported := 0, 0
		evict := func(bytes uint64) {
			for {
				base, ok := r.Evict(bytes)
				if !ok {
					return
				}
				require.Equal(t, held[0].base, base, "the oldest leaves first")
				wanted += held[0].heldReports()
				delete(slots, uint64(base-r.base)/slotBytes)
				held = held[1:]
			}
		}
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			slot := rapid.Uint64Range(0, 11).Draw(t, "slot")
			b := slots[slot]
			switch action := rapid.IntRange(0, 5).Draw(t, "action"); {
			case b == nil:
				b = &block{size: rapid.Uint64Range(1, 1024).Draw(t, "size"),
					beside: map[device.Addr]bool{}, inside: map[device.Addr]bool{}}
				b.base, b.user = r.enter(t, slot, b.size, 256)
				b.padded, _ = r.Padded(b.size, 256)
				slots[slot] = b
			case action <= 1:
				at := b.base + device.Addr(rapid.Uint64Range(0, b.padded-1).Draw(t, "at"))
				require.NoError(t, r.dev.SetBytes(at, []byte{0x11}))
				switch inside := at >= b.user && at < b.user+device.Addr(b.size); {
				case !inside:
					b.beside[at] = true
				case b.held:
					b.inside[at] = true
				}
			case action == 2 && !b.held:
				wanted += b.zoneReports()
				if report := r.Free("pool.free", b.base); report != nil {
					reported++
				}
				if rapid.Bool().Draw(t, "late") {
					// Queued work writes beyond the end after the free.
					require.NoError(t, r.dev.SetBytes(b.user+device.Addr(b.size), []byte{0x12}))
					wanted++
				}
				r.CompleteFree(b.base, bound)
				b.held = true
				held = append(held, b)
				evict(bound)
			case action == 3:
				for _, b := range slots {
					if b.held {
						wanted += b.heldReports()
					} else {
						wanted += b.zoneReports()
					}
				}
				reported += len(r.Check())
			case action == 4 && rapid.IntRange(0, 9).Draw(t, "flush") == 0:
				evict(0)
			}
			blocks, bytes := r.Held()
			require.LessOrEqual(t, bytes, uint64(bound))
			require.Equal(t, len(held), blocks)
			reported += len(r.Pending())
			require.Equal(t, wanted, reported)
		}
	})
}
