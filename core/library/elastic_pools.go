package library

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm"
)

// ElasticPoolCreate creates an elastic pool on a device.
func (l *Library) ElasticPoolCreate(deviceID uint64, c vmm.ElasticConfig) (uint64, error) {
	return create(l, l.registry.elasticPools, "elastic_pool.create", deviceID, func(d *Device) (*ElasticPool, error) {
		made, err := vmm.NewElastic(d.Engine, c)
		return &ElasticPool{Elastic: made, device: d}, err
	}, func(_ uint64, p *ElasticPool) {
		l.log.printf(LogDebug, "%v: elastic pool %q created, limit %v in pages of %v", p.device.Engine.ID(), c.Name,
			device.Size(p.Limit()), device.Size(p.PageBytes()))
	})
}

// Destroy destroys the pool with its models. Without force it returns CodeBusy while a
// model has ranges or waiting allocations.
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

// Statistics returns the counters of the pool.
func (p *ElasticPool) Statistics() track.Statistics { return p.Physical().Statistics() }

type modelsReport struct {
	Models []modelInfo `json:"models"`
}

// ModelsJSON describes all models at one moment, in the form that the public header
// documents.
func (p *ElasticPool) ModelsJSON() ([]byte, error) {
	return encode("elastic_pool.models", modelsReport{Models: modelInfos(p.Elastic, p.Stats())})
}

// Compact joins unused pages.
func (p *ElasticPool) Compact() (vmm.CompactReport, error) { return p.Physical().Compact() }

// Trim releases free pages to the device until at most keepBytes of them are held, and
// returns the released bytes.
func (p *ElasticPool) Trim(keepBytes uint64) (releasedBytes uint64, err error) {
	return p.Physical().Trim(keepBytes / p.PageBytes())
}

// Synchronize waits until no range of any model is retiring. It returns CodeTimeout if
// that takes longer than timeout (device.Forever: no limit, 0: no wait).
func (p *ElasticPool) Synchronize(timeout time.Duration) error {
	return awaitFlights(p.Physical(), timeout)
}

// Pause stops the worker of the pool from making pages ready.
func (p *ElasticPool) Pause() { p.Physical().Pause() }

// Resume ends a Pause.
func (p *ElasticPool) Resume() { p.Physical().Resume() }
