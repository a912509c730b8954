package sleep

import "maps"

// Tags records which tags are asleep.
type Tags struct {
	// With all, every tag except those in but is asleep. Without all, only the tags in
	// named are.
	all        bool
	named, but map[string]bool
}

// Clone returns an independent copy.
func (t Tags) Clone() Tags {
	return Tags{all: t.all, named: maps.Clone(t.named), but: maps.Clone(t.but)}
}

// Sleeps reports whether a tag is asleep.
func (t Tags) Sleeps(tag string) bool {
	if t.all {
		return !t.but[tag]
	}
	return t.named[tag]
}

// Any reports whether any tag is asleep.
func (t Tags) Any() bool { return t.all || len(t.named) > 0 }

// All reports whether every tag is asleep, including tags of later allocations.
func (t Tags) All() bool { return t.all && len(t.but) == 0 }

// Begin records that a tag is asleep, or with "" that all are.
func (t *Tags) Begin(tag string) {
	switch {
	case tag == "":
		*t = Tags{all: true, named: map[string]bool{}, but: map[string]bool{}}
	case t.all:
		delete(t.but, tag)
	default:
		if t.named == nil {
			t.named = map[string]bool{}
		}
		t.named[tag] = true
	}
}

// End records that a tag is awake, or with "" that all are. none states that no page is
// asleep.
func (t *Tags) End(tag string, none bool) {
	switch {
	case tag == "":
		*t = Tags{}
	case t.all:
		t.but[tag] = true
	default:
		delete(t.named, tag)
	}
	if t.all && none {
		*t = Tags{}
	}
}
