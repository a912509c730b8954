package engines

import (
	"ferrum_mem/core/backend"
	"ferrum_mem/engines/cpu/operations"
)

// List returns one item for each engine, in the order of their types.
func List() []backend.Engine {
	return []backend.Engine{
		{Type: backend.CPU, DeviceBackend: "cpu", New: operations.New},
	}
}
