package manager

import "ferrum_mem/core/engine"

// SupportedOn reports whether a manager of the device provides memory of the type.
func (t MemoryType) SupportedOn(e *engine.Engine) bool {
	return t.check("manager.memory_type", e) == nil
}
