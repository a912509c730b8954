package backend

import (
	"fmt"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/similar"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pool"
)

const (
	// MaxOptimizationLevel is the largest Config.OptimizationLevel.
	MaxOptimizationLevel = 3
	// MaxThreads is the largest Config.Threads.
	MaxThreads = 1024
)

// Config has the settings of a backend.
type Config struct {
	Type Type `json:"backend_type"`
	// Name is the name of a registered backend, for the type Custom only.
	Name string `json:"name,omitempty"`
	// Device is the id of the device, such as "cpu:0"; "": that of the engine given to Open.
	Device string `json:"device"`
	// OptimizationLevel is 0 to 3. At 0 each run of an operation infers and plans anew; from 1 on
	// both are kept by shapes. The engine gets the level too; that of the CPU does not use it.
	OptimizationLevel int `json:"optimization_level"`
	// Threads is the number of threads that compute; 0: as many as the process may use.
	Threads int `json:"threads"`
	// EnableDebug fills new and freed memory with patterns, and checks the bytes around blocks.
	EnableDebug bool         `json:"enable_debug"`
	Memory      MemoryConfig `json:"memory_config"`
	Options     Options      `json:"backend_options"`
}

// DefaultConfig returns the default settings: the CPU, level 2, and memory on demand.
func DefaultConfig() Config {
	return Config{Type: CPU, Device: "cpu:0", OptimizationLevel: 2, Memory: DefaultMemoryConfig(), Options: DefaultOptions()}
}

// Growth states when the memory of a backend is taken from the device.
type Growth int32

// The strategies of the C ABI.
const (
	// Static takes the whole pool when the backend opens. The pool does not grow.
	Static Growth = 0
	// Dynamic takes memory when an allocation needs it, and returns it when it is idle.
	Dynamic Growth = 1
	// Incremental takes a quarter of the pool when the backend opens, and further quarters when
	// an allocation needs them.
	Incremental Growth = 2
)

var growthNames = []string{"static", "dynamic", "incremental"}

// String returns the name of the strategy.
func (g Growth) String() string {
	if g < 0 || int(g) >= len(growthNames) {
		return fmt.Sprintf("unknown (%d)", int32(g))
	}
	return growthNames[g]
}

// MarshalText returns String for a known strategy.
func (g Growth) MarshalText() ([]byte, error) {
	if g < 0 || int(g) >= len(growthNames) {
		return nil, wrongField("growth_strategy", "%d is not from 0 to %d", int32(g), len(growthNames)-1)
	}
	return []byte(g.String()), nil
}

// UnmarshalText parses the result of MarshalText.
func (g *Growth) UnmarshalText(text []byte) error {
	for i, name := range growthNames {
		if name == string(text) {
			*g = Growth(i)
			return nil
		}
	}
	return wrongField("growth_strategy", "%s is not known; the nearest is %q", shortened(string(text)), similar.Names(string(text), growthNames, 1)[0])
}

// MemoryConfig has the settings of a backend's memory.
type MemoryConfig struct {
	// PoolSizeBytes is the most that the backend holds; 0: for Dynamic no bound, for the others
	// 1 GiB, or a quarter of the device if that is less.
	PoolSizeBytes uint64 `json:"pool_size"`
	// AlignmentBytes is a power of two up to 1 GiB; 0: 256 bytes.
	AlignmentBytes uint64 `json:"alignment"`
	// EnablePooling keeps freed memory for the next allocation. Otherwise it is returned to the
	// device at once, which Static and Incremental do not allow.
	EnablePooling bool   `json:"enable_pooling"`
	Growth        Growth `json:"growth_strategy"`
}

// DefaultMemoryConfig returns the default settings: a pool on demand without a bound.
func DefaultMemoryConfig() MemoryConfig {
	return MemoryConfig{AlignmentBytes: 256, EnablePooling: true, Growth: Dynamic}
}

// Validate checks the settings. Errors: CodeInvalidConfig, which names the field;
// CodeUnsupported for a type that this build lacks; CodeInvalidArgument for an unknown type or a
// malformed device.
func (c Config) Validate() error {
	if err := c.Type.Availability(); err != nil {
		return err
	}
	switch {
	case c.Type == Custom && c.Name == "":
		return wrongField("name", "a backend of type custom is opened by the name under which it is registered")
	case c.Type != Custom && c.Name != "" && c.Name != c.Type.String():
		return wrongField("name", "%s: only backends of type custom have a name", shortened(c.Name))
	case c.OptimizationLevel < 0 || c.OptimizationLevel > MaxOptimizationLevel:
		return wrongField("optimization_level", "%d is not from 0 to %d", c.OptimizationLevel, MaxOptimizationLevel)
	case c.Threads < 0 || c.Threads > MaxThreads:
		return wrongField("threads", "%d is not from 0 to %d", c.Threads, MaxThreads)
	}
	if c.Device != "" {
		if _, err := device.ParseID(c.Device); err != nil {
			return err
		}
	}
	if err := c.Options.validate(); err != nil {
		return err
	}
	if c.Options.Prepacking && c.Type != ONNXRuntime {
		return wrongField("backend_options.prepacking", "backends of type %s have no such option: it is for %s", c.Type, ONNXRuntime)
	}
	if c.Options.TF32 && c.Type != ONNXRuntime {
		return wrongField("backend_options.tf32", "backends of type %s have no such option: it is for %s", c.Type, ONNXRuntime)
	}
	return c.Memory.validate()
}

