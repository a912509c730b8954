package discover

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

func TestReadIsolation(t *testing.T) {
	read := func(env map[string]string) (Isolation, error) {
		return ReadIsolation(func(name string) string { return env[name] })
	}
	i, err := read(nil)
	require.NoError(t, err)
	require.Equal(t, Isolation{}, i)
	require.Equal(t, 10*time.Second, i.timeout())
	i, err = read(map[string]string{EnvProbe: " in_process ", EnvProbeHelper: "/x", EnvProbeTimeout: " 1.5s "})
	require.NoError(t, err)
	require.Equal(t, Isolation{Mode: ModeInProcess, Helper: "/x", Timeout: 1500 * time.Millisecond}, i)
	i, err = read(map[string]string{EnvProbe: "off"})
	require.NoError(t, err)
	require.Equal(t, ModeOff, i.Mode)
	for name, values := range map[string][]string{
		EnvProbe:        {"yes", "Child", "in-process"},
		EnvProbeTimeout: {"10", "0s", "-1s", "1us", "11m", "soon", "9999999999999h"},
	} {
		for _, value := range values {
			_, err = read(map[string]string{name: value})
			require.ErrorIs(t, err, device.CodeInvalidConfig, value)
			require.ErrorContains(t, err, name+`="`+value+`"`)
		}
	}
}

// surveyor returns the survey that the test chooses.
type surveyor struct {
	backend string
	survey  func() device.Survey
}

func (s surveyor) Backend() string       { return s.backend }
func (s surveyor) Survey() device.Survey { return s.survey() }

func inProcess(timeout time.Duration, survey func() device.Survey) *Registry {
	return NewRegistry(Config{
		Surveyors: []device.Surveyor{surveyor{"cuda", survey}}, Isolation: Isolation{Mode: ModeInProcess, Timeout: timeout},
	})
}

func TestInProcess(t *testing.T) {
	found := inProcess(time.Minute, func() device.Survey {
		return device.Survey{Devices: []device.Surveyed{{Name: "here", TotalBytes: 1}}}
	}).Discover().Backends[0]
	require.True(t, found.Available)
	require.Equal(t, "here", found.Devices[0].Name)

	found = inProcess(time.Minute, func() device.Survey { return device.Survey{} }).Discover().Backends[0]
	require.ErrorContains(t, found.Err, "neither devices nor a reason")
	require.Equal(t, device.AbsenceDriverError, found.Absence)
}

// A library that hangs delays one query. Later queries skip the library until its call has
// returned.
func TestInProcessHang(t *testing.T) {
	release := make(chan struct{})
	asked := make(chan struct{}, 10)
	r := inProcess(5*time.Millisecond, func() device.Survey {
		asked <- struct{}{}
		<-release
		return device.Absent(device.AbsenceNoDevice, 0, "none")
	})
	require.Equal(t, device.AbsenceTimedOut, r.Refresh().Backends[0].Absence)
	again := r.Refresh().Backends[0]
	require.Equal(t, device.AbsenceTimedOut, again.Absence)
	require.ErrorContains(t, again.Err, "has not returned")
	require.Len(t, asked, 1)
	close(release)
	<-r.hanging["cuda"]
	r.isolation.Timeout = time.Minute
	require.Equal(t, device.AbsenceNoDevice, r.Refresh().Backends[0].Absence)
	require.Len(t, asked, 2)
}

func TestInProcessPanic(t *testing.T) {
	device.OnWorkerPanic(func(string, any, []byte) {})
	defer device.OnWorkerPanic(nil)
	found := inProcess(time.Minute, func() device.Survey { panic("broken") }).Discover().Backends[0]
	require.Equal(t, device.AbsenceCrashed, found.Absence)
}

// A refresh returns only what was found after its call began.
func TestRefreshIsNeverOlderThanTheCall(t *testing.T) {
	gate := make(chan struct{})
	begun := make(chan struct{}, 8)
	r := inProcess(time.Minute, func() device.Survey {
		begun <- struct{}{}
		<-gate
		return device.Absent(device.AbsenceNoDevice, 0, "none")
	})
	first := make(chan *Discovery, 1)
	done := device.Go("first", func() { first <- r.Refresh() })
	<-begun
	second := make(chan *Discovery, 1)
	later := device.Go("second", func() { second <- r.Refresh() })
	gate <- struct{}{}
	<-done
	<-begun
	gate <- struct{}{}
	<-later
	require.NotSame(t, <-first, <-second)
}
