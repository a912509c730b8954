package library

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm"
)

// openElasticPool is an elastic pool that was made by ElasticPoolCreate.
type openElasticPool struct {
	object
	pool   *vmm.Elastic
	device *openDevice
}

// ElasticPoolCreate makes an elastic pool on a device.
func (l *Library) ElasticPoolCreate(deviceID uint64, c vmm.ElasticConfig) (uint64, error) {
	const op = "elastic_pool.create"
	d, err := l.making(op, deviceID)
	if err != nil {
		return 0, err
	}
	defer d.gate.leave()
	made, err := vmm.NewElastic(d.engine, c)
	if err != nil {
		return 0, on(err, d.engine)
	}
	entry := &openElasticPool{pool: made, device: d}
	entry.createdAt = time.Now()
	handle, err := l.elasticPools.Insert(entry)
	if err != nil {
		if closeErr := made.Close(true); closeErr != nil {
			l.log.printf(LogError, "%v: closing an elastic pool that got no handle: %v", d.engine.ID(), closeErr)
		}
		return 0, on(err, d.engine)
	}
	entry.handle.Store(handle)
	l.log.printf(LogDebug, "%v: elastic pool %q made, limit %d bytes in pages of %d", d.engine.ID(), c.Name,
		made.Limit(), made.PageBytes())
	return handle, nil
}

// ElasticPoolDestroy destroys an elastic pool with its models. While one of them has
// ranges, or allocations that wait, it is CodeBusy, unless forced.
func (l *Library) ElasticPoolDestroy(id uint64, force bool) error {
	const op = "elastic_pool.destroy"
	entry, err := l.elasticPool(op, id)
	if err != nil {
		return err
	}
	if !entry.destroying.TryLock() {
		return device.Errorf(device.CodeBusy, op,
			"elastic pool handle %#x: another call is destroying the pool", id).On(entry.device.engine.ID())
	}
	defer entry.destroying.Unlock()
	leaks := newLeakReport()
	if force {
		leaks.addRanges(entry.device, id, entry.pool.EachRange)
	}
	if err := l.dropElasticPool(id, entry, force); err != nil {
		return l.orLog(err, force, id)
	}
	l.logLeaks("elastic pool destroyed by force", leaks)
	return nil
}

// dropElasticPool closes an elastic pool and takes its handle away; entry.destroying
// is held.
func (l *Library) dropElasticPool(id uint64, entry *openElasticPool, force bool) error {
	if _, err := l.elasticPools.Get(id); err != nil {
		return err
	}
	if err := entry.pool.Close(force); err != nil {
		return on(err, entry.device.engine)
	}
	_, err := l.elasticPools.Remove(id)
	return err
}

func (l *Library) elasticPool(op string, id uint64) (*openElasticPool, error) {
	if l.current.Load() == nil {
		return nil, notStarted(op)
	}
	return l.elasticPools.Get(id)
}

// ElasticPoolInfo is the numbers of an elastic pool, and its page size.
func (l *Library) ElasticPoolInfo(id uint64) (stats vmm.GlobalStats, pageBytes uint64, err error) {
	entry, err := l.elasticPool("elastic_pool.info", id)
	if err != nil {
		return vmm.GlobalStats{}, 0, err
	}
	return entry.pool.GlobalStats(), entry.pool.PageBytes(), nil
}

// ElasticPoolStatistics is the books of an elastic pool.
func (l *Library) ElasticPoolStatistics(id uint64) (track.Statistics, error) {
	entry, err := l.elasticPool("elastic_pool.statistics", id)
	if err != nil {
		return track.Statistics{}, err
	}
	return entry.pool.Physical().Statistics(), nil
}

type modelsReport struct {
	Models []modelInfo `json:"models"`
}

// ElasticPoolModelsJSON describes all models of one moment, in the form that the
// public header gives.
func (l *Library) ElasticPoolModelsJSON(id uint64) ([]byte, error) {
	const op = "elastic_pool.models"
	entry, err := l.elasticPool(op, id)
	if err != nil {
		return nil, err
	}
	return encode(op, modelsReport{Models: modelInfos(entry.pool, entry.pool.Stats())})
}

// ElasticPoolSetLimit changes the limit of all models together; 0: what the device
// has.
func (l *Library) ElasticPoolSetLimit(id, limitBytes uint64) error {
	entry, err := l.elasticPool("elastic_pool.set_limit", id)
	if err != nil {
		return err
	}
	return late(entry.pool.SetLimit(limitBytes), entry)
}

// ElasticPoolCompact brings together what nobody uses.
func (l *Library) ElasticPoolCompact(id uint64) (vmm.CompactReport, error) {
	entry, err := l.elasticPool("elastic_pool.compact", id)
	if err != nil {
		return vmm.CompactReport{}, err
	}
	report, err := entry.pool.Physical().Compact()
	return report, late(err, entry)
}

// ElasticPoolTrim gives free pages back to the device until at most keepBytes of
// them are held, and says how much was given.
func (l *Library) ElasticPoolTrim(id, keepBytes uint64) (releasedBytes uint64, err error) {
	entry, err := l.elasticPool("elastic_pool.trim", id)
	if err != nil {
		return 0, err
	}
	released, err := entry.pool.Physical().Trim(keepBytes / entry.pool.PageBytes())
	return released, late(err, entry)
}

// ElasticPoolSynchronize waits until no range of any model is retiring any more, at
// most timeout (device.Forever: no limit, 0: only asks), else CodeTimeout.
func (l *Library) ElasticPoolSynchronize(id uint64, timeout time.Duration) error {
	entry, err := l.elasticPool("elastic_pool.synchronize", id)
	if err != nil {
		return err
	}
	return late(awaitFlights(entry.pool.Physical(), timeout), entry)
}

// ElasticPoolPause has the worker of an elastic pool make no more pages ready.
func (l *Library) ElasticPoolPause(id uint64) error {
	entry, err := l.elasticPool("elastic_pool.pause", id)
	if err != nil {
		return err
	}
	entry.pool.Physical().Pause()
	return nil
}

// ElasticPoolResume ends a ElasticPoolPause.
func (l *Library) ElasticPoolResume(id uint64) error {
	entry, err := l.elasticPool("elastic_pool.resume", id)
	if err != nil {
		return err
	}
	entry.pool.Physical().Resume()
	return nil
}
