package library

import (
	"ferrum_mem/core/placement"
	"ferrum_mem/core/pressure"
)

type placementSnapshot struct {
	Strategy string `json:"strategy"`
	// Chosen is the id of the chosen device, or null.
	Chosen  *string           `json:"chosen"`
	Devices []verdictSnapshot `json:"devices"`
}

type verdictSnapshot struct {
	ID     string           `json:"id"`
	Chosen bool             `json:"chosen"`
	Reason placement.Reason `json:"reason"`
	// Score is null if the strategy computes none.
	Score            *float64       `json:"score"`
	Tier             int            `json:"tier"`
	PreferredRank    int            `json:"preferred_rank"`
	NeededBytes      uint64         `json:"needed_bytes"`
	TotalBytes       uint64         `json:"total_bytes"`
	UsedBytes        uint64         `json:"used_bytes"`
	FreeBytes        uint64         `json:"free_bytes"`
	LargestFreeBytes uint64         `json:"largest_free_bytes"`
	LevelAfter       pressure.Level `json:"level_after"`
}

// ExplainJSON states which device Select would choose now, and for each device why it
// is or is not chosen, in the form that the public header documents.
func (p *Placement) ExplainJSON(r PlacementRequest) ([]byte, error) {
	request, devices, candidates, err := p.library.registry.candidates(r)
	if err != nil {
		return nil, err
	}
	d, err := p.strategy.Explain(request, candidates)
	if err != nil {
		return nil, CallError(err, r.asked(p, devices)...)
	}
	s := placementSnapshot{Strategy: p.strategy.Name(), Devices: []verdictSnapshot{}}
	for i, v := range d.Verdicts {
		shown := verdictSnapshot{
			ID: v.Device.String(), Chosen: i == d.Chosen, Reason: v.Reason, Tier: v.Tier, PreferredRank: v.Rank,
			NeededBytes: v.NeedBytes, TotalBytes: v.TotalBytes, UsedBytes: v.UsedBytes, FreeBytes: v.FreeBytes,
			LargestFreeBytes: v.LargestFreeBytes, LevelAfter: v.LevelAfter,
		}
		if v.Scored {
			shown.Score = &v.Score
		}
		if shown.Chosen {
			s.Chosen = &shown.ID
		}
		s.Devices = append(s.Devices, shown)
	}
	return encode("placement.explain_json", s)
}
