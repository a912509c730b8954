package estimate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ferrum_mem/core/internal/similar"
)

// unknownFamily returns the error for an unknown family. It names the nearest known
// families, and the fields that are missing for the nearest one.
func unknownFamily(o *object, name string) error {
	near := similar.Names(name, slices.Sorted(maps.Keys(families())), 3)
	r := reader{object: o, family: families()[near[0]]}
	needed := r.needed()
	missing := slices.DeleteFunc(slices.Clone(needed), func(field string) bool { return o.has(field) })
	lacks := "has all of them"
	if len(missing) > 0 {
		lacks = "lacks " + listed(missing)
	}
	e := o.wrong("model_type", "%s is not a known family, so the contents of its layers are unknown; the nearest known are %s; a model like %s needs %s, and this file %s",
		quote(name), listed(near), near[0], listed(needed), lacks)
	e.Err = &fieldError{path: o.path + "model_type", isUnknownFamily: true}
	return e
}

// needed lists the fields for which a family has no default, by its names for them.
func (r reader) needed() []string {
	fields := []string{"hidden_size", "num_hidden_layers", "vocab_size"}
	if !r.family.noAttention {
		fields = append(fields, "num_attention_heads")
		if r.family.innerTimes == 0 {
			fields = append(fields, "intermediate_size")
		}
	}
	var names []string
	for _, field := range fields {
		if _, ok := r.family.defaults[field]; !ok {
			names = append(names, r.name(field))
		}
	}
	if names == nil {
		names = []string{"model_type"}
	}
	return names
}

// listed joins names for a sentence.
func listed(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return fmt.Sprintf("%s and %s", strings.Join(names[:len(names)-1], ", "), names[len(names)-1])
}
