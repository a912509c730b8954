package device

// MemoryReader is the capability of a Driver to read the memory numbers of a device
// that is not open. It returns CodeDeviceNotFound for an index without a device.
type MemoryReader interface {
	ReadMemory(index int) (MemoryReading, error)
}
