package cpu

import (
	"slices"
	"strings"

	"ferrum_mem/core/device"
)

// EnvInstructions is the environment variable that names the instruction set.
const EnvInstructions = "FERRUM_CPU_INSTRUCTIONS"

const opOpen = "cpu.open"

// names lists all instruction sets that this engine knows, on any processor.
var names = [...]string{"sse2", "avx2", "avx512", "neon"}

// Sets returns the instruction sets that this build has and this machine executes, the
// preferred one first.
func Sets() []string {
	var usable []string
	for _, s := range builtSets() {
		if s.isExecutable {
			usable = append(usable, s.name)
		}
	}
	return usable
}

// choose returns the set with a name, or the preferred one for "".
func choose(name string) (set, error) {
	if reason := unbuilt; reason != "" {
		return set{}, device.Errorf(device.CodeUnsupported, opOpen, "there is no CPU engine in this build: %s", reason)
	}
	if name != "" && !slices.Contains(names[:], name) {
		return set{}, device.Errorf(device.CodeInvalidConfig, opOpen, "%q is not an instruction set: want one of %s", name, strings.Join(names[:], ", "))
	}
	for _, s := range builtSets() {
		if s.isExecutable && (name == "" || name == s.name) {
			return s, nil
		}
	}
	return set{}, device.Errorf(device.CodeUnsupported, opOpen, "this machine does not execute %s; it executes %s", name, strings.Join(Sets(), ", "))
}
