package inflight

import "ferrum_mem/core/device"

// Find returns a block that a stream may reuse at once. It stays in flight until Drop.
func (b *Blocks) Find(stream device.Stream, want Want) (number int32, found bool) {
	queue := b.queueOf(stream)
	if queue == none || b.queues[queue].reuse.count == 0 {
		return none, false
	}
	number = b.queues[queue].reuse.find(b.blocks.items, want.bounds())
	return number, number != none
}

// FindMany returns at most most blocks that a stream may reuse at once, beginning with
// the smallest size class.
func (b *Blocks) FindMany(stream device.Stream, want Want, most int) []int32 {
	queue := b.queueOf(stream)
	if queue == none || b.queues[queue].reuse.count == 0 {
		return nil
	}
	var found []int32
	r, w := &b.queues[queue].reuse, want.bounds()
	last := reuseClass(w.most)
	for class := r.nextFilled(reuseClass(w.least)); class != int(none) && class <= last; class = r.nextFilled(class + 1) {
		for at := r.heads[class]; at != none; at = b.blocks.items[at].next {
			block := &b.blocks.items[at]
			if block.size < w.least || block.size > w.most || uint64(block.addr)&w.mask != 0 {
				continue
			}
			if found = append(found, at); len(found) == most {
				return found
			}
		}
	}
	return found
}
