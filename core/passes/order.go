package passes

import (
	"slices"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/similar"
)

// ordered returns the passes in an order in which each one comes after its dependencies. Otherwise the
// order is that of the list. Errors: CodeInvalidArgument for a missing pass or name, and for
// dependencies in a cycle; CodeAlreadyExists for a name that occurs twice; CodeNotFound for a dependency
// that is not in the list.
func ordered(list []Pass) ([]Pass, error) {
	names, err := namesOf(list)
	if err != nil {
		return nil, err
	}
	needs := make([][]string, len(list))
	for i, p := range list {
		needs[i] = slices.Clone(p.Dependencies())
		for _, need := range needs[i] {
			if !slices.Contains(names, need) {
				return nil, device.Errorf(device.CodeNotFound, opRun, "pass %q depends on %q, which is not in the list: the nearest is %q",
					names[i], need, similar.Names(need, names, 1)[0])
			}
		}
	}
	order, isDone := make([]Pass, 0, len(list)), map[string]bool{}
	for len(order) < len(list) {
		next := slices.IndexFunc(names, func(name string) bool {
			return !isDone[name] && !slices.ContainsFunc(needs[slices.Index(names, name)], func(need string) bool { return !isDone[need] })
		})
		if next < 0 {
			return nil, device.Errorf(device.CodeInvalidArgument, opRun, "the passes depend on each other in a cycle: %s", cycle(names, needs, isDone))
		}
		isDone[names[next]] = true
		order = append(order, list[next])
	}
	return order, nil
}

// maxPasses bounds the length of a pipeline.
const maxPasses = 1024

func namesOf(list []Pass) ([]string, error) {
	if len(list) > maxPasses {
		return nil, device.Errorf(device.CodeInvalidArgument, opRun, "%d passes are given: at most %d are possible", len(list), maxPasses)
	}
	names := make([]string, len(list))
	for i, p := range list {
		if p == nil {
			return nil, device.AtIndex("passes", i, device.Errorf(device.CodeInvalidArgument, opRun, "the pass is missing"))
		}
		name := p.Name()
		switch {
		case name == "":
			return nil, device.AtIndex("passes", i, device.Errorf(device.CodeInvalidArgument, opRun, "the pass has no name"))
		case slices.Contains(names[:i], name):
			return nil, device.AtIndex("passes", i, device.Errorf(device.CodeAlreadyExists, opRun, "the name %q occurs twice", name))
		}
		names[i] = name
	}
	return names, nil
}

// cycle names the passes of a cycle among those that are not done, such as "a -> b -> a". Each of them has
// a dependency that is not done.
func cycle(names []string, needs [][]string, isDone map[string]bool) string {
	at := slices.IndexFunc(names, func(name string) bool { return !isDone[name] })
	path := []string{}
	for !slices.Contains(path, names[at]) {
		path = append(path, names[at])
		open := slices.IndexFunc(needs[at], func(need string) bool { return !isDone[need] })
		at = slices.Index(names, needs[at][open])
	}
	return strings.Join(append(path[slices.Index(path, names[at]):], names[at]), " -> ")
}
