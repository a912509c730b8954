//go:build unix && !linux

package host

// systemVirtualMapper is nil: memory that lies nowhere yet needs files of
// memory with holes that can be punched, which only Linux has.
func systemVirtualMapper() *virtualMapper { return nil }
