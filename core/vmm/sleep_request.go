package vmm

import "ferrum_mem/core/device"

// SleepBacking is where the bytes of what sleeps are kept.
type SleepBacking int32

const (
	// SleepToHost keeps them in ordinary memory of this process.
	SleepToHost SleepBacking = 0
	// SleepToFile keeps them, with checksums, in a file that nothing but this process
	// can use: it is removed when all of it has woken or was freed, and when the pool
	// or model ends. What a process that was killed has left is removed by the next
	// Sleep that makes a file in that directory.
	SleepToFile SleepBacking = 1
	// SleepDiscard keeps nothing: what wakes is zeros.
	SleepDiscard SleepBacking = 2
)

func (b SleepBacking) String() string {
	switch b {
	case SleepToHost:
		return "host"
	case SleepToFile:
		return "file"
	case SleepDiscard:
		return "discard"
	}
	return "unknown"
}

// MaxSleepStreams bounds the streams of one transfer.
const MaxSleepStreams = 64

// SleepRequest says what is to sleep, and how.
type SleepRequest struct {
	// Tag chooses the allocations of that tag; "": all. The name of the pool, or the
	// id of the model, chooses those that were given no tag.
	Tag     string
	Backing SleepBacking
	// Dir is where SleepToFile makes its file; "": the system's directory for
	// temporary files.
	Dir string
	// Stream: only the work is waited for, before the bytes are copied, that is queued
	// now on it and on the streams that use what is to sleep; nil: all work of the
	// device. Nobody may use the memory later.
	Stream device.Stream
	// Streams is how many copies run at once, each on a stream of its own; 0: as many
	// as the process has processors, 8 at most.
	Streams int
	// NoWait has the call do only what can be done at once: what it would have to wait
	// for, queued work, an allocation under way, another Sleep or Wake, is CodeTimeout.
	// The copies take what they take.
	NoWait bool
}

// SleepReport is what Sleep has done.
type SleepReport struct {
	// Bytes is the memory that was given up: of everything that went to sleep, but for
	// what the device refused to unmap.
	Bytes uint64 `json:"bytes"`
	// Path is the file of SleepToFile; "" where there was nothing to write.
	Path string `json:"path"`
	Ns   uint64 `json:"ns"`
}

// WakeRequest says what is to wake.
type WakeRequest struct {
	// Tag is as in SleepRequest.
	Tag string
	// Streams is as in SleepRequest.
	Streams int
	// NoWait is as in SleepRequest. Memory that is not free now is
	// CodeOutOfPhysicalMemory or CodeOutOfMemory at once.
	NoWait bool
}

// WakeReport is what Wake has done.
type WakeReport struct {
	// Bytes is the memory that was had for it.
	Bytes uint64 `json:"bytes"`
	Ns    uint64 `json:"ns"`
}

// SleepStats is the part of Stats that is about sleep.
type SleepStats struct {
	// AsleepPages are of allocations that sleep.
	AsleepPages uint64 `json:"asleep_pages"`
	AsleepBytes uint64 `json:"asleep_bytes"`
	// AsleepHostBytes is host memory that holds bytes of what sleeps, AsleepFileBytes
	// disk space: whole chunks, until all of a chunk has woken or was freed.
	AsleepHostBytes uint64 `json:"asleep_host_bytes"`
	AsleepFileBytes uint64 `json:"asleep_file_bytes"`
	// AsleepDiscardedBytes are of allocations of which nothing is kept.
	AsleepDiscardedBytes uint64 `json:"asleep_discarded_bytes"`
	// Sleeps and Wakes count the calls that worked, SleepNs and WakeNs the time that
	// they took, SleepFailures and WakeFailures those that did not work.
	Sleeps        uint64 `json:"sleeps"`
	Wakes         uint64 `json:"wakes"`
	SleepNs       uint64 `json:"sleep_ns"`
	WakeNs        uint64 `json:"wake_ns"`
	SleepFailures uint64 `json:"sleep_failures"`
	WakeFailures  uint64 `json:"wake_failures"`
}
