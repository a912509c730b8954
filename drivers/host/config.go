package host

import (
	"strconv"
	"strings"

	"ferrum_mem/core/device"
)

// The environment variables that replace fields of Config that are 0.
const (
	EnvMemory  = "FERRUM_HOST_MEMORY"
	EnvDevices = "FERRUM_HOST_DEVICES"
)

// MaxDevices is the maximum number of host devices.
const MaxDevices = 64

// Config configures the backend. A field that is not 0 takes precedence over its
// environment variable, which is then not read.
type Config struct {
	// Devices is the number of devices, 1 to MaxDevices. 0: FERRUM_HOST_DEVICES, or 1 if
	// that is not set.
	Devices int
	// MemoryBytes is the capacity of all devices together. 0: FERRUM_HOST_MEMORY or, if
	// that is not set, the memory that the process may use.
	MemoryBytes uint64
	// MemoryForced accepts a MemoryBytes above the memory of the machine. The driver then
	// relies on it, whatever the system reports as free. It does not apply to the
	// environment variable, where a "!" after the size has the same meaning.
	MemoryForced bool
	// Getenv reads the environment. nil: os.Getenv, which in a library returns the values
	// from the start of the process.
	Getenv func(name string) string
}

// settings is a Config in which every field has its final value.
type settings struct {
	devices int
	// memoryBytes of 0 means that no size was configured.
	memoryBytes uint64
	// memoryFrom names the source for messages: the field or the variable.
	memoryFrom string
	forced     bool
}

// resolve fills the fields of c that are 0 from the environment.
func (c Config) resolve(getenv func(string) string) (settings, error) {
	var s settings
	var err error
	if s.devices, err = c.deviceCount(getenv); err != nil {
		return settings{}, err
	}
	if c.MemoryBytes != 0 {
		s.memoryBytes, s.forced = c.MemoryBytes, c.MemoryForced
		s.memoryFrom = "host_memory_bytes " + strconv.FormatUint(c.MemoryBytes, 10)
		return s, nil
	}
	text := getenv(EnvMemory)
	if text == "" {
		return s, nil
	}
	size, forced := strings.CutSuffix(strings.TrimSpace(text), "!")
	if s.memoryBytes, err = ParseSize(size); err != nil {
		return settings{}, device.Errorf(device.CodeInvalidConfig, "host.new", "%s=%q: %w", EnvMemory, text, err)
	}
	if s.memoryBytes == 0 {
		return settings{}, device.Errorf(device.CodeInvalidConfig, "host.new", "%s=%q: must not be 0", EnvMemory, text)
	}
	s.forced = forced
	s.memoryFrom = EnvMemory + "=" + strconv.Quote(text)
	return s, nil
}

func (c Config) deviceCount(getenv func(string) string) (int, error) {
	if c.Devices != 0 {
		if c.Devices < 1 || c.Devices > MaxDevices {
			return 0, device.Errorf(device.CodeInvalidConfig, "host.new",
				"host_devices %d: want 1 to %d", c.Devices, MaxDevices)
		}
		return c.Devices, nil
	}
	text := getenv(EnvDevices)
	if text == "" {
		return 1, nil
	}
	count, err := strconv.ParseUint(strings.TrimSpace(text), 10, 16)
	if err != nil || count < 1 || count > MaxDevices {
		return 0, device.Errorf(device.CodeInvalidConfig, "host.new",
			"%s=%q: want a number from 1 to %d", EnvDevices, text, MaxDevices)
	}
	return int(count), nil
}

// checkAgainst returns an error for a configured capacity above the memory of the machine.
// memTotal of 0 means unknown.
func (s settings) checkAgainst(memTotal uint64) error {
	if memTotal == 0 || s.forced || s.memoryBytes <= memTotal {
		return nil
	}
	return device.Errorf(device.CodeInvalidConfig, "host.new",
		"%s: above the %v of this machine; to use this size anyway, set FERRUM_CONFIG_HOST_MEMORY_FORCED, or end the value of %s with \"!\"",
		s.memoryFrom, device.Size(memTotal), EnvMemory)
}

// capacityText names the source of a capacity.
func (s settings) capacityText(capacity uint64) string {
	if s.memoryFrom != "" {
		return s.memoryFrom
	}
	return "a capacity of " + strconv.FormatUint(capacity, 10) + " bytes"
}
