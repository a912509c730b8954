package vmm

import (
	"context"

	"ferrum_mem/core/vmm/extent"
	"ferrum_mem/core/vmm/sleep"
)

// Sleep and wake. Allocations that sleep keep their addresses, their place in the
// page table and their tags, and give up their physical memory: what it held is
// copied to host memory or a file, or is discarded. To wake is to get physical
// memory like any allocation, at the same addresses, and to copy the bytes back.

// Sleep copies what the allocations of a tag, or all, hold to other memory, and gives
// their pages back when all of it is copied: to the device, or to the stock where it is
// discarded. The addresses stay. What was asleep before stays as it is. Until the end
// allocations of that tag (or any, for all) are refused, or wait if they ask for it, and
// the ranges that it puts to sleep cannot be freed (CodeBusy).
//
// It waits for queued work as the request says, for allocations under way, and for
// another Sleep or Wake of this pool, as long as ctx allows: until the last byte is
// copied. It is all or nothing: whatever fails, and when ctx ends, every page is where it
// was with the bytes that it had, and no memory, limit or model had to allow that; Sleep
// may be called again. For that the bytes are there twice for the length of the call, in
// the pages and in what is kept. Where the device refuses to unmap pages, and then to map
// again those that it has unmapped, the Sleep goes on to its end: everything sleeps, and
// what could not be unmapped is not given up (SleepReport.Bytes). So it does when
// private pages are discarded, which nothing could bring back.
//
// Errors: CodeInvalidState if the tag sleeps already, CodeNotFound for a tag that no
// allocation has, CodeInvalidArgument, CodeBusy on a thread that may not wait and would
// have to, CodeTimeout and CodeCancelled for ctx, CodeResourceExhausted when host memory,
// the disk or the process's bound on the size of files is used up, CodeIO for other
// failures of the file, CodePermissionDenied, those of the device.
func (p *Pool) Sleep(ctx context.Context, r SleepRequest) (SleepReport, error) {
	return p.space.sleep(ctx, r)
}

// Wake gets pages for what sleeps, of one tag or all, maps them at the same
// addresses and copies the bytes back. Pages are had as for Alloc, all before the
// first byte is copied; what was kept goes when all bytes are back. Until the end the
// ranges cannot be freed (CodeBusy). It is all or nothing: whatever fails, and when ctx
// ends, all of it is asleep as before with what is kept of it, and Wake may be called
// again. (Pages that the device then refuses to unmap stay counted as used, until the
// next Wake takes them or the range is freed.) Errors: CodeInvalidState if nothing of
// that tag sleeps, CodeOutOfPhysicalMemory and CodeOutOfMemory as for Alloc,
// CodeCorrupted naming the file and the chunk when what is read back is not what was
// written, CodeIO, CodeTimeout and CodeCancelled for ctx, CodeBusy on a thread that may
// not wait and would have to, those of the device.
func (p *Pool) Wake(ctx context.Context, r WakeRequest) (WakeReport, error) {
	return p.space.wake(ctx, r, p.space.supply)
}

// IsAsleep says whether a tag, or everything ("": also what may come), sleeps.
func (p *Pool) IsAsleep(tag string) bool { return p.space.isAsleep(tag) }

// Sleep is Pool.Sleep for a model: its pages go to whoever needs them, which the
// model's guarantee does not change: what it kept free for the model still is.
func (m *Model) Sleep(ctx context.Context, r SleepRequest) (SleepReport, error) {
	report, err := m.space.sleep(ctx, r)
	return report, m.goneInsteadOf("sleep", err)
}

// Wake is Pool.Wake for a model. Its pages come as for Alloc: within the
// limits, with a wait in line, reclaim callbacks of others and the search for room of
// the engine; ctx ends the wait.
func (m *Model) Wake(ctx context.Context, r WakeRequest) (WakeReport, error) {
	report, err := m.space.wake(ctx, r, m.admitWaking)
	return report, m.goneInsteadOf("wake", err)
}

// IsAsleep is Pool.IsAsleep for a model.
func (m *Model) IsAsleep(tag string) bool { return m.space.isAsleep(tag) }

// Sleep is Model.Sleep of the model with that id.
func (s *Elastic) Sleep(ctx context.Context, id string, r SleepRequest) (SleepReport, error) {
	m, err := s.find("sleep", id)
	if err != nil {
		return SleepReport{}, err
	}
	return m.Sleep(ctx, r)
}

// Wake is Model.Wake of the model with that id.
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

// admitWaking gets the pages of a waking model, within the limits.
func (m *Model) admitWaking(ctx context.Context, w *waking) error {
	s := m.shared
	o := &order{
		placing: placing{op: "wake", at: extent.Span{Size: w.Pages() * m.space.table.extent.PageBytes}}, model: m, pages: w.Pages(),
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
