package vmm

import (
	"math/bits"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
)

const (
	// MinPageBytes is the smallest page of a pool.
	MinPageBytes = 64 << 10
	// MaxNameBytes bounds the name of a pool and a tag.
	MaxNameBytes = 63
	// DefaultReadyPages is the number of ready pages that a setting of 0 means.
	DefaultReadyPages = 8
	// maxPages bounds the address space of a pool: its tables count pages in 32
	// bits.
	maxPages = uint64(1) << 31
)

// PhysicalConfig has the settings of a Physical.
type PhysicalConfig struct {
	// Name is the name in reports.
	Name string
	// PageBytes is a power of two, at least MinPageBytes, and a multiple of the
	// device's granularity. 0 selects the size that the device recommends.
	PageBytes uint64
	// LimitBytes bounds the memory that is allocated from the device; 0 means the
	// device's capacity.
	LimitBytes uint64
	// ReadyPages is the number of pages that the worker keeps ready. 0 means
	// DefaultReadyPages, a negative number means none.
	ReadyPages int
	Backing    device.Backing
}

// Config has the settings of a virtual pool.
type Config struct {
	// Name is the pool's name in reports, and the tag of allocations without a tag.
	Name string
	// CapacityBytes is the size of the address space. It is rounded up to whole pages.
	CapacityBytes uint64
	// PageBytes, LimitBytes, ReadyPages and Backing are as in PhysicalConfig.
	PageBytes  uint64
	LimitBytes uint64
	ReadyPages int
	// Unscrubbed allows pages to pass to another unscrubbed owner without being zeroed.
	// A virtual pool with pages of its own has no other owners.
	Unscrubbed bool
	Backing    device.Backing
}

func (c Config) physical() PhysicalConfig {
	return PhysicalConfig{
		Name: c.Name, PageBytes: c.PageBytes, LimitBytes: c.LimitBytes, ReadyPages: c.ReadyPages, Backing: c.Backing,
	}
}

// readyPages returns the number of pages that the setting means.
func (c PhysicalConfig) readyPages() uint64 {
	switch {
	case c.ReadyPages == 0:
		return DefaultReadyPages
	case c.ReadyPages < 0:
		return 0
	}
	return uint64(c.ReadyPages)
}

// check fills in the page size and returns an error for invalid settings.
func (c *PhysicalConfig) check(op string, e *engine.Engine, granularity device.Granularity) error {
	if len(c.Name) > MaxNameBytes {
		return device.Errorf(device.CodeInvalidConfig, op, "name %q has %v, at most %d are allowed",
			c.Name, device.Size(len(c.Name)), MaxNameBytes).On(e.ID())
	}
	if c.Backing < device.BackingMovable || c.Backing > device.BackingFabric {
		return device.Errorf(device.CodeInvalidConfig, op, "backing %d is not known", c.Backing).On(e.ID())
	}
	if c.Backing == device.BackingShareable && !e.Info().Exporter {
		return device.Errorf(device.CodeUnsupported, op, "backing %d: the device has no pages for other processes",
			c.Backing).On(e.ID())
	}
	if c.Backing == device.BackingRDMA && !e.Info().RDMAPages {
		return device.Errorf(device.CodeUnsupported, op,
			"backing %d: the device has no pages that devices of other vendors can read and write (GPUDirect RDMA for virtual memory)",
			c.Backing).On(e.ID())
	}
	if c.Backing == device.BackingFabric && !e.Info().FabricExporter {
		return device.Errorf(device.CodeUnsupported, op,
			"backing %d: the device has no pages for processes of other hosts (fabric handles)", c.Backing).On(e.ID())
	}
	if c.PageBytes == 0 {
		c.PageBytes = max(granularity.RecommendedBytes, MinPageBytes)
	}
	least := max(granularity.MinimumBytes, MinPageBytes)
	if bits.OnesCount64(c.PageBytes) != 1 || c.PageBytes < least {
		return device.Errorf(device.CodeInvalidPageSize, op,
			"page_bytes %d is not a power of two of at least %d (the device's granularity is %d)",
			c.PageBytes, least, granularity.MinimumBytes).On(e.ID()).Stating(device.FactPageBytes, c.PageBytes)
	}
	return checkLimit(op, e, c.LimitBytes)
}

// checkLimit rejects a limit above the memory of the device.
func checkLimit(op string, e *engine.Engine, limit uint64) error {
	if total := e.Info().TotalBytes; total != 0 && limit > total {
		return device.Errorf(device.CodeOutOfPhysicalMemory, op,
			"limit_bytes: requested %v, available %v: that is all the device has", device.Size(limit), device.Size(total)).On(e.ID()).
			Stating(device.FactRequestedBytes, limit).Stating(device.FactAvailableBytes, total)
	}
	return nil
}

// virtualOf returns the virtual memory capability of an engine's device.
func virtualOf(op string, e *engine.Engine) (device.VirtualMemory, error) {
	virtual, err := e.VirtualMemory()
	if err != nil {
		return nil, device.Errorf(device.CodeUnsupportedDevice, op, "the device %q has no virtual memory", e.Info().Name).On(e.ID())
	}
	return virtual, nil
}

// capacityPages rounds a capacity up to whole pages.
func capacityPages(op string, e *engine.Engine, capacity, pageBytes uint64) (uint64, error) {
	if capacity == 0 {
		return 0, device.Errorf(device.CodeInvalidSize, op, "capacity_bytes is 0").On(e.ID())
	}
	sum, carry := bits.Add64(capacity, pageBytes-1, 0)
	if carry != 0 {
		return 0, device.Errorf(device.CodeInvalidSize, op,
			"capacity_bytes %d cannot be rounded up to a multiple of the page size %d", capacity, pageBytes).On(e.ID())
	}
	pages := sum / pageBytes
	if pages > maxPages {
		return 0, device.Errorf(device.CodeOutOfVirtualMemory, op,
			"capacity_bytes %d is %s of %v, at most %d are possible", capacity, device.Count(pages, "page"), device.Size(pageBytes), maxPages).On(e.ID()).
			Stating(device.FactRequestedBytes, capacity).Stating(device.FactCapacityBytes, maxPages*pageBytes)
	}
	return pages, nil
}
