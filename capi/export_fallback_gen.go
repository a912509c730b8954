// Code generated from include/ferrum_mem/fallback.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/fallback"
	"ferrum_mem/core/library"
)

//export fmgo_memory_config_preset
func fmgo_memory_config_preset(preset C.int32_t, configOut *C.ferrum_memory_config) (status C.int32_t) {
	defer guard(&status)
	config, err := fallback.Preset.Config(numberOf[fallback.Preset](preset))
	if err != nil {
		return fail(err)
	}
	putMemoryConfig(configOut, &config)
	return 0
}

//export fmgo_memory_config_check
func fmgo_memory_config_check(config *C.ferrum_memory_config) (status C.int32_t) {
	defer guard(&status)
	configGiven, err := memoryConfigOf("config", config)
	if err != nil {
		return fail(err)
	}
	return done(fallback.MemoryConfig.Check(configGiven))
}

//export fmgo_memory_stats_ratios
func fmgo_memory_stats_ratios(stats *C.ferrum_memory_stats, ratiosOut *C.ferrum_memory_ratios) (status C.int32_t) {
	defer guard(&status)
	statsGiven, err := memoryStatsOf("stats", stats)
	if err != nil {
		return fail(err)
	}
	ratios := fallback.MemoryStats.Ratios(statsGiven)
	putMemoryRatios(ratiosOut, &ratios)
	return 0
}

//export fmgo_memory_stats_merge
func fmgo_memory_stats_merge(stats *C.ferrum_memory_stats, other *C.ferrum_memory_stats, mergedOut *C.ferrum_memory_stats) (status C.int32_t) {
	defer guard(&status)
	statsGiven, err := memoryStatsOf("stats", stats)
	if err != nil {
		return fail(err)
	}
	otherGiven, err := memoryStatsOf("other", other)
	if err != nil {
		return fail(err)
	}
	merged := fallback.MemoryStats.Merge(statsGiven, otherGiven)
	putMemoryStats(mergedOut, &merged)
	return 0
}

//export fmgo_memory_stats_text
func fmgo_memory_stats_text(stats *C.ferrum_memory_stats, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	statsGiven, err := memoryStatsOf("stats", stats)
	if err != nil {
		return fail(err)
	}
	text := fallback.MemoryStats.String(statsGiven)
	return giveText(buffer, capacity, lengthOut, text, nil)
}

//export fmgo_buffer_id_new
func fmgo_buffer_id_new(idOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	id := fallback.NewBufferID()
	return give(idOut, id, nil)
}

//export fmgo_buffer_id_text
func fmgo_buffer_id_text(bufferID C.uint64_t, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	text := fallback.BufferID.String(fallback.BufferID(bufferID))
	return giveText(buffer, capacity, lengthOut, text, nil)
}

//export fmgo_tracker_create
func fmgo_tracker_create(trackerOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	tracker, err := lib.TrackerCreate()
	return give(trackerOut, tracker, err)
}

//export fmgo_tracker_destroy
func fmgo_tracker_destroy(tracker C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Tracker("tracker.destroy", uint64(tracker))
	if err != nil {
		return fail(err)
	}
	return done(object.Destroy())
}

//export fmgo_tracker_track
func fmgo_tracker_track(tracker C.uint64_t, metadata *C.ferrum_buffer_metadata) (status C.int32_t) {
	defer guard(&status)
	metadataGiven, err := bufferMetadataOf("metadata", metadata)
	if err != nil {
		return fail(err)
	}
	object, err := lib.Tracker("tracker.track", uint64(tracker))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Track(metadataGiven), object))
}

//export fmgo_tracker_untrack
func fmgo_tracker_untrack(tracker C.uint64_t, bufferID C.uint64_t, metadataOut *C.ferrum_buffer_metadata) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Tracker("tracker.untrack", uint64(tracker))
	if err != nil {
		return fail(err)
	}
	metadata, err := object.Untrack(fallback.BufferID(bufferID))
	if err != nil {
		return fail(library.CallError(err, object))
	}
	putBufferMetadata(metadataOut, &metadata)
	return 0
}

