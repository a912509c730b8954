package library

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/sorting"
)

// leakGroup has the leaked blocks of one tag from one call site.
type leakGroup struct {
	device, tag string
	blocks      int
	bytes       uint64
	callSite    []string
}

// groupLeaks sums up blocks by tag and call site, the group with the most bytes first.
// A single block without further information makes no group, because its own message
// already states everything.
func groupLeaks(leaks []leak) []*leakGroup {
	byKey := map[string]*leakGroup{}
	var groups []*leakGroup
	for _, found := range leaks {
		if found.Kind != "block" && found.Kind != "range" && found.Kind != "memory" && found.Kind != "buffer" {
			continue
		}
		key := found.Device + "\x00" + found.Tag + "\x00" + strings.Join(found.CallSite, "\x00")
		group := byKey[key]
		if group == nil {
			group = &leakGroup{device: found.Device, tag: found.Tag, callSite: found.CallSite}
			byKey[key] = group
			groups = append(groups, group)
		}
		group.blocks++
		group.bytes += found.Bytes
	}
	groups = slices.DeleteFunc(groups, func(g *leakGroup) bool { return g.blocks == 1 && g.callSite == nil })
	sorting.StableBy(groups, func(a, b *leakGroup) int { return cmp.Compare(b.bytes, a.bytes) })
	return groups
}

func (g *leakGroup) String() string {
	blocks := "blocks"
	if g.blocks == 1 {
		blocks = "block"
	}
	text := fmt.Sprintf("%d %s of %v, tag %q", g.blocks, blocks, device.Size(g.bytes), g.tag)
	if g.callSite != nil {
		text += ", allocated at\n    " + strings.Join(g.callSite, "\n    ")
	}
	return text
}
