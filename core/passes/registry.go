package passes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/similar"
)

const (
	opAdd    = "passes.add"
	opRemove = "passes.remove"
)

// MaxNameBytes is the length of the longest name of a pass of a program.
const MaxNameBytes = 63

// Registry finds passes by name: those of this package, and those that a program has added. The zero value
// has the passes of this package. All methods are safe for concurrent use.
type Registry struct {
	// mu guards added. It is a leaf.
	mu    sync.Mutex
	added map[string]*addedPass
}

// addedPass is a pass of a program.
type addedPass struct {
	Pass
	dependencies []string
	// users counts the calls of Take that have not ended.
	users int
}

// Description describes a pass of a Registry.
type Description struct {
	Name string `json:"name"`
	// Technique is "" for a pass of a program.
	Technique Technique `json:"technique,omitempty"`
	// Level is the lowest level of optimisation with the pass; 0: it runs only by its name.
	Level        int      `json:"level"`
	Dependencies []string `json:"dependencies"`
	// IsRegistered states that a program has added the pass.
	IsRegistered bool `json:"is_registered"`
}

// Add adds a pass of a program. Its name has 1 to MaxNameBytes letters, digits, '_', '-' and '.'. Errors:
// CodeInvalidArgument for another name, and for a dependency that cannot be a name; CodeAlreadyExists for
// the name of another pass.
func (r *Registry) Add(p Pass) error {
	name, made := p.Name(), &addedPass{Pass: p, dependencies: slices.Clone(p.Dependencies())}
	if err := checkName("name", name); err != nil {
		return err
	}
	if len(made.dependencies) > maxPasses {
		return device.Errorf(device.CodeInvalidArgument, opAdd, "pass %q has %d dependencies: at most %d are possible", name, len(made.dependencies), maxPasses)
	}
	for i, need := range made.dependencies {
		if err := checkName(fmt.Sprintf("dependencies[%d]", i), need); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.added[name] != nil || slices.Contains(Names(), name) {
		return device.Errorf(device.CodeAlreadyExists, opAdd, "there is a pass %q already", name)
	}
	if r.added == nil {
		r.added = map[string]*addedPass{}
	}
	r.added[name] = made
	return nil
}

func checkName(what, name string) error {
	if name == "" || len(name) > MaxNameBytes {
		return device.Errorf(device.CodeInvalidArgument, opAdd, "%s %.64q has %v: want 1 to %d", what, name, device.Size(len(name)), MaxNameBytes)
	}
	for _, letter := range name {
		isPlain := letter >= 'a' && letter <= 'z' || letter >= 'A' && letter <= 'Z' || letter >= '0' && letter <= '9'
		if !isPlain && !strings.ContainsRune("_-.", letter) {
			return device.Errorf(device.CodeInvalidArgument, opAdd, "%s %q has %q: want letters, digits, '_', '-' and '.'", what, name, letter)
		}
	}
	return nil
}

// Remove removes a pass of a program. With force it is removed while it is in use; the lists of Take keep
// it. Errors: CodeNotFound; CodeBusy while it is in use.
func (r *Registry) Remove(name string, force bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.added[name]
	switch {
	case known == nil:
		return device.Errorf(device.CodeNotFound, opRemove, "no pass %.64q is registered", name)
	case known.users > 0 && !force:
		return device.Errorf(device.CodeBusy, opRemove, "pass %q is in use by %s", name, device.Count(uint64(known.users), "build"))
	}
	delete(r.added, name)
	return nil
}

// Take returns passes by their names, in that order, for Run. Passes of a program stay registered until the
// caller calls done. Errors: those of Find.
func (r *Registry) Take(names []string) (list []Pass, done func(), err error) {
	if len(names) > maxPasses {
		return nil, nil, device.Errorf(device.CodeInvalidArgument, opFind, "%d passes are named: at most %d are possible", len(names), maxPasses)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var taken []*addedPass
	for _, name := range names {
		if of := r.added[name]; of != nil {
			list, taken = append(list, of.Pass), append(taken, of)
			continue
		}
		p, err := find(name, slices.Sorted(maps.Keys(r.added)))
		if err != nil {
			return nil, nil, err
		}
		list = append(list, p)
	}
	for _, of := range taken {
		of.users++
	}
	return list, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, of := range taken {
			of.users--
		}
	}, nil
}

// List describes the passes of this package in the order in which they run best, and then those of the
// program in the order of their names.
func (r *Registry) List() []Description {
	var list []Description
	for _, s := range all() {
		list = append(list, Description{Name: s.name, Technique: s.technique, Level: s.level, Dependencies: []string{}})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(r.added)) {
		list = append(list, Description{Name: name, Dependencies: append([]string{}, r.added[name].dependencies...), IsRegistered: true})
	}
	return list
}

// nearest returns the name that is most similar to one that is not known.
func nearest(name string, others []string) string {
	return similar.Names(name, append(Names(), others...), 1)[0]
}
