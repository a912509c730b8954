package device

// MemoryReader is the capability of a Driver to read the memory of a device that is
// not open. An index that is not there is CodeDeviceNotFound.
type MemoryReader interface {
	ReadMemory(index int) (MemoryReading, error)
}
