package sleep

import "ferrum_mem/core/device"

// NewKeepers returns keepers that use page-locked memory of a device, memory outside the
// Go heap, and files in a directory.
func NewKeepers(dev device.Device) Keepers {
	return Keepers{
		TakeBlock: takeBlock, TakePinned: pinnedOf(dev), OpenFile: openFile,
		ChunkBytes: defaultChunkBytes, PinnedBytes: defaultPinnedBytes, BufferBytes: defaultBufferBytes,
		LateBytes: defaultLateBytes,
	}
}

// MostBytes returns how long a chunk may be; toMemory: in host memory.
func (k *Keepers) MostBytes(toMemory bool) uint64 {
	if toMemory && k.TakePinned != nil {
		return k.PinnedBytes
	}
	return k.ChunkBytes
}
