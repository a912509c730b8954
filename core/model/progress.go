package model

import (
	"strings"
	"sync"
	"time"

	"ferrum_mem/core/device"
)

// Phase is a phase of a build. The phases follow each other in their order.
type Phase uint8

// The phases of a build.
const (
	// PhaseValidation reads the configuration and the headers of the weights, and validates the definition.
	PhaseValidation Phase = iota
	// PhaseWeightLoading reads the files of the weights into the cache of the system.
	PhaseWeightLoading
	// PhaseModelInitialization checks the memory for the model.
	PhaseModelInitialization
	// PhaseLayerConstruction prepares the operation of each layer.
	PhaseLayerConstruction
	// PhaseParameterBinding finds the tensors of each parameter.
	PhaseParameterBinding
	// PhaseOptimization runs the passes, and places the parameters in memory: packed where the backend
	// reads that faster.
	PhaseOptimization
	// PhaseFinalValidation runs the model once.
	PhaseFinalValidation
	// PhaseFinalization frees what only the build needed.
	PhaseFinalization

	phases
)

var phaseNames = [phases]string{
	"validation", "weight_loading", "model_initialization", "layer_construction", "parameter_binding", "optimization",
	"final_validation", "finalization",
}

// String returns the name of the phase.
func (p Phase) String() string {
	if p >= phases {
		return "unknown"
	}
	return phaseNames[p]
}

// MarshalText returns String for a known phase.
func (p Phase) MarshalText() ([]byte, error) {
	if p >= phases {
		return nil, device.Errorf(device.CodeSerialization, opBuild, "%d is not a phase", uint8(p))
	}
	return []byte(p.String()), nil
}

// UnmarshalText reads the result of MarshalText.
func (p *Phase) UnmarshalText(text []byte) error {
	for i, name := range phaseNames {
		if name == string(text) {
			*p = Phase(i)
			return nil
		}
	}
	return device.Errorf(device.CodeInvalidFormat, opBuild, "%.64q is not a phase: the phases are %s", text, strings.Join(phaseNames[:], ", "))
}

// Progress states which part of a build is done.
type Progress struct {
	Phase Phase `json:"phase"`
	// Progress is 0 to 1. It never decreases, and the last report of a successful build has 1.
	Progress         float32 `json:"progress"`
	CurrentOperation string  `json:"current_operation"`
	ElapsedSeconds   float64 `json:"elapsed_seconds"`
	// RemainingSeconds is nil until enough is done to estimate it.
	RemainingSeconds *float64 `json:"remaining_seconds,omitempty"`
	// PhaseDetails has "done_bytes" and "total_bytes" in the phases that read or place bytes.
	PhaseDetails map[string]uint64 `json:"phase_details"`
}

// shares are the parts of a build that each phase is counted as, in percent.
var shares = [phases]float64{5, 30, 1, 4, 1, 52, 6, 1}

// reportInterval is the shortest time between two reports of one phase.
const reportInterval = 50 * time.Millisecond

// reporter tells the progress of one build.
type reporter struct {
	tell  func(Progress)
	began time.Time

	// telling is held while tell runs: reports follow each other. No other lock is.
	telling   sync.Mutex
	phase     Phase
	operation string
	before    float64 // percent of the phases before
	most      float64 // percent
	last      time.Time
}

// enter begins a phase.
func (r *reporter) enter(p Phase, operation string) {
	r.telling.Lock()
	defer r.telling.Unlock()
	r.phase, r.operation, r.before = p, operation, 0
	for _, share := range shares[:p] {
		r.before += share
	}
	r.report(r.before, map[string]uint64{}, true)
}

// bytes reports bytes of the phase.
func (r *reporter) bytes(done, total uint64) {
	r.telling.Lock()
	defer r.telling.Unlock()
	part := 1.0
	if total > 0 {
		part = min(float64(done)/float64(total), 1)
	}
	r.report(r.before+part*shares[r.phase], map[string]uint64{"done_bytes": done, "total_bytes": total}, done == total)
}

// end reports the end of the build.
func (r *reporter) end() {
	r.telling.Lock()
	defer r.telling.Unlock()
	r.operation = "done"
	r.report(100, map[string]uint64{}, true)
}

// report tells the progress. The caller holds telling.
func (r *reporter) report(percent float64, details map[string]uint64, always bool) {
	r.most = max(r.most, percent)
	now := time.Now()
	if r.tell == nil || !always && now.Sub(r.last) < reportInterval {
		return
	}
	r.last = now
	elapsed := now.Sub(r.began).Seconds()
	p := Progress{
		Phase: r.phase, Progress: float32(min(r.most/100, 1)), CurrentOperation: r.operation, ElapsedSeconds: elapsed, PhaseDetails: details,
	}
	const enough = 10 // percent
	if r.most >= enough {
		left := elapsed * (100 - r.most) / r.most
		p.RemainingSeconds = &left
	}
	r.tell(p)
}
