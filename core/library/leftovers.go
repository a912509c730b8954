package library

import (
	"errors"
	"fmt"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/handle"
)

// leftovers counts what is alive, by kind.
type leftovers struct {
	devices, pools, vpools, elasticPools, managers, streams, events, registrations int
	// fallbackManagers are of both their devices, buffers are theirs.
	fallbackManagers, buffers int
	// monitors, placements, trackers and genericPools belong to no device.
	monitors, placements, trackers, genericPools int
	// making is the calls that make something on a device at this moment.
	making int
	blocks uint64
	// named says what the first of the registrations are of, those first that outlive
	// it: a program is done with these and has nothing left that reminds it of them.
	named []string
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
	add(uint64(n.devices), "device")
	add(uint64(n.pools), "pool")
	add(uint64(n.vpools), "virtual pool")
	add(uint64(n.elasticPools), "elastic pool")
	add(uint64(n.managers), "manager")
	add(uint64(n.fallbackManagers), "fallback manager")
	add(uint64(n.buffers), "buffer")
	add(uint64(n.streams), "stream")
	add(uint64(n.events), "event")
	add(uint64(n.registrations), "registration")
	add(uint64(n.monitors), "monitor")
	add(uint64(n.placements), "placement strategy")
	add(uint64(n.trackers), "tracker")
	add(uint64(n.genericPools), "generic pool")
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
func (l *Library) countLeft(only *openDevice) leftovers {
	var n leftovers
	if only == nil {
		n.monitors, n.placements = l.monitors.Len(), l.placements.Len()
		n.trackers, n.genericPools = l.ownTrackers(), l.genericPools.Len()
	}
	l.devices.Each(func(_ uint64, d *openDevice) bool {
		if only != nil && d != only {
			return true
		}
		if only == nil {
			n.devices++
		}
		made := l.factory.Leftovers(d.engine)
		n.managers += made.Managers
		n.streams += made.Streams
		n.events += made.Events
		n.blocks += d.engine.Statistics().LiveBlocks.Current
		return true
	})
	l.pools.Each(func(_ uint64, p *openPool) bool {
		if only == nil || p.device == only {
			n.pools++
		}
		return true
	})
	l.vpools.Each(func(_ uint64, p *openVPool) bool {
		if only == nil || p.device == only {
			n.vpools++
		}
		return true
	})
	l.elasticPools.Each(func(_ uint64, p *openElasticPool) bool {
		if only == nil || p.device == only {
			n.elasticPools++
		}
		return true
	})
	n.registrations, n.named = l.nameRegistrations(only)
	n.fallbackManagers, n.buffers = l.countUnified(only)
	return n
}

// nameRegistrations counts the registrations of a device or, with nil, of all, and
// names some.
func (l *Library) nameRegistrations(only *openDevice) (count int, named []string) {
	var outliving, others []string
	l.registrations.Each(func(id uint64, r *registration) bool {
		if only != nil && r.device != only {
			return true
		}
		count++
		list := &others
		if r.outlives() {
			list = &outliving
		}
		if len(*list) < namedRegistrations {
			*list = append(*list, fmt.Sprintf("registration %#x: %s", id, r.about()))
		}
		return true
	})
	named = append(outliving, others...)
	return count, named[:min(len(named), namedRegistrations)]
}

// orLog passes the error of an end on, and logs it if the end was forced: who forces is
// often a destructor or a finaliser, which has nobody to tell. That the handle is dead
// or another call is at it is no news.
func (l *Library) orLog(err error, force bool, id uint64) error {
	switch device.CodeOf(err) {
	case device.CodeOK, device.CodeInvalidHandle, device.CodeModelNotFound, device.CodeBusy, device.CodeNotInitialized:
		return err
	}
	if force {
		l.log.printf(LogError, "%s handle %#x could not be ended by force: %v", handle.KindOf(id), id, err)
	}
	return err
}

// emptyDevice ends what is on a device that is being closed: with force
// everything, without it only what nobody has made.
func (l *Library) emptyDevice(d *openDevice, force bool, report func()) error {
	if !force {
		l.awaitCallbacks(d)
		_, err := l.factory.CloseDevice(d.engine, false)
		return err
	}
	d.gate.close()
	if report != nil {
		report()
	}
	// Callbacks first: what follows would call them.
	l.registrations.Each(func(id uint64, r *registration) bool {
		if r.device == d {
			// The handle goes last: who hears that it is invalid may free what the
			// callback uses.
			r.callback.Remove(r.token != 0 && l.insideCallback(r.token))
			_, _ = l.registrations.Remove(id)
		}
		return true
	})
	// They may use what is freed next.
	l.awaitCallbacks(d)
	var failures []error
	note := func(err error) {
		// Somebody else may have destroyed it meanwhile.
		if err != nil && !errors.Is(err, device.CodeInvalidHandle) {
			failures = append(failures, err)
		}
	}
	l.fallbackManagers.Each(func(id uint64, m *openFallbackManager) bool {
		if m.uses(d) {
			m.destroying.Lock()
			note(l.dropFallbackManager(id, m, true))
			m.destroying.Unlock()
		}
		return true
	})
	l.managers.Each(func(id uint64, m *openManager) bool {
		if m.device == d {
			m.destroying.Lock()
			note(l.dropManager(id, m, true))
			m.destroying.Unlock()
		}
		return true
	})
	l.pools.Each(func(id uint64, p *openPool) bool {
		if p.device == d {
			p.destroying.Lock()
			note(l.dropPool(id, p, true))
			p.destroying.Unlock()
		}
		return true
	})
	l.vpools.Each(func(id uint64, p *openVPool) bool {
		if p.device == d {
			p.destroying.Lock()
			note(l.dropVPool(id, p, true))
			p.destroying.Unlock()
		}
		return true
	})
	l.elasticPools.Each(func(id uint64, p *openElasticPool) bool {
		if p.device == d {
			p.destroying.Lock()
			note(l.dropElasticPool(id, p, true))
			p.destroying.Unlock()
		}
		return true
	})
	if len(failures) == 0 {
		_, err := l.factory.CloseDevice(d.engine, true)
		note(err)
	}
	return errors.Join(failures...)
}

// awaitCallbacks waits for callbacks of a device that removed themselves and still
// run. A call from inside a callback waits for none: it may be that one.
func (l *Library) awaitCallbacks(d *openDevice) {
	if !l.insideAnyCallback() {
		l.running.await(d)
	}
}
