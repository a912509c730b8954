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
	// MaxWaitNS bounds the wait of a request: one day.
	MaxWaitNS = 24 * 3600 * int64(1e9)
	// MaxDelayNS bounds the delay of a trace.
	MaxDelayNS = trace.MaxTimeNS
	// maxLateNS keeps the time of every step within 63 bits. A trace, its delay and the
	// time after the last arrival are far below the rest.
	maxLateNS = uint64(1) << 60
	// defaultPageBytes is the page size for a setting of 0.
	defaultPageBytes = 2 << 20
)

// Policy is the way in which models share a limit.
type Policy string

const (
	// PolicyStatic gives each model its own part, which no other model uses.
	PolicyStatic Policy = "static"
	// PolicyElastic gives free pages to any model that requests them, except guaranteed
	// ones.
	PolicyElastic Policy = "elastic"
)

// ModelTrace is one model of a replay.
type ModelTrace struct {
	ID    string
	Trace *trace.Trace
	// DelayNS is the start of the trace.
	DelayNS int64
	// ShareBytes is the model's part of the limit under PolicyStatic. Either all models
	// have one or none has; then the parts are equal.
	ShareBytes uint64
	// GuaranteedBytes is the model's guarantee under PolicyElastic.
	GuaranteedBytes uint64
}

// ModelsOptions has the settings of a replay of several models.
type ModelsOptions struct {
	// Rules apply to every trace. The jitter of the i-th model, from 0, has the seed
	// Seed + i, so that two copies of one trace do not move in step.
	Rules trace.Rules
	// LimitBytes is the physical memory of all models together, in whole pages.
	LimitBytes uint64
	// PageBytes is the size of a page; 0: 2 MiB.
	PageBytes uint64
	// Policies are played one after the other; an empty list means both, static first.
	Policies []Policy
	// WaitNS is the longest wait of a request that cannot be served at once; 0: it
	// fails.
	WaitNS int64
	// Open opens the device for the replay. It must be able to hold capacityBytes that
	// are never accessed, and have virtual memory.
	Open func(capacityBytes uint64) (*engine.Engine, error)
	// Progress, if not nil, is called from time to time on the goroutine of the replay
	// with the number of arrived requests of all runs.
	Progress func(arrived, requests int)
}

// preparedReplay is a checked replay of several models before it is played.
type preparedReplay struct {
	models  []ModelTrace
	options ModelsOptions
	rules   trace.Rules
	// demand is the memory that each model, and all together, would use if every
	// request were served at once.
	demand modelsDemand
	clock  clock
}

// plan checks the settings and surveys the traces.
func plan(ctx context.Context, models []ModelTrace, o *ModelsOptions) (*preparedReplay, error) {
	if o.PageBytes == 0 {
		o.PageBytes = defaultPageBytes
	}
	if err := checkModels(models, *o); err != nil {
		return nil, err
	}
	b := &preparedReplay{models: models, options: *o}
	feeds, err := b.feeds()
	if err != nil {
		return nil, err
	}
	b.rules = feeds[0].schedule.Rules()
	if block := b.rules.BytesPerToken * trace.BlockTokens; b.rules.Mode == trace.Paged && block%o.PageBytes != 0 {
		return nil, refuse("a block of %d tokens of %s each has %s, which is not a multiple of the page size of %s: choose a smaller page, or more bytes per token",
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
			return refuse("policy %q is not one of static, elastic", policy)
		}
	}
	seen, shares := map[string]bool{}, 0
	for _, m := range models {
		switch {
		case m.ID == "":
			return refuse("a model has no id")
		case seen[m.ID]:
			return refuse("model %q is listed twice", m.ID)
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

// feeds creates the schedules again.
func (b *preparedReplay) feeds() ([]*feed, error) {
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

func (b *preparedReplay) pages(bytes uint64) uint64 { return bytes / b.options.PageBytes }

func (b *preparedReplay) checkLimit(limitBytes uint64) error {
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

// modelBounds has a model's guarantee and its maximum (0: only the limit bounds it), in
// bytes. reach is the most that it can have at once.
type modelBounds struct{ guaranteed, most, reach uint64 }

// bounds returns the bounds of each model under a policy.
func (b *preparedReplay) bounds(policy Policy, limitBytes uint64) ([]modelBounds, error) {
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
