// Package library is what has to be one for each process: it starts and stops, opens
// devices, makes objects (pools, managers, monitors, ...) and finds them by their handles.
// An object embeds what it is of its room, and adds the calls that take further handles.
//
// It owns starting and stopping (counted), the handle tables of devices, pools,
// virtual and elastic pools, managers and registrations, the log, and the reports: backends, snapshot and
// leaks. The handles of memory, streams and events are the manager factory's.
// Tables and factory live as long as the Library, across stops and starts, so
// no handle is ever given out twice.
//
// What goes over everything that is alive (the close of a device, the stop, the count of
// what is left, the leak report, the snapshot, the search for an address) walks a registry
// of kinds in its order, or in the reverse one to end things: registry.go. A kind says in
// a file of its own, kind_*.go, what its objects are to these walks: whether they are over,
// of which device, what is live of them, what their records are, how they end by force.
// A new kind is such a file, a handle table and a line of the registry; life.go makes and
// ends its objects. Whoever calls an object that a handle has found asks CallError what
// its caller is to hear: the object may have ended meanwhile.
//
// It never allocates device memory itself, never names a driver and never
// decodes anything of the C ABI. It calls the caller's callbacks with no lock
// held, and holds no lock of its own while it waits for a stream, a callback
// or a pool.
//
// Every method may be called from any goroutine at any time. Between starts
// every call but Init, SetLog, Log, ReportDefect and LeakReportJSON is
// CodeNotInitialized; while a forced stop runs, too.
//
// Lock order: object.destroying, then Library.mu, then Device.gate, then the
// locks of the rooms below; logger.mu comes last and is a leaf but for the
// dispatcher's own lock, and running.mu is a leaf. Library.mu is held while a driver
// opens a device and while what is alive is counted, and never while anything is
// waited for but a stop or the closing of a device, on a condition that lets go of it.
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
// pools.go, streams.go, elastic_pools.go, managers.go.
package library
