package sleep

import "maps"

// Tags says which tags sleep.
type Tags struct {
	// all but those in but sleep; without all only those in named.
	all        bool
	named, but map[string]bool
}

// Clone is a copy that does not change with it.
func (t Tags) Clone() Tags {
	return Tags{all: t.all, named: maps.Clone(t.named), but: maps.Clone(t.but)}
}

// Sleeps says whether a tag sleeps.
func (t Tags) Sleeps(tag string) bool {
	if t.all {
		return !t.but[tag]
	}
	return t.named[tag]
}

// Any says that some tag sleeps.
func (t Tags) Any() bool { return t.all || len(t.named) > 0 }

// All says that every tag sleeps, those of allocations to come as well.
func (t Tags) All() bool { return t.all && len(t.but) == 0 }

// Begin notes that a tag, or with "" everything, sleeps.
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

// End notes that a tag, or with "" everything, sleeps no more. none says that no page does.
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
