package replay

import (
	"context"
	"math/bits"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/trace"
)

const (
	// MaxModels bounds the models of one replay.
	MaxModels = 64
	// MaxWaitNS bounds how long a request may wait: one day.
	MaxWaitNS = 24 * 3600 * int64(1e9)
	// MaxDelayNS bounds how much later a trace may start.
	MaxDelayNS = trace.MaxTimeNS
	// maxLateNS keeps the time of every step within 63 bits: a trace, its delay
	// and what comes after the last arrival are far below the rest.
	maxLateNS = uint64(1) << 60
	// defaultPageBytes is the page size that 0 stands for.
	defaultPageBytes = 2 << 20
)

// Policy says how models share a limit.
type Policy string

const (
	// PolicyStatic gives each model a part of its own, which no other ever uses.
	PolicyStatic Policy = "static"
	// PolicyElastic gives free pages to whoever asks, but for the guarantees.
	PolicyElastic Policy = "elastic"
)

// ModelTrace is one model of a replay.
type ModelTrace struct {
	ID    string
	Trace *trace.Trace
	// DelayNS is when the trace starts.
	DelayNS int64
	// ShareBytes is the model's part of the limit under PolicyStatic. Either all
	// models have one, or none: then the parts are equal.
	ShareBytes uint64
	// GuaranteedBytes are kept free for the model under PolicyElastic.
	GuaranteedBytes uint64
}

// ModelsOptions say how to replay several models.
type ModelsOptions struct {
	// Rules are those of every trace; the jitter of the i-th model, from 0, has the
	// seed Seed + i, so that one trace given twice does not move in step.
	Rules trace.Rules
	// LimitBytes is the physical memory of all models together, in whole pages.
	LimitBytes uint64
	// PageBytes is the size of a page; 0: 2 MiB.
	PageBytes uint64
	// Policies are played one after the other; none: both, static first.
	Policies []Policy
	// WaitNS is how long a request that cannot be served at once may wait; 0: it
	// has failed.
	WaitNS int64
	// Open opens the device to replay on, which must be able to hold capacityBytes
	// without touching them and have virtual memory.
	Open func(capacityBytes uint64) (*engine.Engine, error)
	// Progress, if not nil, is called now and then on the goroutine of the replay
	// with how many of all requests of all runs have arrived.
	Progress func(arrived, requests int)
}

// bill is a replay of several models before it is played.
type bill struct {
	models  []ModelTrace
	options ModelsOptions
	rules   trace.Rules
	// demand is what the models would use, each and together, if every request
	// were served at once.
	demand modelsDemand
	clock  clock
}

// plan checks what was asked for and surveys the traces.
func plan(ctx context.Context, models []ModelTrace, o *ModelsOptions) (*bill, error) {
	if o.PageBytes == 0 {
		o.PageBytes = defaultPageBytes
	}
	if err := checkModels(models, *o); err != nil {
		return nil, err
	}
	b := &bill{models: models, options: *o}
	feeds, err := b.feeds()
	if err != nil {
		return nil, err
	}
	b.rules = feeds[0].schedule.Rules()
	if block := b.rules.BytesPerToken * trace.BlockTokens; b.rules.Mode == trace.Paged && block%o.PageBytes != 0 {
		return nil, refuse("a block of %d tokens of %s each has %s, which is no multiple of the page size of %s: choose a smaller page, or more bytes per token",
			trace.BlockTokens, device.FormatBytes(b.rules.BytesPerToken), device.FormatBytes(block), device.FormatBytes(o.PageBytes))
	}
	if b.demand, err = surveyModels(ctx, feeds, o.PageBytes); err != nil {
		return nil, err
	}
	b.clock = newClock()
	return b, nil
}

func refuse(format string, args ...any) error {
	return device.Errorf(device.CodeInvalidArgument, modelsOp, format, args...)
}

