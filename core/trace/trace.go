package trace

import (
	"math"
	"strconv"

	"ferrum_mem/core/device"
)

// Kind says what sort of file a trace came from.
type Kind int

const (
	// Unknown lets Read find out from the content.
	Unknown Kind = iota
	// Azure is CSV with the columns TIMESTAMP, ContextTokens, GeneratedTokens.
	Azure
	// Mooncake is one JSON object a line: timestamp (ms), input_length,
	// output_length, hash_ids.
	Mooncake
	// LifetimesCSV is CSV with the columns id, lower, upper, size.
	LifetimesCSV
)

// String is the word that names the kind on a command line.
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

// Limits on what is read, so that no number of the input can overflow or make
// the process run out of memory by itself.
const (
	// MaxTokens bounds the input and the output tokens of one request.
	MaxTokens = 1 << 24
	// MaxLineBytes bounds one line, or one CSV record.
	MaxLineBytes = 4 << 20
	// MaxRequests bounds the requests or lifetimes of one trace.
	MaxRequests = 1 << 27
	// MaxTimeNS bounds a trace's length: 100 years.
	MaxTimeNS = 100 * 365 * 24 * 3600 * int64(1e9)
)

// Request is one request to a model.
type Request struct {
	// ArrivalNS is the time of arrival after the first arrival of the trace.
	ArrivalNS int64
	// InputTokens and OutputTokens are at most MaxTokens each.
	InputTokens, OutputTokens uint32
	// Line is where in the file it stands, from 1.
	Line uint32
	// prefix is where its prefix ids are in Trace.prefixIDs.
	prefixStart uint64
	prefixCount uint32
}

// Lifetime is one buffer: alive from Lower until just before Upper, in the
// trace's own unit of time.
type Lifetime struct {
	Lower, Upper int64
	SizeBytes    uint64
	// Line is where in the file it stands, from 1.
	Line uint32
}

// Trace is a workload that has been read. Requests are in order of arrival
// and Lifetimes in order of Lower, ties in the order of the file; one of the
// two is empty.
type Trace struct {
	// Name is what messages call the trace, usually the path of the file.
	Name      string
	Kind      Kind
	Requests  []Request
	Lifetimes []Lifetime
	prefixIDs []uint64
}

// Len is how many requests or lifetimes there are.
func (t *Trace) Len() int { return len(t.Requests) + len(t.Lifetimes) }

// PrefixIDs are the names of the 512-token blocks that the request's input
// starts with; requests with the same id there have the same tokens. Empty
// when the trace has none. The slice belongs to the trace.
func (t *Trace) PrefixIDs(r Request) []uint64 {
	return t.prefixIDs[r.prefixStart : r.prefixStart+uint64(r.prefixCount)]
}

// invalid is the error of every malformed input: it names file and line.
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
