package discover

import (
	"errors"
	"fmt"
	"strings"

	"ferrum_mem/core/device"
)

// Attempt is one backend or device that a choice looked at.
type Attempt struct {
	// ID names a device, or a backend whose devices were not looked at ("cuda").
	ID string
	// Outcome says why it was not chosen; "" for the chosen one.
	Outcome string
}

// Choice is a device that was chosen, and what was looked at on the way.
type Choice struct {
	Backend BackendType
	Device  Device
	// Attempts ends with the chosen one.
	Attempts []Attempt
}

// Candidate is a device that fits, by what is known before it is opened.
type Candidate struct {
	Backend BackendType
	Device  Device
}

// noDriver is said of a backend that works, in a build that cannot use it.
const noDriver = "found, but this build has no driver that opens its devices"

// need is what is looked for.
type need struct {
	op         string
	preference BackendType
	bytes      uint64
}

// each hands every device that fits to take, in the order of preference, until it
// takes one. take gives why it did not, or nil. All that was looked at and not taken
// is in the error.
func (d *Discovery) each(n need, take func(Candidate) error) (Choice, error) {
	if err := CheckPreference(n.op, n.preference); err != nil {
		return Choice{}, err
	}
	order := []BackendType{n.preference}
	if n.preference == BackendAuto {
		order = preferred()
	}
	var attempts []Attempt
	var last error
	for _, kind := range order {
		b := d.find(kind.Name())
		switch {
		case b == nil:
			attempts = append(attempts, Attempt{kind.Name(), "this build knows nothing of it"})
			continue
		case !b.Available:
			attempts = append(attempts, Attempt{kind.Name(), b.Reason()})
			continue
		case !b.Usable:
			attempts = append(attempts, Attempt{kind.Name(), noDriver})
			continue
		}
		for _, found := range b.Devices {
			if !found.CanFit(n.bytes) {
				attempts = append(attempts, Attempt{found.ID.String(), tooSmall(&found, n.bytes)})
				continue
			}
			if err := take(Candidate{kind, found}); err != nil {
				last = err
				attempts = append(attempts, Attempt{found.ID.String(), plain(err)})
				continue
			}
			attempts = append(attempts, Attempt{ID: found.ID.String()})
			return Choice{Backend: kind, Device: found, Attempts: attempts}, nil
		}
	}
	return Choice{Attempts: attempts}, n.failure(attempts, last)
}

// failure is CodeOutOfMemory if room is what was lacking anywhere, else
// CodeBackendUnavailable.
func (n need) failure(attempts []Attempt, last error) error {
	code := device.CodeBackendUnavailable
	for _, a := range attempts {
		// Only devices have a number.
		if strings.Contains(a.ID, ":") {
			code = device.CodeOutOfMemory
		}
	}
	err := device.Errorf(code, n.op, "no backend has %.2f GB (%d bytes), tried: %s",
		gigabytes(n.bytes), n.bytes, describe(attempts))
	err.Err = last
	return err
}

// plain is an error without the operation, the device and the status.
func plain(err error) string {
	var typed *device.Error
	if errors.As(err, &typed) {
		return typed.Message
	}
	return err.Error()
}

func tooSmall(d *Device, bytes uint64) string {
	if d.TotalBytes == 0 && !d.FreeKnown {
		return "its memory is not known"
	}
	known := "free"
	if !d.FreeKnown {
		known = "counted on (80 % of its capacity, what is free is not known)"
	}
	return fmt.Sprintf("needs %.2f GB, has %.2f GB %s", gigabytes(bytes), gigabytes(d.roomBytes()), known)
}

func describe(attempts []Attempt) string {
	parts := make([]string, len(attempts))
	for i, a := range attempts {
		parts[i] = a.ID + ": " + a.Outcome
	}
	return strings.Join(parts, "; ")
}

// Tried is the attempts as lines, the chosen one marked.
func (c *Choice) Tried() string {
	var text strings.Builder
	for _, a := range c.Attempts {
		outcome := a.Outcome
		if outcome == "" {
			outcome = "chosen"
		}
		fmt.Fprintf(&text, "%s: %s\n", a.ID, outcome)
	}
	return text.String()
}

// Select finds the first device, in the order of preference, that fits that many
// bytes. None is CodeOutOfMemory, or CodeBackendUnavailable where there was no device
// to look at; the message says what was tried.
func (d *Discovery) Select(preference BackendType, bytes uint64) (Choice, error) {
	return d.each(need{"discover.select", preference, bytes}, func(Candidate) error { return nil })
}

// SelectAndTake is Select with a last word for the caller: a device that take
// refuses is passed over, with the reason in what was tried.
func (d *Discovery) SelectAndTake(preference BackendType, bytes uint64, take func(Candidate) error) (Choice, error) {
	return d.each(need{"discover.open", preference, bytes}, take)
}
