package conformance

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/rangealloc"
)

// batcher returns nil for a strategy without batches.
func (p *pair) batcher() rangealloc.Batcher {
	b, _ := p.strategy.(rangealloc.Batcher)
	return b
}

// allocBatch requests count blocks. If that fails, there must be no space for them one by
// one either.
func (p *pair) allocBatch(r Request, count int) (got []rangealloc.Range, wrong error) {
	defer func() { wrong = p.after("alloc a batch of "+strconv.Itoa(count)+" of %+v", r, wrong) }()
	got = make([]rangealloc.Range, count)
	err := p.batcher().AllocBatch(r, got)
	if want := requestCode(r); want != device.CodeOK {
		return nil, expectCode(want, err)
	}
	if err != nil {
		return nil, p.refusedBatch(r, count, err)
	}
	for _, block := range got {
		if err := p.accept(r, block); err != nil {
			return nil, err
		}
	}
	return got, nil
}

func (p *pair) refusedBatch(r Request, count int, err error) error {
	if !errors.Is(err, rangealloc.ErrNoRoom) {
		return fmt.Errorf("failed with %w, not ErrNoRoom", err)
	}
	if err := p.verify(); err != nil {
		return fmt.Errorf("a refusal has left something behind: %w", err)
	}
	var single []rangealloc.Range
	for len(single) < count {
		got, served, wrong := p.alloc(r)
		if wrong != nil {
			return wrong
		}
		if !served {
			break
		}
		single = append(single, got)
	}
	if len(single) == count {
		return fmt.Errorf("refused, and then served block by block")
	}
	for _, block := range single {
		if wrong := p.free(block.Offset); wrong != nil {
			return wrong
		}
	}
	return nil
}

// freeBatch expects the error for the first invalid offset, and all blocks live after it.
func (p *pair) freeBatch(offsets []uint64) (wrong error) {
	defer func() { wrong = p.after("free the batch %v", offsets, wrong) }()
	given := slices.Clone(offsets)
	err := p.batcher().FreeBatch(given)
	if !slices.Equal(given, offsets) {
		return fmt.Errorf("the caller's list was changed into %v", given)
	}
	for i, offset := range offsets {
		due := p.model.badFree(offset)
		if slices.Contains(offsets[:i], offset) {
			due = device.CodeDoubleFree
		}
		if due == device.CodeOK {
			continue
		}
		// Inside a block that the same batch frees, both errors are right.
		freed := slices.ContainsFunc(offsets[:i], func(o uint64) bool { return p.model.at(o) == p.model.at(offset) })
		if freed && device.CodeOf(err) == device.CodeDoubleFree {
			due = device.CodeDoubleFree
		}
		if wrong := expectCode(due, err); wrong != nil {
			return fmt.Errorf("offset %d, number %d of the batch: %w", offset, i, wrong)
		}
		if !strings.Contains(err.Error(), strconv.FormatUint(offset, 10)) {
			return fmt.Errorf("offset %d, number %d of the batch, is bad, and the error does not name it: %w", offset, i, err)
		}
		return nil // after compares everything with the model, which has not changed
	}
	if err != nil {
		return fmt.Errorf("failed with %w, though all %d blocks were live", err, len(offsets))
	}
	if len(offsets) > 0 {
		p.claims.freed()
	}
	for _, offset := range offsets {
		p.model.release(offset)
		p.forget(offset)
	}
	return nil
}

// batches is the table for batches. Properties and scripts test batches as well.
func (s suite) batches(t *testing.T) {
	p := s.pair(t, small)
	if p.batcher() == nil {
		t.Skip("the strategy has no batches")
	}
	request := Request{Size: 1024, Align: 256}
	must(t, p.freeBatch(nil))
	got, wrong := p.allocBatch(request, 0)
	must(t, wrong)
	require.Empty(t, got)
	for _, bad := range []Request{{Size: 0, Align: 256}, {Size: 1024, Align: 0}, {Size: 1024, Align: 3}} {
		_, wrong := p.allocBatch(bad, 2)
		must(t, wrong)
	}
	for _, r := range []Request{{Size: math.MaxUint64, Align: 1}, {Size: 1, Align: 1 << 63}} {
		got, wrong := p.allocBatch(r, 2)
		must(t, wrong)
		require.Empty(t, got)
	}
	// First more than the range holds, then all of it.
	got, wrong = p.allocBatch(request, int(small.SizeBytes/request.Size)+1)
	must(t, wrong)
	require.Empty(t, got)
	got, wrong = p.allocBatch(request, 20)
	must(t, wrong)
	require.Len(t, got, 20)
	offsets := make([]uint64, len(got))
	for i, block := range got {
		offsets[i] = block.Offset
	}
	slices.Reverse(offsets)
	last := len(offsets) - 1
	for _, bad := range []uint64{offsets[0], offsets[last-1], offsets[last] + 1, small.SizeBytes, math.MaxUint64} {
		must(t, p.freeBatch(append(slices.Clone(offsets[:last]), bad)))
	}
	must(t, p.free(offsets[last]))
	must(t, p.freeBatch(offsets))
	must(t, p.freeBatch(offsets[:last]))
	must(t, p.freeBatch(offsets[:last]))
	require.Equal(t, small.SizeBytes, p.strategy.Stats().FreeBytes)
}
