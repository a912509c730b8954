package drivers

import (
	"ferrum_mem/core/device"
	"ferrum_mem/drivers/cuda"
	"ferrum_mem/drivers/cuda/cudaprobe"
	"ferrum_mem/drivers/host"
	"ferrum_mem/drivers/metal/metalprobe"
	"ferrum_mem/drivers/opencl/openclprobe"
	"ferrum_mem/drivers/rocm/rocmprobe"
)

// Settings configure the drivers of a process.
type Settings struct {
	// Host configures the driver of the host. Its Getenv is replaced by the one below.
	Host host.Config
	// Getenv reads the environment for all drivers. nil: the environment of the process, as
	// Go sees it.
	Getenv func(string) string
}

// backend is a backend that has a constant in the header.
type backend struct {
	// driver creates the driver. nil: the backend is only surveyed and cannot be opened.
	driver func(Settings) (device.Driver, error)
	// surveyor finds devices without opening them. nil: the driver finds its own devices,
	// because it needs no vendor library.
	surveyor device.Surveyor
	// environment lists the variables that the driver and the surveyor read.
	environment []string
}

// list returns one item for each backend, in the order of the FERRUM_BACKEND_ constants.
func list() []backend {
	return []backend{
		{onHost, nil, []string{host.EnvMemory, host.EnvDevices}},
		{onCUDA, cudaprobe.Prober{}, []string{cudaprobe.EnvLibrary, cudaprobe.EnvMeters}},
		{nil, rocmprobe.Prober{}, nil},
		{nil, metalprobe.Prober{}, nil},
		{nil, openclprobe.Prober{}, nil},
	}
}

func onHost(s Settings) (device.Driver, error) {
	c := s.Host
	c.Getenv = s.Getenv
	return host.New(c)
}

func onCUDA(s Settings) (device.Driver, error) {
	c := cuda.Config{}
	if s.Getenv != nil {
		c.Library = s.Getenv(cuda.EnvLibrary)
	}
	return cuda.New(c), nil
}

// New creates all drivers. Its errors are about the settings.
func New(s Settings) ([]device.Driver, error) {
	var made []device.Driver
	for _, b := range list() {
		if b.driver == nil {
			continue
		}
		driver, err := b.driver(s)
		if err != nil {
			return nil, err
		}
		made = append(made, driver)
	}
	return made, nil
}

// Surveyors returns the surveyors of all vendors.
func Surveyors() []device.Surveyor {
	var all []device.Surveyor
	for _, b := range list() {
		if b.surveyor != nil {
			all = append(all, b.surveyor)
		}
	}
	return all
}

// Environment lists the environment variables that drivers and surveyors read.
func Environment() []string {
	var names []string
	for _, b := range list() {
		names = append(names, b.environment...)
	}
	return names
}
