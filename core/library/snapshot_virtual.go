package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm"
)

type vpoolSnapshot struct {
	Name       string           `json:"name"`
	Statistics track.Statistics `json:"statistics"`
	Info       spaceInfo        `json:"info"`
}

// spaceInfo has the counters of a virtual pool under their public names.
type spaceInfo struct {
	BaseAddress device.Addr `json:"base_address"`
	vmm.Stats
	UnmappedShare float32 `json:"unmapped_share"`
	// FragmentationRatio hides the share under its name in vmm.
	FragmentationRatio *struct{} `json:"fragmentation_ratio,omitempty"`
}

func newSpaceInfo(base device.Addr, stats vmm.Stats) spaceInfo {
	return spaceInfo{BaseAddress: base, Stats: stats, UnmappedShare: stats.UnmappedShare}
}

type sharedSnapshot struct {
	Name       string           `json:"name"`
	Statistics track.Statistics `json:"statistics"`
	Info       sharedInfo       `json:"info"`
	Models     []modelInfo      `json:"models"`
}

// sharedInfo has the counters of an elastic pool under their public names.
type sharedInfo struct {
	PageBytes uint64 `json:"page_bytes"`
	vmm.GlobalStats
	NumModels uint64 `json:"num_models"`
	// Models hides the number under its name in vmm.
	Models *struct{} `json:"models,omitempty"`
}

// modelInfo has the counters of a model under their public names.
type modelInfo struct {
	BaseAddress device.Addr `json:"base_address"`
	vmm.ModelStats
	UnmappedShare float32 `json:"unmapped_share"`
	// FragmentationRatio hides the share under its name in vmm.
	FragmentationRatio *struct{} `json:"fragmentation_ratio,omitempty"`
}

func snapshotShared(p *vmm.Elastic) sharedSnapshot {
	stats := p.Stats()
	return sharedSnapshot{
		Name: p.Physical().Name(), Statistics: p.Physical().Statistics(),
		Info:   sharedInfo{PageBytes: p.PageBytes(), GlobalStats: stats.GlobalStats, NumModels: stats.GlobalStats.Models},
		Models: modelInfos(p, stats),
	}
}

// modelInfos returns the models of one moment, without those that were unregistered
// since.
func modelInfos(p *vmm.Elastic, stats vmm.ElasticStats) []modelInfo {
	infos := []modelInfo{}
	for _, each := range stats.Each {
		m, err := p.Model(each.ID)
		if err != nil {
			continue
		}
		infos = append(infos, modelInfo{BaseAddress: m.BaseAddress(), ModelStats: each, UnmappedShare: each.UnmappedShare})
	}
	return infos
}
