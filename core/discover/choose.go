package discover

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ferrum_mem/core/device"
)

// Attempt is one backend or device that was checked for a choice.
type Attempt struct {
	// ID names a device, or a backend whose devices were not checked ("cuda").
	ID string
	// Outcome is the reason why it was not chosen; "" for the chosen one.
	Outcome string
}

// Choice is the chosen device, and the attempts before it.
type Choice struct {
	Backend BackendType
	Device  Device
	// Attempts ends with the chosen device.
	Attempts []Attempt
}

// Candidate is a device that fits, by what is known before its open.
type Candidate struct {
	Backend BackendType
	Device  Device
}

// noDriver is the message for a backend that works but that this build cannot use.
const noDriver = "found, but this build has no driver that opens its devices"

// need has the requirements for a device.
type need struct {
	op         string
	preference BackendType
	bytes      uint64
}

// each calls take for every device that fits, in the order of preference, until take
// accepts one. take returns nil, or the reason why it rejects the device. The error has
// everything that was checked and not taken.
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
			attempts = append(attempts, Attempt{kind.Name(), "this build does not know this backend"})
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

// failure returns CodeOutOfMemory if a device had too little memory, otherwise
// CodeBackendUnavailable.
func (n need) failure(attempts []Attempt, last error) error {
	code := device.CodeBackendUnavailable
	for _, a := range attempts {
		if a.isOfDevice() {
			code = device.CodeOutOfMemory
		}
	}
	err := device.Errorf(code, n.op, "no backend has %v, tried: %s",
		device.Size(n.bytes), describe(attempts))
	err.Err = last
	return err
}

// plain returns the message of an error without the operation, the device and the
// status.
func plain(err error) string {
	var typed *device.Error
	if errors.As(err, &typed) {
		return typed.Message
	}
	return err.Error()
}

func tooSmall(d *Device, bytes uint64) string {
	if d.TotalBytes == 0 && !d.FreeKnown {
		return "its memory is unknown"
	}
	known := "free"
	if !d.FreeKnown {
		known = "assumed to be free (80 % of its capacity; its free memory is unknown)"
	}
	return fmt.Sprintf("needs %v, has %v %s", device.Size(bytes), device.Size(d.roomBytes()), known)
}

// isOfDevice tells a device from a backend: only devices have a number.
func (a Attempt) isOfDevice() bool { return strings.Contains(a.ID, ":") }

// describe returns the attempts as a text. Backends with the same reason share it, because a
// message has a bounded length.
func describe(attempts []Attempt) string {
	var parts []string
	for i, a := range attempts {
		same := func(b Attempt) bool {
			return a.Outcome == b.Outcome && !a.isOfDevice() && !b.isOfDevice()
		}
		if slices.ContainsFunc(attempts[:i], same) {
			continue
		}
		names := []string{a.ID}
		for _, b := range attempts[i+1:] {
			if same(b) {
				names = append(names, b.ID)
			}
		}
		parts = append(parts, strings.Join(names, ", ")+": "+a.Outcome)
	}
	return strings.Join(parts, "; ")
}

// Tried returns the attempts as lines, with a mark at the chosen one.
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

// Select finds the first device, in the order of preference, that fits that many bytes.
// If there is none, it returns CodeOutOfMemory, or CodeBackendUnavailable if there was
// no device to check. The message lists the attempts.
func (d *Discovery) Select(preference BackendType, bytes uint64) (Choice, error) {
	return d.each(need{"discover.select", preference, bytes}, func(Candidate) error { return nil })
}

// SelectAndTake is Select with a final check by the caller: a device that take rejects
// is skipped, and the reason is in the attempts.
func (d *Discovery) SelectAndTake(preference BackendType, bytes uint64, take func(Candidate) error) (Choice, error) {
	return d.each(need{"discover.open", preference, bytes}, take)
}