//export fmgo_tracker_get
func fmgo_tracker_get(tracker C.uint64_t, bufferID C.uint64_t, metadataOut *C.ferrum_buffer_metadata) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Tracker("tracker.get", uint64(tracker))
	if err != nil {
		return fail(err)
	}
	metadata, err := object.Get(fallback.BufferID(bufferID))
	if err != nil {
		return fail(library.CallError(err, object))
	}
	putBufferMetadata(metadataOut, &metadata)
	return 0
}

//export fmgo_tracker_get_all
func fmgo_tracker_get_all(tracker C.uint64_t, metadataOut *C.ferrum_buffer_metadata, capacity C.size_t, countOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Tracker("tracker.all", uint64(tracker))
	if err != nil {
		return fail(err)
	}
	metadata := object.All()
	return giveArray(metadataOut, capacity, countOut, metadata, putBufferMetadata, "metadata")
}

//export fmgo_tracker_find_old
func fmgo_tracker_find_old(tracker C.uint64_t, ageNs C.uint64_t, metadataOut *C.ferrum_buffer_metadata, capacity C.size_t, countOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Tracker("tracker.find_old", uint64(tracker))
	if err != nil {
		return fail(err)
	}
	metadata := object.FindOld(ageOf(ageNs))
	return giveArray(metadataOut, capacity, countOut, metadata, putBufferMetadata, "metadata")
}

//export fmgo_tracker_get_totals
func fmgo_tracker_get_totals(tracker C.uint64_t, totalsOut *C.ferrum_tracker_totals) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Tracker("tracker.totals", uint64(tracker))
	if err != nil {
		return fail(err)
	}
	totals := object.Totals()
	putTrackerTotals(totalsOut, &totals)
	return 0
}

//export fmgo_tracker_clear
func fmgo_tracker_clear(tracker C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.Tracker("tracker.clear", uint64(tracker))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Clear(), object))
}

//export fmgo_generic_pool_create
func fmgo_generic_pool_create(config *C.ferrum_memory_config, poolOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	configGiven, err := memoryConfigOf("config", config)
	if err != nil {
		return fail(err)
	}
	poolFound, err := lib.GenericPoolCreate(configGiven)
	return give(poolOut, poolFound, err)
}

//export fmgo_generic_pool_destroy
func fmgo_generic_pool_destroy(pool C.uint64_t, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	force, err := forced(flags)
	if err != nil {
		return fail(err)
	}
	object, err := lib.GenericPool("generic_pool.destroy", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(object.Destroy(force))
}

//export fmgo_generic_pool_record_allocation
func fmgo_generic_pool_record_allocation(pool C.uint64_t, sizeBytes C.uint64_t, use *C.ferrum_buffer_use, idOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	useGiven, err := bufferUseOf("use", use)
	if err != nil {
		return fail(err)
	}
	object, err := lib.GenericPool("generic_pool.record_allocation", uint64(pool))
	if err != nil {
		return fail(err)
	}
	id, err := object.RecordAllocation(uint64(sizeBytes), useGiven)
	return give(idOut, id, library.CallError(err, object))
}

//export fmgo_generic_pool_try_get
func fmgo_generic_pool_try_get(pool C.uint64_t, minBytes C.uint64_t, use *C.ferrum_buffer_use, leaseOut *C.ferrum_buffer_lease, foundOut *C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	useGiven, err := bufferUseOf("use", use)
	if err != nil {
		return fail(err)
	}
	object, err := lib.GenericPool("generic_pool.try_get", uint64(pool))
	if err != nil {
		return fail(err)
	}
	lease, found, err := object.TryGet(uint64(minBytes), useGiven)
	if err != nil {
		return fail(library.CallError(err, object))
	}
	putBufferLease(leaseOut, &lease)
	setTruth(foundOut, found)
	return 0
}

//export fmgo_generic_pool_return
func fmgo_generic_pool_return(pool C.uint64_t, lease *C.ferrum_buffer_lease, keptOut *C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	leaseGiven, err := bufferLeaseOf("lease", lease)
	if err != nil {
		return fail(err)
	}
	object, err := lib.GenericPool("generic_pool.return", uint64(pool))
	if err != nil {
		return fail(err)
	}
	kept, err := object.Return(leaseGiven)
	return giveTruth(keptOut, kept, library.CallError(err, object))
}

//export fmgo_generic_pool_add_free
func fmgo_generic_pool_add_free(pool C.uint64_t, buffer C.uint64_t, sizeBytes C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.GenericPool("generic_pool.add_free", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.AddFree(uint64(buffer), uint64(sizeBytes)), object))
}

