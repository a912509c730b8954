package library

import (
	"time"

	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm"
)

// ElasticPoolCreate makes an elastic pool on a device.
func (l *Library) ElasticPoolCreate(deviceID uint64, c vmm.ElasticConfig) (uint64, error) {
	return create(l, l.registry.elasticPools, "elastic_pool.create", deviceID, func(d *Device) (*ElasticPool, error) {
		made, err := vmm.NewElastic(d.Engine, c)
		return &ElasticPool{Elastic: made, device: d}, err
	}, func(_ uint64, p *ElasticPool) {
		l.log.printf(LogDebug, "%v: elastic pool %q made, limit %d bytes in pages of %d", p.device.Engine.ID(), c.Name,
			p.Limit(), p.PageBytes())
	})
}

// Destroy destroys the pool with its models. While one of them has ranges, or allocations
// that wait, it is CodeBusy, unless forced.
func (p *ElasticPool) Destroy(force bool) error {
	return destroy(p.library.registry.elasticPools, "elastic_pool.destroy", p, force)
}

// ElasticPoolInfo describes an elastic pool.
type ElasticPoolInfo struct {
	vmm.GlobalStats
	PageBytes uint64
}

// Info describes the pool.
func (p *ElasticPool) Info() ElasticPoolInfo {
	return ElasticPoolInfo{GlobalStats: p.GlobalStats(), PageBytes: p.PageBytes()}
}

// Statistics is the books of the pool.
func (p *ElasticPool) Statistics() track.Statistics { return p.Physical().Statistics() }

type modelsReport struct {
	Models []modelInfo `json:"models"`
}

// ModelsJSON describes all models of one moment, in the form that the public header gives.
func (p *ElasticPool) ModelsJSON() ([]byte, error) {
	return encode("elastic_pool.models", modelsReport{Models: modelInfos(p.Elastic, p.Stats())})
}

// Compact brings together what nobody uses.
func (p *ElasticPool) Compact() (vmm.CompactReport, error) { return p.Physical().Compact() }

// Trim gives free pages back to the device until at most keepBytes of them are held, and
// says how much was given.
func (p *ElasticPool) Trim(keepBytes uint64) (releasedBytes uint64, err error) {
	return p.Physical().Trim(keepBytes / p.PageBytes())
}

// Synchronize waits until no range of any model is retiring any more, at most timeout
// (device.Forever: no limit, 0: only asks), else CodeTimeout.
func (p *ElasticPool) Synchronize(timeout time.Duration) error {
	return awaitFlights(p.Physical(), timeout)
}

// Pause has the worker of the pool make no more pages ready.
func (p *ElasticPool) Pause() { p.Physical().Pause() }

// Resume ends a Pause.
func (p *ElasticPool) Resume() { p.Physical().Resume() }
