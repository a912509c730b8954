package library

import (
	"fmt"
	"slices"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/handle"
)

// leftovers counts live objects.
type leftovers struct {
	kinds []leftKind
	// making counts the calls that are creating an object on a device now.
	making int
	blocks uint64
	// named describes some of the registrations. Registrations whose object has ended
	// come first, because the program does not use these any more and can easily miss
	// them.
	named []string
}

// leftKind is the number of objects of one kind.
type leftKind struct {
	kind  handle.Kind
	count int
}

// namedRegistrations is the largest number of registrations that a message describes.
const namedRegistrations = 3

func (n leftovers) any() bool { return n.counts() != "" }

// String lists the counts, for example "1 device, 2 pools and 5 blocks", and describes
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

// countLeft counts the live objects of a device or, with nil, of all devices together
// with the devices themselves. It does not wait.
func (g *registry) countLeft(only *Device) leftovers {
	var n leftovers
	for _, k := range g.kinds {
		left := leftKind{k.handles(), k.count(only)}
		// Registrations are two kinds of objects with one kind of handle.
		n.kinds = slices.DeleteFunc(n.kinds, func(known leftKind) bool {
			if known.kind != left.kind {
				return false
			}
			left.count += known.count
			return true
		})
		n.kinds = append(n.kinds, left)
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

// nameRegistrations describes some of the registrations of a device or, with nil, of
// all devices.
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

// orLog returns the error of an end, and also logs it if the end was forced: a
// destructor or finalizer often forces an end and cannot report the error. It does not
// log that the handle is invalid or that another call is ending the object.
func (g *logger) orLog(err error, force bool, id uint64) error {
	switch device.CodeOf(err) {
	case device.CodeOK, device.CodeInvalidHandle, device.CodeModelNotFound, device.CodeBusy, device.CodeNotInitialized:
		return err
	}
	if force {
		g.printf(LogError, "%s handle %#x: the forced end failed: %v", handle.KindOf(id), id, err)
	}
	return err
}

// emptyDevice ends the objects on a device that is being closed: all of them with
// force, and without force only those that no caller created.
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