//export fmgo_generic_pool_drain
func fmgo_generic_pool_drain(pool C.uint64_t, leasesOut *C.ferrum_buffer_lease, capacity C.size_t, countOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.GenericPool("generic_pool.drain", uint64(pool))
	if err != nil {
		return fail(err)
	}
	leases, leasesCount, err := object.Drain(uint64(capacity))
	*countOut = C.size_t(leasesCount)
	if err != nil {
		return fail(library.CallError(err, object))
	}
	fillArray(leasesOut, leases, putBufferLease)
	return 0
}

//export fmgo_generic_pool_get_pooled_count
func fmgo_generic_pool_get_pooled_count(pool C.uint64_t, countOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.GenericPool("generic_pool.pooled_count", uint64(pool))
	if err != nil {
		return fail(err)
	}
	count, err := object.PooledCount()
	return give(countOut, count, library.CallError(err, object))
}

//export fmgo_generic_pool_get_stats
func fmgo_generic_pool_get_stats(pool C.uint64_t, statsOut *C.ferrum_memory_stats) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.GenericPool("generic_pool.stats", uint64(pool))
	if err != nil {
		return fail(err)
	}
	stats, err := object.Stats()
	if err != nil {
		return fail(library.CallError(err, object))
	}
	putMemoryStats(statsOut, &stats)
	return 0
}

//export fmgo_generic_pool_record_cpu_fallback
func fmgo_generic_pool_record_cpu_fallback(pool C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.GenericPool("generic_pool.record_cpu_fallback", uint64(pool))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.RecordCPUFallback(), object))
}

//export fmgo_generic_pool_get_tracker
func fmgo_generic_pool_get_tracker(pool C.uint64_t, trackerOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.GenericPool("generic_pool.tracker", uint64(pool))
	if err != nil {
		return fail(err)
	}
	tracker, err := object.Tracker()
	return give(trackerOut, tracker, library.CallError(err, object))
}

//export fmgo_fallback_manager_create
func fmgo_fallback_manager_create(dev C.uint64_t, host C.uint64_t, config *C.ferrum_memory_config, managerOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	configGiven, err := memoryConfigOf("config", config)
	if err != nil {
		return fail(err)
	}
	managerFound, err := lib.FallbackManagerCreate(uint64(dev), uint64(host), configGiven)
	return give(managerOut, managerFound, err)
}

//export fmgo_fallback_manager_destroy
func fmgo_fallback_manager_destroy(manager C.uint64_t, flags C.uint32_t) (status C.int32_t) {
	defer guard(&status)
	force, err := forced(flags)
	if err != nil {
		return fail(err)
	}
	object, err := lib.FallbackManager("fallback_manager.destroy", uint64(manager))
	if err != nil {
		return fail(err)
	}
	return done(object.Destroy(force))
}

//export fmgo_fallback_manager_get_backend_name
func fmgo_fallback_manager_get_backend_name(manager C.uint64_t, buffer *C.char, capacity C.size_t, lengthOut *C.size_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.FallbackManager("fallback_manager.backend_name", uint64(manager))
	if err != nil {
		return fail(err)
	}
	text := object.BackendName()
	return giveText(buffer, capacity, lengthOut, text, nil)
}

//export fmgo_fallback_manager_get_stats
func fmgo_fallback_manager_get_stats(manager C.uint64_t, statsOut *C.ferrum_memory_stats) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.FallbackManager("fallback_manager.stats", uint64(manager))
	if err != nil {
		return fail(err)
	}
	stats := object.Stats()
	putMemoryStats(statsOut, &stats)
	return 0
}

