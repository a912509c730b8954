package library

import (
	"time"

	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm"
)

// ElasticPoolCreate makes an elastic pool on a device.
func (l *Library) ElasticPoolCreate(deviceID uint64, c vmm.ElasticConfig) (uint64, error) {
	return create(l, l.elasticPools, "elastic_pool.create", deviceID, func(d *openDevice) (*openElasticPool, error) {
		made, err := vmm.NewElastic(d.engine, c)
		return &openElasticPool{pool: made, device: d}, err
	}, func(_ uint64, p *openElasticPool) {
		l.log.printf(LogDebug, "%v: elastic pool %q made, limit %d bytes in pages of %d", p.device.engine.ID(), c.Name,
			p.pool.Limit(), p.pool.PageBytes())
	})
}

// ElasticPoolDestroy destroys an elastic pool with its models. While one of them has
// ranges, or allocations that wait, it is CodeBusy, unless forced.
func (l *Library) ElasticPoolDestroy(id uint64, force bool) error {
	return destroy(l, l.elasticPools, "elastic_pool.destroy", id, force)
}

// ElasticPoolInfo describes an elastic pool.
type ElasticPoolInfo struct {
	vmm.GlobalStats
	PageBytes uint64
}

// ElasticPoolGetInfo describes an elastic pool.
func (l *Library) ElasticPoolGetInfo(id uint64) (ElasticPoolInfo, error) {
	return tell(l, l.elasticPools, "elastic_pool.info", id, func(p *openElasticPool) ElasticPoolInfo {
		return ElasticPoolInfo{GlobalStats: p.pool.GlobalStats(), PageBytes: p.pool.PageBytes()}
	})
}

// ElasticPoolGetStatistics is the books of an elastic pool.
func (l *Library) ElasticPoolGetStatistics(id uint64) (track.Statistics, error) {
	return tell(l, l.elasticPools, "elastic_pool.statistics", id, func(p *openElasticPool) track.Statistics { return p.pool.Physical().Statistics() })
}

type modelsReport struct {
	Models []modelInfo `json:"models"`
}

// ElasticPoolModelsJSON describes all models of one moment, in the form that the
// public header gives.
func (l *Library) ElasticPoolModelsJSON(id uint64) ([]byte, error) {
	const op = "elastic_pool.models"
	entry, err := find(l, l.elasticPools, op, id)
	if err != nil {
		return nil, err
	}
	return encode(op, modelsReport{Models: modelInfos(entry.pool, entry.pool.Stats())})
}

// ElasticPoolSetLimit changes the limit of all models together; 0: what the device
// has.
func (l *Library) ElasticPoolSetLimit(id, limitBytes uint64) error {
	return do(l, l.elasticPools, "elastic_pool.set_limit", id, func(p *openElasticPool) error { return p.pool.SetLimit(limitBytes) })
}

// ElasticPoolCompact brings together what nobody uses.
func (l *Library) ElasticPoolCompact(id uint64) (vmm.CompactReport, error) {
	return ask(l, l.elasticPools, "elastic_pool.compact", id, func(p *openElasticPool) (vmm.CompactReport, error) { return p.pool.Physical().Compact() })
}

// ElasticPoolTrim gives free pages back to the device until at most keepBytes of
// them are held, and says how much was given.
func (l *Library) ElasticPoolTrim(id, keepBytes uint64) (releasedBytes uint64, err error) {
	return ask(l, l.elasticPools, "elastic_pool.trim", id, func(p *openElasticPool) (uint64, error) {
		return p.pool.Physical().Trim(keepBytes / p.pool.PageBytes())
	})
}

// ElasticPoolSynchronize waits until no range of any model is retiring any more, at
// most timeout (device.Forever: no limit, 0: only asks), else CodeTimeout.
func (l *Library) ElasticPoolSynchronize(id uint64, timeout time.Duration) error {
	return do(l, l.elasticPools, "elastic_pool.synchronize", id, func(p *openElasticPool) error { return awaitFlights(p.pool.Physical(), timeout) })
}

// ElasticPoolPause has the worker of an elastic pool make no more pages ready.
func (l *Library) ElasticPoolPause(id uint64) error {
	return do(l, l.elasticPools, "elastic_pool.pause", id, func(p *openElasticPool) error {
		p.pool.Physical().Pause()
		return nil
	})
}

// ElasticPoolResume ends a ElasticPoolPause.
func (l *Library) ElasticPoolResume(id uint64) error {
	return do(l, l.elasticPools, "elastic_pool.resume", id, func(p *openElasticPool) error {
		p.pool.Physical().Resume()
		return nil
	})
}
