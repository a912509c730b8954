package virtual

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/gate"
	"ferrum_mem/drivers/host/mapping"
)

// How this package is tested: its records are compared with plain lists and with the
// kernel's list of the process's mappings. Errors of the system come from calls that fail
// on demand.

const gib = 1 << 30

// capacity is a capacity that counts.
type capacity struct {
	bytes uint64
	held  atomic.Uint64
}

func (r *capacity) Hold(op string, size uint64) error {
	if r.held.Add(size) > r.bytes {
		r.held.Add(-size)
		return device.Errorf(device.CodeOutOfMemory, op, "size %d: no free memory", size)
	}
	return nil
}

func (r *capacity) ReleaseBytes(size uint64) { r.held.Add(-size) }

func (r *capacity) Bytes() uint64 { return r.bytes }

// opened is a device that has only virtual memory.
type opened struct {
	*Memory
	*capacity
}

func openWith(t testing.TB, calls mapping.Calls) *opened {
	t.Helper()
	system := NewSystem(calls, 64<<10)
	system.Learn(maxMappings(t), false)
	id := device.ID{Backend: "cpu"}
	o := &opened{capacity: &capacity{bytes: gib}}
	o.Memory = New(system, id, o.capacity, gate.New(id))
	return o
}

// openLarge opens a device with more capacity than the test touches.
func openLarge(t testing.TB) *opened {
	o := openWith(t, mapping.System())
	o.bytes = 64 * gib
	return o
}

// maxMappings returns the limit on the mappings of this process.
func maxMappings(t testing.TB) uint64 {
	content, err := os.ReadFile("/proc/sys/vm/max_map_count")
	require.NoError(t, err)
	bound, err := strconv.ParseUint(strings.TrimSpace(string(content)), 10, 64)
	require.NoError(t, err)
	return bound
}

func (o *opened) Close() error {
	if err := o.gate.Close("close"); err != nil {
		return err
	}
	o.Memory.Close()
	return nil
}

// use does what queued work does with a range: it holds the pages while it reads them.
func (o *opened) use(addr device.Addr, size uint64, need device.Access, work func(memory []byte)) error {
	held, known, err := o.Acquire("use", "memory", addr, size, need)
	if err != nil {
		return err
	}
	if !known {
		return o.errorf(device.CodeInvalidAddress, "use", "address %#x: in no reservation", uint64(addr))
	}
	defer held.Release()
	work(mapping.Bytes(uint64(addr), size))
	return nil
}

func (o *opened) FillNow(addr device.Addr, value byte, size uint64) error {
	return o.use(addr, size, device.AccessReadWrite, func(memory []byte) {
		for i := range memory {
			memory[i] = value
		}
	})
}

// FirstOther returns the index of the first byte that differs from value, if there is one.
func (o *opened) FirstOther(addr device.Addr, value byte, size uint64) (index int, found bool, err error) {
	err = o.use(addr, size, device.AccessRead, func(memory []byte) {
		index = slices.IndexFunc(memory, func(b byte) bool { return b != value })
	})
	return index, err == nil && index >= 0, err
}

func view(addr device.Addr, size uint64) []byte { return mapping.Bytes(uint64(addr), size) }
