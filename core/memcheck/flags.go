package memcheck

import (
	"fmt"
	"strings"
)

// Flags say what is checked; 0: nothing. The values are those of the C ABI.
type Flags uint32

// The checks.
const (
	// RedZones puts a zone before and behind every block.
	RedZones Flags = 1 << iota
	// Poison overwrites blocks when they are handed out and when they are freed.
	Poison
	// Quarantine keeps freed blocks back for a while.
	Quarantine
	// CallSites keeps where blocks were allocated and freed.
	CallSites

	// All is all of them.
	All = RedZones | Poison | Quarantine | CallSites
)

// flagNames is in the order of the bits.
var flagNames = [...]string{"red_zones", "poison", "quarantine", "call_sites"}

// allName stands for All in text.
const allName = "all"

// String is the names of the checks with commas between them, as Parse reads
// them.
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

// Parse reads names with commas between them, or "all"; spaces around a name do
// not matter. The error names the word that is none.
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
		return 0, fmt.Errorf("%q is none of %s, %s", word, strings.Join(flagNames[:], ", "), allName)
	}
	return flags, nil
}