func (m MemoryConfig) validate() error {
	switch {
	case m.Growth < 0 || int(m.Growth) >= len(growthNames):
		return wrongField("memory_config.growth_strategy", "%d is not from 0 to %d", int32(m.Growth), len(growthNames)-1)
	case m.AlignmentBytes&(m.AlignmentBytes-1) != 0 || m.AlignmentBytes > pool.MaxAlignmentBytes:
		return wrongField("memory_config.alignment", "%d is not a power of two from 1 to %d", m.AlignmentBytes, pool.MaxAlignmentBytes)
	case !m.EnablePooling && m.Growth != Dynamic:
		return wrongField("memory_config.enable_pooling", "false: memory of the strategy %s is kept", m.Growth)
	case m.PoolSizeBytes != 0 && m.PoolSizeBytes < leastPoolBytes:
		return wrongField("memory_config.pool_size", "%v is less than %v", device.Size(m.PoolSizeBytes), device.Size(leastPoolBytes))
	}
	return nil
}

const (
	// leastPoolBytes is the smallest bound of a pool.
	leastPoolBytes = 64 << 10
	// automaticBytes is the size of a pool with a fixed size that is not given.
	automaticBytes = 1 << 30
	// dynamicStepBytes is what a pool on demand adds at a time at least.
	dynamicStepBytes = 2 << 20
	// workspaceAlignmentBytes is the alignment that engines need.
	workspaceAlignmentBytes = 64
)

// memoryPlan is how the settings of the memory are carried out.
type memoryPlan struct {
	manager manager.Config
	// limitBytes is set after the opening; 0: no further limit.
	limitBytes uint64
}

// plan returns the settings of the manager on a device with that capacity; 0: unknown.
func (c Config) plan(capacityBytes uint64) memoryPlan {
	m := c.Memory
	settings := pool.DefaultConfig()
	settings.Name = "compute"
	settings.ThreadCacheBytes = 0
	if m.AlignmentBytes != 0 {
		settings.AlignmentBytes = m.AlignmentBytes
	}
	size := m.PoolSizeBytes
	if size == 0 && m.Growth != Dynamic {
		size = automaticBytes
		if capacityBytes != 0 {
			size = min(size, max(capacityBytes/4, leastPoolBytes))
		}
	}
	plan := memoryPlan{}
	switch m.Growth {
	case Static:
		settings.InitialSizeBytes, settings.MaxSizeBytes, settings.GrowthIncrementBytes = size, size, size
		settings.PreAlloc, settings.AutoExpansion = true, false
	case Dynamic:
		step := uint64(dynamicStepBytes)
		if size != 0 {
			step = min(step, size)
		}
		settings.InitialSizeBytes, settings.MaxSizeBytes, settings.GrowthIncrementBytes = step, size, step
	case Incremental:
		step := max(size/4, leastPoolBytes)
		settings.InitialSizeBytes, settings.GrowthIncrementBytes = step, step
		settings.PreAlloc, settings.Paging, settings.MinHeldBytes = true, pool.PagingOff, step
		plan.limitBytes = size
	}
	if !m.EnablePooling {
		settings.ReleaseThresholdBytes, settings.ReadyPages = 0, -1
	}
	if c.EnableDebug {
		settings.Debug = pool.DebugRedZones | pool.DebugPoison
	}
	plan.manager = manager.DefaultConfig()
	plan.manager.EnableDebug = c.EnableDebug
	plan.manager.EnableAutoGC = false
	plan.manager.PoolConfigs = map[manager.MemoryType]pool.Config{manager.General: settings}
	return plan
}

// engine returns the options of the engine.
func (c Config) engine() compute.Options {
	return compute.Options{Threads: c.Threads, InstructionSet: c.Options.InstructionSet, Level: c.OptimizationLevel, Prepacking: c.Options.Prepacking, ReducedPrecision: c.Options.TF32}
}
