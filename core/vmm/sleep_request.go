package vmm

import "ferrum_mem/core/device"

// SleepBacking selects where the bytes of sleeping allocations are kept.
type SleepBacking int32

const (
	// SleepToHost keeps them in memory of this process: in page-locked memory if the
	// device copies it faster and not more than half of the machine's memory is locked
	// for sleeping contents, otherwise in pageable memory.
	SleepToHost SleepBacking = 0
	// SleepToFile keeps them, with checksums, in a file that only this process can use.
	// The file is removed when all of it has woken or was freed, and when the pool or
	// model is destroyed. If a process was killed, the next Sleep that creates a file
	// in that directory removes its file.
	SleepToFile SleepBacking = 1
	// SleepDiscard keeps nothing: after Wake the memory is zero.
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

// SleepRequest states which allocations go to sleep, and how.
type SleepRequest struct {
	// Tag selects the allocations with that tag; "": all. The name of the pool, or the
	// id of the model, selects those without a tag.
	Tag     string
	Backing SleepBacking
	// Dir is the directory for the file of SleepToFile; "": the system's directory for
	// temporary files.
	Dir string
	// Stream limits the wait before the copy: Sleep waits for the work queued now on
	// this stream and on the streams that use the allocations. With nil it waits for
	// all work of the device. Later work must not use the memory.
	Stream device.Stream
	// Streams is the number of concurrent copies, each on its own stream. 0: one for
	// each processor of the process, at most 8.
	Streams int
	// NoWait makes the call return CodeTimeout instead of waiting for queued work, a
	// load, an allocation in progress, or another Sleep or Wake. The copies still take their
	// time.
	NoWait bool
}

// SleepReport is the result of Sleep.
type SleepReport struct {
	// Bytes is the released memory: that of all allocations that went to sleep, without
	// pages that the device failed to unmap.
	Bytes uint64 `json:"bytes"`
	// Path is the file of SleepToFile; "" if there was nothing to write.
	Path string `json:"path"`
	Ns   uint64 `json:"ns"`
}

// WakeRequest states which allocations wake.
type WakeRequest struct {
	// Tag is as in SleepRequest.
	Tag string
	// Streams is as in SleepRequest.
	Streams int
	// NoWait is as in SleepRequest. If the memory is not free now, the call returns
	// CodeOutOfPhysicalMemory or CodeOutOfMemory at once.
	NoWait bool
}

// WakeReport is the result of Wake.
type WakeReport struct {
	// Bytes is the memory that was allocated for the woken allocations.
	Bytes uint64 `json:"bytes"`
	Ns    uint64 `json:"ns"`
}

// SleepStats is the part of Stats about sleep.
type SleepStats struct {
	// AsleepPages counts the pages of sleeping allocations.
	AsleepPages uint64 `json:"asleep_pages"`
	AsleepBytes uint64 `json:"asleep_bytes"`
	// AsleepHostBytes counts the host memory, and AsleepFileBytes the disk space, that
	// keep the contents of sleeping allocations. They count whole chunks, until all of
	// a chunk has woken or was freed. Much page-locked memory is freed a moment after the
	// end of a Wake.
	AsleepHostBytes uint64 `json:"asleep_host_bytes"`
	AsleepFileBytes uint64 `json:"asleep_file_bytes"`
	// AsleepDiscardedBytes counts sleeping allocations whose contents were discarded.
	AsleepDiscardedBytes uint64 `json:"asleep_discarded_bytes"`
	// Sleeps and Wakes count the successful calls, SleepNs and WakeNs their time,
	// SleepFailures and WakeFailures the failed calls.
	Sleeps        uint64 `json:"sleeps"`
	Wakes         uint64 `json:"wakes"`
	SleepNs       uint64 `json:"sleep_ns"`
	WakeNs        uint64 `json:"wake_ns"`
	SleepFailures uint64 `json:"sleep_failures"`
	WakeFailures  uint64 `json:"wake_failures"`
}
