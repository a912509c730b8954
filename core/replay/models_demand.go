package replay

import (
	"context"

	"ferrum_mem/core/device"
)

// need is the most live memory at one time: as requested, and with each block in whole
// pages.
type need struct{ live, paged uint64 }

// modelsDemand is the memory that models would use if every request were served at
// once.
type modelsDemand struct {
	all  need
	each []need
	// largest is the size of the pages of the largest block, in bytes.
	largest     uint64
	first, last int64
}

// surveyModels plays without a pool to find the demand.
func surveyModels(ctx context.Context, feeds []*feed, pageBytes uint64) (modelsDemand, error) {
	sum := &tally{pageBytes: pageBytes}
	var seats []blockSource
	for range feeds {
		seats = append(seats, &endless{survey: sum})
	}
	meter := newModelsMeter(seats, func() uint64 { return 0 }, nil)
	if err := newRig(feeds, seats, meter, pageBytes).play(ctx, func(int) {}); err != nil {
		return modelsDemand{}, err
	}
	d := modelsDemand{
		all: need{meter.all.peakLive, meter.all.peakPhysical}, largest: sum.largest, first: meter.first, last: meter.now,
	}
	for i := range meter.each {
		d.each = append(d.each, need{meter.each[i].peakLive, meter.each[i].peakPhysical})
	}
	if d.all.paged > MaxRangeBytes {
		return d, refuse("the traces have %s live at one time, above the %s that can be replayed",
			device.FormatBytes(d.all.paged), device.FormatBytes(MaxRangeBytes))
	}
	return d, nil
}

// tally has the common counts of all seats of a survey.
type tally struct {
	pageBytes, paged, largest uint64
}

// endless is a seat with unlimited memory.
type endless struct {
	survey *tally
	paged  uint64
}

func (e *endless) alloc(w blockRequest) (block, *refusal, error) {
	size := inPages(w.size, e.survey.pageBytes)
	if e.survey.paged+size < size {
		return block{}, nil, device.Errorf(device.CodeOverflow, modelsOp,
			"the traces have more live bytes at one time than 64 bits can count")
	}
	e.survey.paged += size
	e.survey.largest = max(e.survey.largest, size)
	e.paged += size
	return block{size: w.size}, nil, nil
}

func (e *endless) free(b block) error {
	size := inPages(b.size, e.survey.pageBytes)
	e.survey.paged -= size
	e.paged -= size
	return nil
}

func (e *endless) room() uint64     { return MaxRangeBytes }
func (e *endless) physical() uint64 { return e.paged }