//export fmgo_fallback_manager_get_fallback_stats
func fmgo_fallback_manager_get_fallback_stats(manager C.uint64_t, statsOut *C.ferrum_fallback_stats) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.FallbackManager("fallback_manager.fallback_stats", uint64(manager))
	if err != nil {
		return fail(err)
	}
	stats := object.FallbackStats()
	putFallbackStats(statsOut, &stats)
	return 0
}

//export fmgo_fallback_manager_get_memory
func fmgo_fallback_manager_get_memory(manager C.uint64_t, totalOut *C.uint64_t, freeOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.FallbackManager("fallback_manager.memory", uint64(manager))
	if err != nil {
		return fail(err)
	}
	total, free, err := object.Memory()
	if err != nil {
		return fail(library.CallError(err, object))
	}
	set(totalOut, total)
	set(freeOut, free)
	return 0
}

//export fmgo_fallback_manager_get_pressure
func fmgo_fallback_manager_get_pressure(manager C.uint64_t, levelOut *C.int32_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.FallbackManager("fallback_manager.pressure", uint64(manager))
	if err != nil {
		return fail(err)
	}
	level, err := object.Pressure()
	if err != nil {
		return fail(library.CallError(err, object))
	}
	set(levelOut, level)
	return 0
}

//export fmgo_fallback_manager_clear_pool
func fmgo_fallback_manager_clear_pool(manager C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.FallbackManager("fallback_manager.clear_pool", uint64(manager))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.ClearPool(), object))
}

//export fmgo_fallback_manager_shrink
func fmgo_fallback_manager_shrink(manager C.uint64_t, releasedOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.FallbackManager("fallback_manager.shrink", uint64(manager))
	if err != nil {
		return fail(err)
	}
	released, err := object.Shrink()
	return give(releasedOut, released, library.CallError(err, object))
}

//export fmgo_fallback_manager_get_tracker
func fmgo_fallback_manager_get_tracker(manager C.uint64_t, trackerOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.FallbackManager("fallback_manager.tracker", uint64(manager))
	if err != nil {
		return fail(err)
	}
	tracker, err := object.Tracker()
	return give(trackerOut, tracker, library.CallError(err, object))
}

//export fmgo_fallback_manager_alloc
func fmgo_fallback_manager_alloc(manager C.uint64_t, request *C.ferrum_buffer_request, bufferOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	requestGiven, err := bufferRequestOf("request", request)
	if err != nil {
		return fail(err)
	}
	object, err := lib.FallbackManager("fallback_manager.alloc", uint64(manager))
	if err != nil {
		return fail(err)
	}
	buffer, err := object.Alloc(requestGiven)
	return give(bufferOut, buffer, library.CallError(err, object))
}

//export fmgo_fallback_manager_return_buffers
func fmgo_fallback_manager_return_buffers(manager C.uint64_t, movedOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.FallbackManager("fallback_manager.return_buffers", uint64(manager))
	if err != nil {
		return fail(err)
	}
	moved, err := object.ReturnBuffers()
	return give(movedOut, moved, library.CallError(err, object))
}

//export fmgo_fallback_buffer_free
func fmgo_fallback_buffer_free(buffer C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.FallbackBuffer("fallback_buffer.free", uint64(buffer))
	if err != nil {
		return fail(err)
	}
	return done(object.Free(uint64(stream)))
}

//export fmgo_fallback_buffer_get_info
func fmgo_fallback_buffer_get_info(buffer C.uint64_t, infoOut *C.ferrum_fallback_buffer_info) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.FallbackBuffer("fallback_buffer.info", uint64(buffer))
	if err != nil {
		return fail(err)
	}
	info, err := object.Info()
	if err != nil {
		return fail(library.CallError(err, object))
	}
	putFallbackBufferInfo(infoOut, &info)
	return 0
}

