package sleep

import "ferrum_mem/core/device"

// defaultStreams bounds the number of streams that 0 selects.
const defaultStreams = 8

// deepQueue is the number of copies that a lane has in flight with page-locked memory.
// While the device copies, the thread of the lane prepares the next copy. A stop waits
// for the copies in flight, so there are few.
const deepQueue = 4

// queue has the copies of a lane that may not have completed, the oldest first.
type queue struct {
	stream device.Stream
	copies []queuedCopy
}

// queuedCopy is the copy that one call of put has queued.
type queuedCopy struct {
	// end is the event after it. The last copy of a stream has none.
	end device.Event
	// chunk is the chunk whose memory it uses, buffer the staging buffer. nil: none.
	chunk  *Chunk
	buffer *Block
	// then runs when it has completed; nil: nothing follows.
	then func() error
}

// put queues a copy. Until finish has returned for the copy, it stays in the list, even
// if put fails.
func (q *queue) put(c queuedCopy, start func() error) error {
	q.copies = append(q.copies, c)
	if before := len(q.copies) - 2; before >= 0 && q.copies[before].end == nil {
		end, err := q.stream.RecordEvent()
		if err != nil {
			return err
		}
		q.copies[before].end = end
	}
	return start()
}

// finish waits for the oldest copy. A failure of the device may be reported only when
// the last copy has finished. It returns the staging buffer of the copy, or nil.
func (q *queue) finish() (buffer *Block, err error) {
	oldest := &q.copies[0]
	if oldest.end == nil {
		err = q.stream.Synchronize(device.Forever)
	} else if err = oldest.end.Synchronize(device.Forever); err == nil {
		err = oldest.end.Close()
	}
	if err != nil {
		return nil, err
	}
	if oldest.then != nil {
		err = oldest.then()
	}
	buffer = oldest.buffer
	q.copies[0] = queuedCopy{}
	q.copies = q.copies[1:]
	return buffer, err
}
