package memcheck

import "ferrum_mem/core/device"

// historyBlocks is the number of freed blocks that are remembered after they left the
// quarantine.
const historyBlocks = 1024

// past is a block that has left the quarantine.
type past struct {
	user             device.Addr
	requested        uint64
	tag              string
	allocated, freed site
}

// history remembers the last such blocks. The zero value is empty.
type history struct {
	blocks []past
	// next is the index for the next block.
	next int
}

func (h *history) add(p past) {
	if len(h.blocks) < historyBlocks {
		h.blocks = append(h.blocks, p)
		return
	}
	h.blocks[h.next] = p
	h.next = (h.next + 1) % historyBlocks
}

// find returns the latest block that started at an address.
func (h *history) find(user device.Addr) (past, bool) {
	n := len(h.blocks)
	for i := range n {
		p := h.blocks[(h.next+n-1-i)%n]
		if p.user == user {
			return p, true
		}
	}
	return past{}, false
}
