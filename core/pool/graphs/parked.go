package graphs

import (
	"errors"

	"ferrum_mem/core/device"
)

// Park passes the blocks to the next graph that was not released. It returns false if
// there is none.
func (b *Parked[P]) Park() bool {
	for len(b.Graphs) > 0 {
		g := b.Graphs[0]
		b.Graphs = b.Graphs[1:]
		g.mu.Lock()
		if !g.released {
			g.parked = append(g.parked, b)
			g.mu.Unlock()
			return true
		}
		g.mu.Unlock()
	}
	return false
}

// marksBehind records events at the ends of the stream of the last run and of the streams
// that captured.
func (b *Parked[P]) marksBehind(stream device.Stream) (marks []device.Event, err error) {
	for i := -1; i < len(b.Streams) && err == nil; i++ {
		of := stream
		if i >= 0 {
			of = b.Streams[i]
		}
		if i >= 0 && of == stream {
			continue
		}
		var event device.Event
		if event, err = endOfRun(of); event != nil {
			marks = append(marks, event)
		}
	}
	if err != nil {
		for _, event := range marks {
			err = errors.Join(err, event.Close())
		}
		return nil, err
	}
	return marks, nil
}

// endOfRun records an event at the end of the queue of a stream, for a graph that is to
// be released. It returns nil if no work is queued.
func endOfRun(stream device.Stream) (device.Event, error) {
	event, err := device.MarkEnd(opRelease, stream)
	if errors.Is(err, device.CodeInvalidState) {
		return nil, device.Errorf(device.CodeInvalidState, opRelease, "%w: release the graph after that", err)
	}
	return event, err
}
