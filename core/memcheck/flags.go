package memcheck

import (
	"fmt"
	"strings"
)

// Flags select the checks; 0 means none. The values are those of the C ABI.
type Flags uint32

// The checks.
const (
	// RedZones puts a zone before and behind every block.
	RedZones Flags = 1 << iota
	// Poison overwrites blocks when they are allocated and when they are freed.
	Poison
	// Quarantine keeps freed blocks for a while before they are reused.
	Quarantine
	// CallSites records where blocks were allocated and freed.
	CallSites

	// All is all of them.
	All = RedZones | Poison | Quarantine | CallSites
)

// flagNames is in the order of the bits.
var flagNames = [...]string{"red_zones", "poison", "quarantine", "call_sites"}

// allName stands for All in text.
const allName = "all"

// String returns the names of the checks, separated by commas, as Parse reads them.
func (f Flags) String() string {
	var names []string
	for i, name := range flagNames {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if unknown := f &^ All; unknown != 0 {
		names = append(names, fmt.Sprintf("%#x", uint32(unknown)))
	}
	return strings.Join(names, ",")
}

// Parse reads names separated by commas, or "all". Spaces around a name are ignored. The
// error names the unknown word.
func Parse(text string) (Flags, error) {
	var flags Flags
words:
	for _, word := range strings.Split(text, ",") {
		word = strings.TrimSpace(word)
		if word == allName {
			flags |= All
			continue
		}
		for i, name := range flagNames {
			if word == name {
				flags |= 1 << i
				continue words
			}
		}
		return 0, fmt.Errorf("%q is not one of %s, %s", word, strings.Join(flagNames[:], ", "), allName)
	}
	return flags, nil
}
