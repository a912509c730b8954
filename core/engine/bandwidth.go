package engine

import (
	"cmp"
	"errors"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/sorting"
)

const (
	// scratchBytes is the size of the two segments, if the device has enough memory.
	scratchBytes = 64 << 20
	// bandwidthRuns is the number of timed runs of the copies. The result is the
	// median.
	bandwidthRuns = 5
	// maxCopiesPerRun bounds the number of copies of small segments in a run.
	maxCopiesPerRun = 256
)

// MeasureBandwidth times copies between two scratch segments and stores the result for
// MemoryInfo: 10^9 bytes copied per second, by the device's clock. The segments are
// released even if it fails. It returns CodeOutOfMemory if the device has no memory for
// two segments of the smallest size. One measurement runs at a time.
func (e *Engine) MeasureBandwidth() (gbps float64, err error) {
	e.bandwidth.Lock()
	defer e.bandwidth.Unlock()
	src, dst, err := e.reserveScratch()
	if err != nil {
		return 0, err
	}
	stream, err := e.dev.NewStream()
	if err != nil {
		e.Discard(src)
		e.Discard(dst)
		return 0, err
	}
	// Closing the stream drains it. The segments are in use until then.
	defer e.discards.discard(func() error {
		if err := stream.Close(); err != nil {
			return err
		}
		e.Discard(src)
		e.Discard(dst)
		return nil
	})
	gbps, err = timeCopies(stream, dst, src, e.discards.discard)
	if err != nil {
		return 0, err
	}
	e.mu.Lock()
	e.bandwidth.measured.Store(&gbps)
	e.mu.Unlock()
	return gbps, nil
}

// reserveScratch allocates two segments of one size, as large as the device can
// provide.
func (e *Engine) reserveScratch() (src, dst Segment, err error) {
	granularity := e.info.GranularityBytes
	size := max(e.RoundDown(scratchBytes), granularity)
	for {
		want := Want{MinBytes: size, PreferredBytes: size}
		if src, err = e.Reserve(want); err == nil {
			if dst, err = e.Reserve(want); err == nil {
				return src, dst, nil
			}
			e.Discard(src)
		}
		if !errors.Is(err, device.CodeOutOfMemory) || size == granularity {
			return Segment{}, Segment{}, err
		}
		size = max(e.RoundDown(size/2), granularity)
	}
}

// timeCopies returns the median of several runs.
func timeCopies(stream device.Stream, dst, src Segment, discard func(func() error)) (float64, error) {
	size := min(dst.SizeBytes, src.SizeBytes)
	// Write both segments first, because the first access to memory would add to the
	// time.
	for _, segment := range []Segment{src, dst} {
		if err := stream.Fill(segment.Addr, device.Pattern{WidthBytes: 1}, size); err != nil {
			return 0, err
		}
	}
	copies := min(max(scratchBytes/size, 1), maxCopiesPerRun)
	var runs []float64
	for range bandwidthRuns {
		elapsed, err := timeRun(stream, discard, func() error {
			for range copies {
				if err := stream.Copy(dst.Addr, src.Addr, size); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		if elapsed <= 0 {
			return 0, device.Errorf(device.CodeDevice, "engine.measure_bandwidth",
				"the device's clock did not advance over %d copies of %v", copies, device.Size(size))
		}
		runs = append(runs, float64(copies)*float64(size)/float64(elapsed.Nanoseconds()))
	}
	sorting.By(runs, cmp.Compare)
	return runs[len(runs)/2], nil
}

// timeRun returns the device's time for the work that queue queues.
func timeRun(stream device.Stream, discard func(func() error), queue func() error) (elapsed time.Duration, err error) {
	start, err := device.RecordTimed(stream)
	if err != nil {
		return 0, err
	}
	defer discard(start.Close)
	if err := queue(); err != nil {
		return 0, err
	}
	end, err := device.RecordTimed(stream)
	if err != nil {
		return 0, err
	}
	defer discard(end.Close)
	if err := stream.Synchronize(device.Forever); err != nil {
		return 0, err
	}
	return device.Elapsed(start, end)
}
