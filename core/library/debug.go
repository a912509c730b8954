package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/memcheck"
)

// debugEnvironment reads FERRUM_DEBUG; 0: pools check what their settings say.
func debugEnvironment(getenv func(string) string) (memcheck.Flags, error) {
	const variable = "FERRUM_DEBUG"
	value := getenv(variable)
	if value == "" {
		return 0, nil
	}
	flags, err := memcheck.Parse(value)
	if err != nil {
		return 0, device.Errorf(device.CodeInvalidConfig, "library.init", "%s=%q: %w", variable, value, err)
	}
	return flags, nil
}

// PoolCheck looks at every block of a pool that debugs: CodeCorrupted for the
// first damage.
func (l *Library) PoolCheck(id uint64) error {
	return do(l, l.pools, "pool.check", id, func(p *openPool) error { return p.pool.CheckBlocks() })
}
