package trace

import (
	"math/rand/v2"
	"slices"

	"ferrum_mem/core/device"
)

// Mode states how a request becomes memory.
type Mode int

const (
	// DefaultMode is Contiguous for requests and Lifetimes for lifetimes.
	DefaultMode Mode = iota
	// Contiguous is one block for the whole request, from its arrival to its end.
	Contiguous
	// Paged is blocks of BlockTokens tokens, which are added as tokens are generated.
	// Requests that start with the same tokens share blocks.
	Paged
	// Lifetimes is one block for each lifetime.
	Lifetimes
)

// String returns the word for the mode.
func (m Mode) String() string {
	switch m {
	case Contiguous:
		return "contiguous"
	case Paged:
		return "paged"
	case Lifetimes:
		return "lifetimes"
	}
	return "default"
}

// ParseMode reads what String returns; "" is DefaultMode.
func ParseMode(text string) (Mode, error) {
	for _, mode := range []Mode{Contiguous, Paged, Lifetimes} {
		if text == mode.String() {
			return mode, nil
		}
	}
	if text == "" {
		return DefaultMode, nil
	}
	return DefaultMode, device.Errorf(device.CodeInvalidArgument, "trace.parse_mode",
		"mode %q is not one of contiguous, paged, lifetimes", text)
}

// The rules by which requests become memory.
const (
	// DefaultBytesPerToken is the size of the key-value cache of one token, for a model
	// with 8 billion parameters in half precision: 32 layers × 8 heads × 128 × 2 (keys
	// and values) × 2 bytes.
	DefaultBytesPerToken = 131072
	// BlockTokens is the number of tokens of one block in Paged mode.
	BlockTokens = 16
	// PrefillNSPerToken is the time for one input token.
	PrefillNSPerToken = 200_000
	// DecodeNSPerToken is the time for one output token.
	DecodeNSPerToken = 30_000_000
	// MaxBytesPerToken keeps the size of one block within MaxBlockBytes.
	MaxBytesPerToken = MaxBlockBytes / (2 * MaxTokens)
	// MaxBlockBytes is the largest block: 256 TiB.
	MaxBlockBytes = 1 << 48
	// MaxJitterNS is the largest jitter: one day.
	MaxJitterNS = 24 * 3600 * int64(1e9)
)

// Rules state how a trace becomes memory.
type Rules struct {
	Mode Mode
	// BytesPerToken is the memory of one token; 0 means DefaultBytesPerToken. It must be
	// 0 for lifetimes.
	BytesPerToken uint64
	// JitterNS delays every arrival by a random time from 0 to JitterNS, with a uniform
	// distribution. 0 replays the recorded times. It must be 0 for lifetimes.
	JitterNS int64
	// Seed is the seed of the generator of the jitter (PCG). The same seed gives the same
	// arrivals.
	Seed uint64
}

// normalise fills in the defaults and rejects rules that do not fit t.
func (r Rules) normalise(t *Trace) (Rules, error) {
	lifetimes := t.Kind == LifetimesCSV
	if r.Mode == DefaultMode {
		r.Mode = Contiguous
		if lifetimes {
			r.Mode = Lifetimes
		}
	}
	if r.BytesPerToken == 0 && !lifetimes {
		r.BytesPerToken = DefaultBytesPerToken
	}
	refuse := func(format string, args ...any) (Rules, error) {
		return r, device.Errorf(device.CodeInvalidArgument, "trace.schedule", format, args...)
	}
	switch {
	case r.Mode != Contiguous && r.Mode != Paged && r.Mode != Lifetimes:
		return refuse("mode %d is not one of contiguous, paged, lifetimes", r.Mode)
	case lifetimes && r.Mode != Lifetimes:
		return refuse("mode %s needs a trace of requests, and %s has lifetimes", r.Mode, t.Name)
	case !lifetimes && r.Mode == Lifetimes:
		return refuse("mode lifetimes needs a trace of lifetimes, and %s has requests", t.Name)
	case lifetimes && r.BytesPerToken != 0:
		return refuse("bytes per token is %d, but %s has lifetimes and no tokens", r.BytesPerToken, t.Name)
	case lifetimes && r.JitterNS != 0:
		return refuse("jitter is %d ns, but %s has lifetimes and no arrivals", r.JitterNS, t.Name)
	case r.BytesPerToken > MaxBytesPerToken:
		return refuse("bytes per token is %d: the largest possible is %d", r.BytesPerToken, MaxBytesPerToken)
	case r.JitterNS < 0 || r.JitterNS > MaxJitterNS:
		return refuse("jitter is %d ns: it must be from 0 to %d (one day)", r.JitterNS, MaxJitterNS)
	}
	return r, nil
}

// jitterStream distinguishes the generator of arrivals from other generators that may be
// started from the same seed.
const jitterStream = 0x6a69_7474_6572

// jittered returns the requests in the order of arrival under the rules.
func jittered(requests []Request, r Rules) []Request {
	if r.JitterNS == 0 {
		return requests
	}
	generator := rand.New(rand.NewPCG(r.Seed, jitterStream))
	moved := slices.Clone(requests)
	for i := range moved {
		moved[i].ArrivalNS += generator.Int64N(r.JitterNS + 1)
	}
	slices.SortStableFunc(moved, func(a, b Request) int {
		switch {
		case a.ArrivalNS < b.ArrivalNS:
			return -1
		case a.ArrivalNS > b.ArrivalNS:
			return 1
		}
		return 0
	})
	return moved
}
