// Package library is the state that exists once in a process. It starts and stops the
// library, opens devices, creates objects (pools, managers, monitors, ...) and finds them
// by their handles. An object embeds the type of its package and adds the calls that take
// further handles.
//
// The package owns the counted start and stop, the handle tables of devices, pools,
// virtual and elastic pools, managers and registrations, the log, and the reports:
// backends, snapshot and leaks. The manager factory owns the handles of memory, streams
// and events. Tables and factory exist as long as the Library, across stops and starts, so
// that no handle is issued twice.
//
// Some operations visit everything that is live: the close of a device, the stop, the
// count of remaining objects, the leak report, the snapshot, the search for an address. They
// traverse a registry of kinds in order (registry.go), and in the reverse order to end
// objects. A kind describes its objects for these operations in a file of its own,
// kind_*.go: whether they have ended, their device, their live parts, their records,
// and how a forced end works. A new kind is such a file, a handle table and a line of the
// registry; life.go creates and ends its objects. A caller that has found an object by its
// handle passes the object's error through CallError, because the object may have ended
// meanwhile.
//
// The package never allocates device memory itself, never names a driver and never decodes
// the C ABI. It calls callbacks with no lock held, and holds no lock of its own while it
// waits for a stream, a callback or a pool.
//
// Every method may be called from any goroutine at any time. Between two starts, and
// during a forced stop, every call returns CodeNotInitialized, except for Init, SetLog,
// Log, ReportDefect and LeakReportJSON.
//
// A Weights and a TensorSet have locks of their own, which come after object.destroying and
// before all others: Weights.mu, TensorSet.mu, tensorHolder.mu, sharedSource.mu. KVCache.mu is a leaf. Weights.mu
// is held while Close waits for readers, on a condition that releases it.
//
// Lock order: object.destroying, then Library.mu, then Device.gate, then the locks of the
// packages below. logger.mu comes last and is a leaf except for the dispatcher's own lock;
// running.mu is a leaf. Library.mu is held while a driver opens a device and while live
// objects are counted. The only waits with Library.mu are those for a stop or for the
// closing of a device, on a condition that releases it.
//
// # Files in reading order
//
// log.go, running.go, mirrors.go, snapshot_virtual.go, version.go, gate.go, library.go,
// calls.go, backends.go, leaks.go, kind_device.go, member.go, registry.go, leak_collect.go,
// owners.go, ended.go, handlers.go, snapshot.go, kind_registration.go, leftovers.go, life.go,
// kind_pool.go, pool_blocks.go, kind_vpool.go, kind_generic_pool.go, leak_groups.go, debug.go,
// log_calls.go, kind_queue.go, kind_buffer.go, callbacks.go, monitors.go, vpools.go,
// placements.go, start.go, kind_monitor.go, monitor_json.go, devices.go, discovery.go,
// kind_manager.go, sharing.go, advanced.go, kind_elastic_pool.go, models.go, sleep.go,
// kind_tracker.go, generic_pools.go, kind_fallback_manager.go, buffers.go, trackers.go,
// fallback_managers.go, kind_placement.go, placement_json.go, graphs.go, thread_caches.go,
// pools.go, streams.go, elastic_pools.go, managers.go, kind_tensor_set.go, kind_weights.go,
// weight_memories.go, weights.go, weight_loads.go, weight_files.go, weight_decoders.go,
// kind_tensor.go, tensors.go, tensor_calls.go, dlpack.go,
// kind_compute.go, computes.go, program_backends.go, program_layers.go, layer_calls.go,
// kind_executor.go, executors.go, program_passes.go, definitions.go, exports.go, kind_kv_cache.go,
// kv_memory.go, kv_caches.go.
package library
