package pool

import "ferrum_mem/core/device"

// The table of blocks is open addressing with linear probing: one flat array
// without pointers, which the garbage collector does not look into, at most
// three quarters full. A removed entry leaves no mark; the entries behind it
// move up instead, so the table never wears out.

// blockState says what an entry is.
type blockState uint32

const (
	blockNone blockState = iota
	blockLive
	blockInFlight
)

// entry is a block that is live or in flight.
type entry struct {
	addr      device.Addr
	size      uint64
	requested uint64
	at        int64
	tag       uint32
	state     blockState
}

const minTableSize = 64

// blockTable finds blocks by address. The zero value is empty.
type blockTable struct {
	entries []entry
	count   int
	// shift takes a hash to an index.
	shift uint
}

// hash spreads addresses, which have many low zeros, over the table.
func (t *blockTable) hash(addr device.Addr) int {
	return int(uint64(addr) * 0x9e3779b97f4a7c15 >> t.shift)
}

// find gives the entry of an address, valid until the next insert or remove,
// or nil.
func (t *blockTable) find(addr device.Addr) *entry {
	if t.count == 0 {
		return nil
	}
	mask := len(t.entries) - 1
	for i := t.hash(addr); ; i = (i + 1) & mask {
		e := &t.entries[i]
		if e.state == blockNone {
			return nil
		}
		if e.addr == addr {
			return e
		}
	}
}

// insert adds an entry whose address is not in the table.
func (t *blockTable) insert(added entry) {
	if (t.count+1)*4 > len(t.entries)*3 {
		t.resize(max(minTableSize, 2*len(t.entries)))
	}
	t.put(added)
	t.count++
}

func (t *blockTable) put(added entry) {
	mask := len(t.entries) - 1
	i := t.hash(added.addr)
	for t.entries[i].state != blockNone {
		i = (i + 1) & mask
	}
	t.entries[i] = added
}

// remove takes out an entry that is there.
func (t *blockTable) remove(addr device.Addr) {
	mask := len(t.entries) - 1
	hole := t.hash(addr)
	for t.entries[hole].addr != addr || t.entries[hole].state == blockNone {
		hole = (hole + 1) & mask
	}
	for i := (hole + 1) & mask; t.entries[i].state != blockNone; i = (i + 1) & mask {
		home := t.hash(t.entries[i].addr)
		// The entry may fill the hole unless its home lies behind the hole.
		if (i-home)&mask >= (i-hole)&mask {
			t.entries[hole] = t.entries[i]
			hole = i
		}
	}
	t.entries[hole] = entry{}
	t.count--
	if len(t.entries) > minTableSize && t.count*16 < len(t.entries) {
		t.resize(len(t.entries) / 4)
	}
}

func (t *blockTable) resize(size int) {
	old := t.entries
	size = max(size, minTableSize)
	t.entries = make([]entry, size)
	t.shift = 64
	for n := size; n > 1; n >>= 1 {
		t.shift--
	}
	for _, e := range old {
		if e.state != blockNone {
			t.put(e)
		}
	}
}

// each visits every entry, in no order.
func (t *blockTable) each(visit func(*entry)) {
	for i := range t.entries {
		if t.entries[i].state != blockNone {
			visit(&t.entries[i])
		}
	}
}
