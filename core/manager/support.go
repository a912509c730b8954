package manager

import "ferrum_mem/core/engine"

// SupportedOn says whether a manager of the device has memory of the type.
func (t MemoryType) SupportedOn(e *engine.Engine) bool {
	return t.check("manager.memory_type", e) == nil
}
