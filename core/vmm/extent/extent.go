package extent

import (
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm/pageset"
)

// Extent is a part of address space in pages. It never changes while it is in use, so
// any thread may call its methods.
type Extent struct {
	// Kind is the prefix of operation names in errors. Name names the space in errors.
	Kind, Name string
	// OfModel states that Name is the id of a model.
	OfModel   bool
	Device    device.ID
	Base      device.Addr
	PageBytes uint64
	Pages     uint64
}

// Span is a range of bytes; Offset counts from the base.
type Span struct{ Offset, Size uint64 }

// Op returns the name of an operation for errors.
func (e *Extent) Op(name string) string { return e.Kind + "." + name }

// Title names the space in messages.
func (e *Extent) Title() string {
	if e.OfModel {
		return fmt.Sprintf("model %q", e.Name)
	}
	return fmt.Sprintf("virtual pool %q", e.Name)
}

// Bytes returns the size of the address space.
func (e *Extent) Bytes() uint64 { return e.Pages * e.PageBytes }

// Addr returns the address of a page.
func (e *Extent) Addr(page uint64) device.Addr { return e.Base + device.Addr(page*e.PageBytes) }

// Fault returns an error of an operation.
func (e *Extent) Fault(code device.Code, op, format string, args ...any) *device.Error {
	fault := device.Errorf(code, e.Op(op), format, args...).On(e.Device)
	if e.OfModel {
		fault.OfModel(e.Name)
	}
	return fault
}

// Closed returns the error of an operation on a closed space.
func (e *Extent) Closed(op string) error {
	return e.Fault(device.CodeInvalidState, op, "%s is closed", e.Title())
}

// BadRange returns the error for an invalid range.
func (e *Extent) BadRange(op string, b Span, format string, args ...any) *device.Error {
	return e.Fault(device.CodeInvalidOffset, op, format, args...).Stating(device.FactOffsetBytes, b.Offset).
		Stating(device.FactSizeBytes, b.Size).Stating(device.FactCapacityBytes, e.Bytes())
}

// BadPage returns the error for a page that is mapped, or is not mapped.
func (e *Extent) BadPage(code device.Code, op string, page uint64, b Span) *device.Error {
	what := "is mapped already"
	if code == device.CodeNotMapped {
		what = "is not mapped"
	}
	return e.Fault(code, op, "page at offset %d, page size %d, %s (offset %d, size %d)",
		page*e.PageBytes, e.PageBytes, what, b.Offset, b.Size).Stating(device.FactOffsetBytes, page*e.PageBytes).
		Stating(device.FactSizeBytes, e.PageBytes).Stating(device.FactPageBytes, e.PageBytes)
}

// RunOf returns the pages that a range touches.
func (e *Extent) RunOf(op string, b Span) (pageset.Run, error) {
	if b.Size == 0 {
		return pageset.Run{}, e.Fault(device.CodeInvalidSize, op, "size 0 at offset %d", b.Offset).
			Stating(device.FactOffsetBytes, b.Offset).Stating(device.FactSizeBytes, 0)
	}
	if capacity := e.Bytes(); b.Offset > capacity || b.Size > capacity-b.Offset {
		return pageset.Run{}, e.BadRange(op, b, "offset %d, size %d, capacity %d: the range ends outside",
			b.Offset, b.Size, capacity)
	}
	first, last := b.Offset/e.PageBytes, (b.Offset+b.Size-1)/e.PageBytes
	return pageset.Run{Start: first, Pages: last - first + 1}, nil
}

// PagesFor returns how many pages a size takes from the start of a page.
func (e *Extent) PagesFor(op string, size uint64) (uint64, error) {
	if size == 0 {
		return 0, e.Fault(device.CodeInvalidSize, op, "size is 0")
	}
	pages := size / e.PageBytes
	if size%e.PageBytes != 0 {
		pages++
	}
	if pages > e.Pages {
		return 0, e.Fault(device.CodeOutOfVirtualMemory, op, "size %d: the capacity is %d", size, e.Bytes()).
			Stating(device.FactRequestedBytes, size).Stating(device.FactCapacityBytes, e.Bytes())
	}
	return pages, nil
}
