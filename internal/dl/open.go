package dl

import (
	"fmt"
	"strings"

	"ferrum_mem/core/device"
)

// Library is a loaded library.
type Library struct {
	// Name is the name by which the library was found.
	Name   string
	handle uintptr
}

// Failure states why a library cannot be used: AbsenceLibraryNotFound,
// AbsenceLibraryUnusable or AbsenceSymbolMissing.
type Failure struct {
	Absence device.Absence
	Message string
}

func (f *Failure) Error() string { return f.Message }

// Survey returns the failure as the result of a probe.
func (f *Failure) Survey() device.Survey { return device.Absent(f.Absence, 0, f.Message) }

// Open loads the first library of the names that can be loaded. A library that exists but
// does not load does not end the search. It is the reported failure if no library loads.
func Open(names ...string) (*Library, error) {
	var broken []string
	for _, name := range names {
		handle, err := load(name)
		if err == nil {
			return &Library{Name: name, handle: handle}, nil
		}
		if !isMissing(name, err) {
			broken = append(broken, fmt.Sprintf("%s: %v", name, err))
		}
	}
	if len(broken) > 0 {
		return nil, &Failure{device.AbsenceLibraryUnusable,
			"the library exists and cannot be loaded: " + strings.Join(broken, "; ")}
	}
	return nil, &Failure{device.AbsenceLibraryNotFound, "library not found, tried: " + strings.Join(names, ", ")}
}

// Symbol returns the address of a function, or false.
func (l *Library) Symbol(name string) (uintptr, bool) {
	address, err := symbol(l.handle, name)
	return address, err == nil && address != 0
}

// Require finds every function of the table by name. Its error names all functions that are
// missing.
func (l *Library) Require(table map[string]*uintptr) error {
	var missing []string
	for name, out := range table {
		address, found := l.Symbol(name)
		if !found {
			missing = append(missing, name)
			continue
		}
		*out = address
	}
	if len(missing) == 0 {
		return nil
	}
	return l.lacks(missing)
}

func (l *Library) lacks(names []string) error {
	return &Failure{device.AbsenceSymbolMissing,
		fmt.Sprintf("%s is too old or another library: it lacks %s", l.Name, sortedList(names))}
}