func checkModels(models []ModelTrace, o ModelsOptions) error {
	if len(models) == 0 || len(models) > MaxModels {
		return refuse("there are %d models, 1 to %d are possible", len(models), MaxModels)
	}
	if bits.OnesCount64(o.PageBytes) != 1 {
		return refuse("page size %d is not a power of two", o.PageBytes)
	}
	if o.WaitNS < 0 || o.WaitNS > MaxWaitNS {
		return refuse("wait is %d ns: it must be from 0 to %d (one day)", o.WaitNS, MaxWaitNS)
	}
	for _, policy := range o.Policies {
		if policy != PolicyStatic && policy != PolicyElastic {
			return refuse("policy %q is none of static, elastic", policy)
		}
	}
	seen, shares := map[string]bool{}, 0
	for _, m := range models {
		switch {
		case m.ID == "":
			return refuse("a model has no id")
		case seen[m.ID]:
			return refuse("model %q is there twice", m.ID)
		case m.Trace.Kind == trace.LifetimesCSV:
			return refuse("model %q: %s has lifetimes, whose times have no unit: they cannot be merged with others", m.ID, m.Trace.Name)
		case m.DelayNS < 0 || m.DelayNS > MaxDelayNS:
			return refuse("model %q: delay is %d ns: it must be from 0 to %d", m.ID, m.DelayNS, int64(MaxDelayNS))
		}
		seen[m.ID] = true
		if m.ShareBytes != 0 {
			shares++
		}
	}
	if shares != 0 && shares != len(models) {
		return refuse("%d of %d models have a share of the limit: all must have one, or none", shares, len(models))
	}
	return nil
}

// feeds makes the schedules anew.
func (b *bill) feeds() ([]*feed, error) {
	var feeds []*feed
	for i, m := range b.models {
		rules := b.options.Rules
		rules.Seed += uint64(i)
		s, err := trace.NewSchedule(m.Trace, rules)
		if err != nil {
			return nil, err
		}
		feeds = append(feeds, newFeed(s, m.DelayNS))
	}
	return feeds, nil
}

func (b *bill) pages(bytes uint64) uint64 { return bytes / b.options.PageBytes }

func (b *bill) checkLimit(limitBytes uint64) error {
	switch {
	case limitBytes == 0:
		return refuse("several models need a limit that they share, and it is 0")
	case limitBytes > MaxRangeBytes:
		return refuse("limit of %s is above the %s that can be replayed", device.FormatBytes(limitBytes), device.FormatBytes(MaxRangeBytes))
	case limitBytes < b.options.PageBytes:
		return refuse("limit of %s is less than a page of %s", device.FormatBytes(limitBytes), device.FormatBytes(b.options.PageBytes))
	}
	return nil
}

// modelBounds are what a model is guaranteed, and what it may have at most (0: no
// bound but the limit), in bytes; reach is the most that it can have at once.
type modelBounds struct{ guaranteed, most, reach uint64 }

// bounds are those of each model under a policy.
func (b *bill) bounds(policy Policy, limitBytes uint64) ([]modelBounds, error) {
	page, left := b.options.PageBytes, b.pages(limitBytes)
	equal := left / uint64(len(b.models))
	bounds := make([]modelBounds, len(b.models))
	for i, m := range b.models {
		pages, what := b.pages(m.ShareBytes), "share"
		if policy == PolicyElastic {
			pages, what = m.GuaranteedBytes/page+min(m.GuaranteedBytes%page, 1), "guarantee"
		} else if m.ShareBytes == 0 {
			pages = equal
		}
		if policy == PolicyStatic && pages == 0 {
			return nil, refuse("model %q: its share of the limit of %s is less than a page of %s", m.ID, device.FormatBytes(limitBytes), device.FormatBytes(page))
		}
		if pages > left {
			return nil, refuse("model %q: with its %s of %s the models have more than the limit of %s in pages of %s",
				m.ID, what, device.FormatBytes(max(m.ShareBytes, m.GuaranteedBytes)), device.FormatBytes(limitBytes), device.FormatBytes(page))
		}
		left -= pages
		bounds[i].guaranteed = pages * page
		if policy == PolicyStatic {
			bounds[i].most = pages * page
		}
	}
	for i := range bounds {
		bounds[i].reach = bounds[i].most
		if policy == PolicyElastic {
			bounds[i].reach = left*page + bounds[i].guaranteed
		}
	}
	return bounds, nil
}
