package library

import (
	"fmt"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/handle"
)

// leftovers counts what is alive.
type leftovers struct {
	kinds []leftKind
	// making is the calls that make something on a device at this moment.
	making int
	blocks uint64
	// named says what the first of the registrations are of, those first that outlive
	// it: a program is done with these and has nothing left that reminds it of them.
	named []string
}

// leftKind is how many there are of a kind.
type leftKind struct {
	kind  handle.Kind
	count int
}

// namedRegistrations is how many registrations a message names.
const namedRegistrations = 3

func (n leftovers) any() bool { return n.counts() != "" }

// String lists what there is, for example "1 device, 2 pools and 5 blocks", and names
// registrations.
func (n leftovers) String() string {
	counts := n.counts()
	switch {
	case counts == "":
		return "nothing"
	case len(n.named) > 0:
		return counts + " (" + strings.Join(n.named, "; ") + ")"
	}
	return counts
}

func (n leftovers) counts() string {
	var parts []string
	add := func(count uint64, kind string) {
		switch {
		case count == 1:
			parts = append(parts, "1 "+kind)
		case count > 1:
			parts = append(parts, fmt.Sprintf("%d %s", count, plural(kind)))
		}
	}
	for _, left := range n.kinds {
		add(uint64(left.count), left.kind.String())
	}
	add(uint64(n.making), "unfinished call")
	add(n.blocks, "block")
	if len(parts) == 0 {
		return ""
	}
	if last := len(parts) - 1; last > 0 {
		return strings.Join(parts[:last], ", ") + " and " + parts[last]
	}
	return parts[0]
}

func plural(kind string) string {
	if stem, ok := strings.CutSuffix(kind, "y"); ok {
		return stem + "ies"
	}
	return kind + "s"
}

// countLeft counts what is alive on a device or, with nil, on all of them with
// the devices themselves. It waits for nothing.
func (g *registry) countLeft(only *Device) leftovers {
	var n leftovers
	for _, k := range g.kinds {
		n.kinds = append(n.kinds, leftKind{k.handles(), k.count(only)})
	}
	g.devices.Each(func(_ uint64, d *Device) bool {
		if only == nil || d == only {
			n.blocks += d.Engine.Statistics().LiveBlocks.Current
		}
		return true
	})
	n.named = g.nameRegistrations(only)
	return n
}

// nameRegistrations names some of the registrations of a device or, with nil, of all.
func (g *registry) nameRegistrations(only *Device) []string {
	var outliving, others []string
	g.registrations.Each(func(id uint64, r *registration) bool {
		if only != nil && r.device != only {
			return true
		}
		list := &others
		if r.outlives() {
			list = &outliving
		}
		if len(*list) < namedRegistrations {
			*list = append(*list, fmt.Sprintf("registration %#x: %s", id, r.about()))
		}
		return true
	})
	named := append(outliving, others...)
	return named[:min(len(named), namedRegistrations)]
}

// orLog passes the error of an end on, and logs it if the end was forced: who forces is
// often a destructor or a finaliser, which has nobody to tell. That the handle is dead
// or another call is at it is no news.
func (g *logger) orLog(err error, force bool, id uint64) error {
	switch device.CodeOf(err) {
	case device.CodeOK, device.CodeInvalidHandle, device.CodeModelNotFound, device.CodeBusy, device.CodeNotInitialized:
		return err
	}
	if force {
		g.printf(LogError, "%s handle %#x could not be ended by force: %v", handle.KindOf(id), id, err)
	}
	return err
}

// emptyDevice ends what is on a device that is being closed: with force
// everything, without it only what nobody has made.
func (l *Library) emptyDevice(d *Device, force bool, report func()) error {
	if !force {
		l.running.awaitCallbacks(d)
		_, err := l.registry.factory.CloseDevice(d.Engine, false)
		return err
	}
	d.gate.close()
	if report != nil {
		report()
	}
	if err := l.endAll(d); err != nil {
		return err
	}
	_, err := l.registry.factory.CloseDevice(d.Engine, true)
	return err
}
