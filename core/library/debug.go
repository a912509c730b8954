package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/memcheck"
)

// debugEnvironment reads FERRUM_DEBUG. 0 means that pools check what their own settings
// state.
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
