//go:build unix && !linux

package mapping

// SystemVirtual returns nil: memory that is mapped nowhere needs memory files whose parts
// can be released, which only Linux has.
func SystemVirtual() *VirtualCalls { return nil }
