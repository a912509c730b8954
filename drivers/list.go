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

// Settings are what the drivers of a process are made with.
type Settings struct {
	// Host is the settings of the host's driver, but for Getenv.
	Host host.Config
	// Getenv reads the environment for all of them; nil: the process's as Go has it.
	Getenv func(string) string
}

// backend is a backend that the product has a name for.
type backend struct {
	// driver makes what opens devices; nil: the backend is only looked for.
	driver func(Settings) (device.Driver, error)
	// surveyor looks for devices without opening them; nil: the driver is asked, for it
	// needs no vendor's library.
	surveyor device.Surveyor
	// environment lists the variables that they read.
	environment []string
}

// list has a line for each backend, in the order of the FERRUM_BACKEND_ constants.
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

// New makes all drivers. Errors: those of the settings.
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

// Surveyors are those of all vendors.
func Surveyors() []device.Surveyor {
	var all []device.Surveyor
	for _, b := range list() {
		if b.surveyor != nil {
			all = append(all, b.surveyor)
		}
	}
	return all
}

// Environment lists the variables of the environment that drivers and surveyors read.
func Environment() []string {
	var names []string
	for _, b := range list() {
		names = append(names, b.environment...)
	}
	return names
}
