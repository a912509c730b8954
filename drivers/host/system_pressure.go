package host

import (
	"path"
	"strconv"
	"strings"

	"ferrum_mem/core/device"
)

var _ device.SystemPressured = (*openDevice)(nil)

// SystemPressure reads the stalls of the machine and of the process's control group, the
// events of the group's limits, and its high limit. The values are the same for all host
// devices. Only control groups of version 2 have group values.
func (o *openDevice) SystemPressure() device.SystemPressure { return o.driver.system.pressure() }

const machineStalls = "proc/pressure/memory"

func (s *system) pressure() device.SystemPressure {
	var p device.SystemPressure
	p.Machine.Stalls, p.Machine.Err = s.stalls(machineStalls)
	group, err := s.ownGroup()
	if err != nil {
		p.Group.Err, p.Events.Err, p.High.Err = err, err, err
		return p
	}
	p.Group.Stalls, p.Group.Err = s.stalls(path.Join(group, "memory.pressure"))
	p.Events.Events, p.Events.Err = s.events(path.Join(group, "memory.events"))
	p.High.Bytes, p.High.Err = s.highLimit(path.Join(group, "memory.high"))
	return p
}

// ownGroup returns the folder of the process's own control group of version 2.
func (s *system) ownGroup() (string, error) {
	if s.Cgroups().Version != 2 || len(s.Cgroups().Levels) == 0 {
		return "", device.Errorf(device.CodeUnsupported, opSystemPressure,
			"the memory of this process is in no control group of version 2")
	}
	return s.Cgroups().Levels[0], nil
}

const opSystemPressure = "host.system_pressure"

// content returns the text of a file that a system may lack.
func (s *system) content(file string) (string, error) {
	text := s.Read(file)
	if text == "" {
		return "", device.Errorf(device.CodeUnsupported, opSystemPressure,
			"%s is not there or cannot be read", s.shown(file))
	}
	return text, nil
}

// shown returns the name of a file for a message.
func (s *system) shown(file string) string { return path.Join("/", file) }

func (s *system) malformed(file, line string) error {
	return device.Errorf(device.CodeInvalidFormat, opSystemPressure, "%s has the line %q", s.shown(file), line)
}

// stalls reads lines such as "some avg10=0.12 avg60=0.00 avg300=0.00 total=1234". The line
// of full stalls is missing if the kernel does not count them.
func (s *system) stalls(file string) (device.Stalls, error) {
	text, err := s.content(file)
	if err != nil {
		return device.Stalls{}, err
	}
	var found device.Stalls
	some := false
	for line := range strings.Lines(text) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		stall, ok := parseStall(rest)
		if !ok {
			return device.Stalls{}, s.malformed(file, line)
		}
		switch kind {
		case "some":
			found.Some, some = stall, true
		case "full":
			found.Full = stall
		}
	}
	if !some {
		return device.Stalls{}, s.malformed(file, text)
	}
	return found, nil
}

func parseStall(text string) (device.Stall, bool) {
	var stall device.Stall
	read := 0
	for field := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(field, "=")
		var ok bool
		switch key {
		case "avg10":
			stall.Avg10, ok = hundredths(value)
		case "avg60":
			stall.Avg60, ok = hundredths(value)
		case "avg300":
			stall.Avg300, ok = hundredths(value)
		case "total":
			var err error
			stall.TotalMicroseconds, err = strconv.ParseUint(value, 10, 64)
			ok = err == nil
		default:
			continue
		}
		if !ok {
			return device.Stall{}, false
		}
		read++
	}
	return stall, read == 4
}

// hundredths reads a percentage with two digits after the point, such as "12.05", without
// floating point. The maximum is 100.00.
func hundredths(text string) (uint32, bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	percent, err1 := strconv.ParseUint(whole, 10, 16)
	part, err2 := strconv.ParseUint(fraction, 10, 16)
	if err1 != nil || err2 != nil || len(fraction) != 2 || percent*100+part > 10000 {
		return 0, false
	}
	return uint32(percent*100 + part), true
}

// events reads lines such as "oom_kill 3". An event that the kernel does not count is 0.
func (s *system) events(file string) (device.Events, error) {
	text, err := s.content(file)
	if err != nil {
		return device.Events{}, err
	}
	var found device.Events
	counts := map[string]*uint64{
		"low": &found.Low, "high": &found.High, "max": &found.Max, "oom": &found.OOM, "oom_kill": &found.OOMKill,
	}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		count, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return device.Events{}, s.malformed(file, line)
		}
		if to := counts[key]; to != nil {
			*to = count
		}
	}
	return found, nil
}

func (s *system) highLimit(file string) (uint64, error) {
	text, err := s.content(file)
	if err != nil {
		return 0, err
	}
	word := strings.TrimSpace(text)
	if word == "max" {
		return unlimited, nil
	}
	limit, err := strconv.ParseUint(word, 10, 64)
	if err != nil {
		return 0, s.malformed(file, word)
	}
	return limit, nil
}
