package memcheck

import "ferrum_mem/core/device"

// historyBlocks is how many freed blocks are remembered after their memory went
// back.
const historyBlocks = 1024

// past is a block whose memory has gone back.
type past struct {
	user             device.Addr
	requested        uint64
	tag              string
	allocated, freed site
}

// history remembers the freed blocks that went last. The zero value is empty.
type history struct {
	blocks []past
	// next is where the next one goes.
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

// find gives the latest block that started at an address.
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