//export fmgo_fallback_buffer_get_address
func fmgo_fallback_buffer_get_address(buffer C.uint64_t, location C.int32_t, addressOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.FallbackBuffer("fallback_buffer.address", uint64(buffer))
	if err != nil {
		return fail(err)
	}
	address, err := object.Address(numberOf[fallback.Side](location))
	return give(addressOut, address, library.CallError(err, object))
}

//export fmgo_fallback_buffer_move
func fmgo_fallback_buffer_move(buffer C.uint64_t, location C.int32_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.FallbackBuffer("fallback_buffer.move", uint64(buffer))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Move(numberOf[fallback.Side](location)), object))
}

//export fmgo_fallback_buffer_pin
func fmgo_fallback_buffer_pin(buffer C.uint64_t, addressOut *C.uint64_t, locationOut *C.int32_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.FallbackBuffer("fallback_buffer.pin", uint64(buffer))
	if err != nil {
		return fail(err)
	}
	address, location, err := object.PinAddr()
	if err != nil {
		return fail(library.CallError(err, object))
	}
	set(addressOut, address)
	set(locationOut, location)
	return 0
}

//export fmgo_fallback_buffer_unpin
func fmgo_fallback_buffer_unpin(buffer C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.FallbackBuffer("fallback_buffer.unpin", uint64(buffer))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Unpin(), object))
}

//export fmgo_fallback_buffer_write
func fmgo_fallback_buffer_write(buffer C.uint64_t, offsetBytes C.uint64_t, source C.uintptr_t, sizeBytes C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.FallbackBuffer("fallback_buffer.write", uint64(buffer))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Write(uint64(offsetBytes), device.HostAddr(source), uint64(sizeBytes)), object))
}

//export fmgo_fallback_buffer_read
func fmgo_fallback_buffer_read(buffer C.uint64_t, offsetBytes C.uint64_t, destination C.uintptr_t, sizeBytes C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.FallbackBuffer("fallback_buffer.read", uint64(buffer))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Read(uint64(offsetBytes), device.HostAddr(destination), uint64(sizeBytes)), object))
}

//export fmgo_fallback_buffer_take
func fmgo_fallback_buffer_take(buffer C.uint64_t, location C.int32_t, addressOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.FallbackBuffer("fallback_buffer.take", uint64(buffer))
	if err != nil {
		return fail(err)
	}
	address, err := object.Take(numberOf[fallback.Side](location))
	return give(addressOut, address, err)
}

//export fmgo_fallback_manager_adopt
func fmgo_fallback_manager_adopt(manager C.uint64_t, location C.int32_t, address C.uint64_t, request *C.ferrum_buffer_request, bufferOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	requestGiven, err := bufferRequestOf("request", request)
	if err != nil {
		return fail(err)
	}
	object, err := lib.FallbackManager("fallback_manager.adopt", uint64(manager))
	if err != nil {
		return fail(err)
	}
	buffer, err := object.Adopt(numberOf[fallback.Side](location), device.Addr(address), requestGiven)
	return give(bufferOut, buffer, library.CallError(err, object))
}

//export fmgo_fallback_manager_release
func fmgo_fallback_manager_release(manager C.uint64_t, location C.int32_t, address C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := lib.FallbackManager("fallback_manager.release", uint64(manager))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Release(numberOf[fallback.Side](location), device.Addr(address), uint64(stream)), object))
}

//export fmgo_round_up_power_of_2
func fmgo_round_up_power_of_2(n C.uint64_t, resultOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	result, err := fallback.RoundUpPowerOf2(uint64(n))
	return give(resultOut, result, err)
}

//export fmgo_size_class
func fmgo_size_class(sizeBytes C.uint64_t, classBytesOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	classBytes, err := fallback.SizeClass(uint64(sizeBytes))
	return give(classBytesOut, classBytes, err)
}

//export fmgo_f32_bytes
func fmgo_f32_bytes(count C.uint64_t, bytesOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	bytes, err := fallback.F32Bytes(uint64(count))
	return give(bytesOut, bytes, err)
}

//export fmgo_f16_bytes
func fmgo_f16_bytes(count C.uint64_t, bytesOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	bytes, err := fallback.F16Bytes(uint64(count))
	return give(bytesOut, bytes, err)
}
