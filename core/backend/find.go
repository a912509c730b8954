package backend

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/sorting"
)

// Candidate is a backend that Find has compared.
type Candidate struct {
	Name  string `json:"name"`
	Type  Type   `json:"backend_type"`
	Meets bool   `json:"meets"`
	// Reasons are what the backend lacks, or why it is not available.
	Reasons []string `json:"reasons"`
}

// Finding is the result of Find.
type Finding struct {
	// Best is the name of the backend that was chosen; "": none meets the requirements.
	Best string `json:"best"`
	// Candidates are all backends, the best one first. Those that do not meet the requirements
	// follow in alphabetical order.
	Candidates []Candidate `json:"candidates"`
}

// Find chooses the best backend for requirements. Among those that meet all of them, one with a
// device other than the host's is better; then one with more properties in extra_capabilities; then
// one with the larger max_sequence_length, then max_batch_size, then max_tensor_dims; then the first
// name in alphabetical order.
func (r *Registry) Find(required Requirements) Finding {
	entries := r.List()
	sorting.StableBy(entries, func(a, b Entry) int {
		return slices.Compare(b.merit(required), a.merit(required))
	})
	result := Finding{Candidates: make([]Candidate, len(entries))}
	for i, e := range entries {
		result.Candidates[i] = e.candidate(required)
	}
	if len(entries) > 0 && result.Candidates[0].Meets {
		result.Best = entries[0].Name
	}
	return result
}

func (e Entry) candidate(required Requirements) Candidate {
	c := Candidate{Name: e.Name, Type: e.Type, Reasons: []string{}}
	if !e.Available {
		c.Reasons = append(c.Reasons, e.Reason)
		return c
	}
	c.Reasons = append(c.Reasons, e.Capabilities.Unmet(required)...)
	c.Meets = len(c.Reasons) == 0
	return c
}

// merit returns numbers that are larger, compared one after the other, for a better backend; nil: it
// does not meet the requirements.
func (e Entry) merit(required Requirements) []uint64 {
	if !e.Available || !e.Capabilities.MeetsRequirements(required) {
		return nil
	}
	c, hasOther := e.Capabilities, uint64(0)
	if slices.ContainsFunc(c.Devices, func(id device.ID) bool { return id.Backend != hostBackend }) {
		hasOther = 1
	}
	return []uint64{hasOther, uint64(len(c.Extra)), c.MaxSequenceLength, c.MaxBatchSize, uint64(c.MaxTensorDims)}
}

// hostBackend is the backend of the host's devices.
const hostBackend = "cpu"
