package engines

import (
	"ferrum_mem/core/backend"
	"ferrum_mem/engines/cpu"
	"ferrum_mem/engines/cpu/operations"
	"ferrum_mem/engines/ort"
)

// List returns one item for each engine, in the order of their types.
func List() []backend.Engine {
	return []backend.Engine{
		{Type: backend.CPU, DeviceBackends: []string{"cpu"}, New: operations.New, Variables: []string{cpu.EnvInstructions}},
		{Type: backend.ONNXRuntime, DeviceBackends: []string{"cpu", "cuda"}, NewGraphs: ort.New, Variables: []string{ort.EnvLibrary}},
	}
}
