package trace

import (
	"math"
	"strconv"

	"ferrum_mem/core/device"
)

// Kind is the kind of the file of a trace.
type Kind int

const (
	// Unknown makes Read find the kind from the content.
	Unknown Kind = iota
	// Azure is CSV with the columns TIMESTAMP, ContextTokens, GeneratedTokens.
	Azure
	// Mooncake has one JSON object on each line: timestamp (ms), input_length,
	// output_length, hash_ids.
	Mooncake
	// LifetimesCSV is CSV with the columns id, lower, upper, size.
	LifetimesCSV
)

// String returns the word for the kind on a command line.
func (k Kind) String() string {
	switch k {
	case Azure:
		return "azure"
	case Mooncake:
		return "mooncake"
	case LifetimesCSV:
		return "lifetimes"
	}
	return "unknown"
}

// Limits of the input. They prevent that a number overflows or that one number makes the
// process run out of memory.
const (
	// MaxTokens is the most input tokens, and the most output tokens, of one request.
	MaxTokens = 1 << 24
	// MaxLineBytes is the length of the longest line or CSV record.
	MaxLineBytes = 4 << 20
	// MaxRequests is the most requests or lifetimes of one trace.
	MaxRequests = 1 << 27
	// MaxTimeNS is the longest duration of a trace: 100 years.
	MaxTimeNS = 100 * 365 * 24 * 3600 * int64(1e9)
)

// Request is one request to a model.
type Request struct {
	// ArrivalNS is the time after the first arrival of the trace.
	ArrivalNS int64
	// InputTokens and OutputTokens are at most MaxTokens each.
	InputTokens, OutputTokens uint32
	// Line is the line of the request in the file, from 1.
	Line uint32
	// prefixStart and prefixCount are the range of its prefix ids in Trace.prefixIDs.
	prefixStart uint64
	prefixCount uint32
}

// Lifetime is one buffer that is live from Lower until just before Upper, in the unit of
// time of the trace.
type Lifetime struct {
	// ID is unique in the trace.
	ID           string
	Lower, Upper int64
	SizeBytes    uint64
	// Line is the line of the lifetime in the file, from 1.
	Line uint32
}

// Trace is a workload that was read. Requests are in order of arrival and Lifetimes in
// order of Lower; equal ones keep the order of the file. One of the two is empty.
type Trace struct {
	// Name is the name of the trace in messages, usually the path of the file.
	Name      string
	Kind      Kind
	Requests  []Request
	Lifetimes []Lifetime
	prefixIDs []uint64
}

// Len returns the number of requests or lifetimes.
func (t *Trace) Len() int { return len(t.Requests) + len(t.Lifetimes) }

// PrefixIDs returns the ids of the 512-token blocks at the start of the request's input.
// Requests with the same id there have the same tokens. It is empty if the trace has no
// ids. The slice belongs to the trace.
func (t *Trace) PrefixIDs(r Request) []uint64 {
	return t.prefixIDs[r.prefixStart : r.prefixStart+uint64(r.prefixCount)]
}

// invalid returns the error of malformed input. It names the file and the line.
func invalid(name string, line int, format string, args ...any) error {
	err := device.Errorf(device.CodeInvalidFormat, "trace.read", format, args...)
	if line > 0 && line <= math.MaxInt32 {
		err.Message = name + ": line " + itoa(line) + ": " + err.Message
	} else {
		err.Message = name + ": " + err.Message
	}
	return err
}

func itoa(n int) string { return strconv.Itoa(n) }
