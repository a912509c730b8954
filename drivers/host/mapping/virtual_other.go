//go:build unix && !linux

package mapping

// SystemVirtual is nil: memory that lies nowhere yet needs files of
// memory with holes that can be punched, which only Linux has.
func SystemVirtual() *VirtualCalls { return nil }
