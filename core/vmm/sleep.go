package vmm

import (
	"context"

	"ferrum_mem/core/vmm/extent"
	"ferrum_mem/core/vmm/sleep"
)

// Sleep and wake. Sleeping allocations keep their addresses, their entries in the page
// table and their tags, and release their physical memory. The contents are copied to
// host memory or a file, or are discarded. Wake allocates physical memory, maps it at
// the same addresses, and copies the bytes back.

// Sleep copies the contents of the allocations of a tag, or of all, to other memory.
// When all of it is copied, Sleep releases their pages: to the device, or with
// SleepDiscard to the idle pages of the pool. The addresses stay reserved. Allocations
// that were asleep before do not change. Until the call returns, new allocations of
// that tag (of any tag, if all go to sleep) fail, or wait if the request allows it. The
// ranges that it puts to sleep cannot be freed (CodeBusy).
//
// Sleep waits for queued work as the request states, for loads (KeepAwake), for
// allocations in progress, and for another Sleep or Wake of this pool. ctx can end the call until the last byte is
// copied. Sleep is all or nothing. If it fails, or ctx ends, every page is where it was
// with its bytes, and this needs no memory and no room under a limit; Sleep may be
// called again. For that the bytes exist twice during the call: in the pages and in the
// copy. There are two exceptions, in which Sleep continues to its end: the device fails
// to unmap pages and then fails to map again those that were unmapped; or it fails to
// unmap private pages that are discarded, whose contents nothing could restore. Then
// everything is asleep, and pages that could not be unmapped are not released
// (SleepReport.Bytes).
//
// Errors: CodeInvalidState if the tag is already asleep; CodeNotFound for a tag that no
// allocation has; CodeInvalidArgument; CodeBusy on a thread that may not wait and would
// have to; CodeTimeout and CodeCancelled for ctx; CodeResourceExhausted when host
// memory, the disk or the process's limit on file sizes is used up; CodeIO for other
// failures of the file; CodePermissionDenied; those of the device.
func (p *Pool) Sleep(ctx context.Context, r SleepRequest) (SleepReport, error) {
	return p.space.sleep(ctx, r)
}

// Wake allocates pages for the sleeping allocations of one tag or of all, maps them at
// the same addresses and copies the bytes back. It allocates all pages as Alloc does,
// before it copies the first byte, and frees the copies when all bytes are back. Until
// the call returns, the ranges cannot be freed (CodeBusy).
//
// Wake is all or nothing. If it fails, or ctx ends, everything is asleep as before with
// its copy, and Wake may be called again. Pages that the device then fails to unmap
// stay counted as used, until the next Wake uses them or the range is freed.
//
// Errors: CodeInvalidState if nothing of that tag is asleep; CodeOutOfPhysicalMemory
// and CodeOutOfMemory as for Alloc; CodeCorrupted, with the file and the chunk, when
// the bytes read are not the bytes written; CodeIO; CodeTimeout and CodeCancelled for
// ctx; CodeBusy on a thread that may not wait and would have to; those of the device.
func (p *Pool) Wake(ctx context.Context, r WakeRequest) (WakeReport, error) {
	return p.space.wake(ctx, r, p.space.supply)
}

// IsAsleep reports whether a tag is asleep; with "", whether the whole pool is,
// including later allocations.
func (p *Pool) IsAsleep(tag string) bool { return p.space.isAsleep(tag) }

// Sleep is Pool.Sleep for a model. Its pages go to the models that need them. The
// guarantee of the model does not change: its unused part stays reserved for the model.
func (m *Model) Sleep(ctx context.Context, r SleepRequest) (SleepReport, error) {
	report, err := m.space.sleep(ctx, r)
	return report, m.goneInsteadOf("sleep", err)
}

// Wake is Pool.Wake for a model. It gets its pages like Alloc: within the limits, with
// a wait in the queue, the reclaim callbacks of other models and the reclaim path of
// the engine. ctx ends the wait.
func (m *Model) Wake(ctx context.Context, r WakeRequest) (WakeReport, error) {
	report, err := m.space.wake(ctx, r, m.admitWaking)
	return report, m.goneInsteadOf("wake", err)
}

// IsAsleep is Pool.IsAsleep for a model.
func (m *Model) IsAsleep(tag string) bool { return m.space.isAsleep(tag) }

// Sleep calls Model.Sleep of the model with that id.
func (s *Elastic) Sleep(ctx context.Context, id string, r SleepRequest) (SleepReport, error) {
	m, err := s.find("sleep", id)
	if err != nil {
		return SleepReport{}, err
	}
	return m.Sleep(ctx, r)
}

// Wake calls Model.Wake of the model with that id.
func (s *Elastic) Wake(ctx context.Context, id string, r WakeRequest) (WakeReport, error) {
	m, err := s.find("wake", id)
	if err != nil {
		return WakeReport{}, err
	}
	return m.Wake(ctx, r)
}

func (m *Model) goneInsteadOf(op string, err error) error {
	if err == nil {
		return nil
	}
	m.shared.mu.Lock()
	defer m.shared.mu.Unlock()
	return m.goneInstead(op, err)
}

// admitWaking gets the pages of a waking model within the limits.
func (m *Model) admitWaking(ctx context.Context, w *wakeCall) error {
	s := m.shared
	o := &admission{
		placing: placing{op: "wake", targets: only(extent.Span{Size: w.Pages() * m.space.table.extent.PageBytes})}, model: m, pages: w.Pages(),
		done: ctx.Done(), noWait: w.NoWait, serve: func() (extent.Span, error) { return extent.Span{}, m.space.supply(ctx, w) },
	}
	err := s.admit(o)
	if err == nil {
		if _, err = s.place(o); err != nil {
			s.discharge(m, o.pages)
		}
	}
	if err != nil && ctx.Err() != nil {
		return sleep.Ended(ctx, &m.space.table.extent, "wake")
	}
	return err
}
