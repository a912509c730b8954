// Package vmm is elastic virtual memory: address space that is reserved as a whole, and
// physical pages that are mapped into it on demand.
//
// Physical is the set of pages of one size of a device. The pages are reused and bounded,
// and a worker keeps a few ready. The engine sees a Physical: its counters, limits and
// reclaim path. A space is a piece of address space with its page table. A Pool is a space
// with a Physical of its own. An Elastic pool has one Physical and a space for each of its
// models.
//
// Allocations may sleep (sleep.go): they keep their addresses, and the contents of their
// pages are in host memory or a file until they wake, or stay where they are (in_place.go).
//
// The package never touches the bytes of a page: the device zeroes pages that pass from
// one owner to another, except those that a wake overwrites, and copies the contents for
// sleep and wake. It never moves live memory, and allocates nothing smaller than a page.
// It starts only these goroutines: the worker of a Physical, which ends with it; those of
// the reclaim callbacks, which end with their removal; and those of a Sleep or Wake, which
// end before the call does.
//
// # Cost of an allocation
//
// The caller of Alloc waits for one Map and one SetAccess for each run of fresh pages. It
// waits for no driver call if the range was freed recently and still has its pages (space:
// parked). The worker creates pages before they are needed, and unmaps and releases them
// afterwards. It keeps ReadyPages idle, and takes parked pages before it creates new ones.
// When no allocation has needed them for a window of time, it unmaps parked pages and
// releases idle ones above ReadyPages. An allocation unmaps parked pages or creates pages
// itself only if there is no idle page, and starts the reclaim path of the engine only if
// the device has no memory.
//
// # How an elastic pool distributes pages
//
// The limit is on what models use: mapped, retiring or granted. quota.go has the
// arithmetic and the order in which models release pages; quota_line.go the order in which
// waiting allocations are served; elastic_admit.go the stages of an allocation;
// elastic_search.go what is tried when pages are short; elastic_supply.go what happens
// when the device has less than the limit. An allocation first gets unused pages of its
// own model, then clean pages, then unused pages of the models of lowest priority.
//
// # Lock order
//
// Elastic.limits, then space.mu, then Elastic.mu, then Physical.mu, then worker.mu, then
// the locks of the engine's totals. worker.round, which is held during a step of the
// worker, comes before all of them.
//
//   - sleeper.turn comes before all others: one Sleep or Wake of a space holds it from
//     start to end. The state of sleeping ranges is under space.mu.
//   - space.mu: the page table (pageTable), allocations and retiring ranges of a
//     space. Only driver calls that do not wait are made under it (Event.Done,
//     Event.Close). Pages that are being mapped or unmapped are claimed: no other
//     thread touches them, and the driver calls are made with no lock.
//   - Elastic.limits: one change of the limit of an elastic pool at a time. It is held
//     during Physical.SetLimit, so it comes before worker.round as well.
//   - Elastic.mu: the quota, the queues of waiting allocations, and the list of
//     models. No driver call is made under it, and nothing waits. Only Elastic.Stats
//     and an Elastic.Close without force take the locks of several spaces, in the
//     order of the list of models.
//   - Physical.mu: lists and numbers of pages, and the counters. No driver call is
//     made under it.
//   - lateThreads.mu comes after space.mu, and nothing is called under it.
//
// Otherwise a thread holds the locks of one space at most. A reclaim callback is called
// with no lock held. Engine.FindRoom, Engine.Changed, Engine.SegmentsChanged and the log
// are called with none of them; the engine's SegmentsChanged with worker.round at most.
//
// # Files in reading order
//
// records.go, table.go, config.go, targets.go, in_place.go, physical.go, space.go, take.go, worker.go, quota.go,
// quota_line.go, retire.go, engine_pool.go, place_wait.go, map.go, sleep_request.go,
// sleep_sweep.go, sleep_state.go, model_place.go, sleep_space.go, free.go, release.go, elastic.go, compact.go,
// users_wait.go, stats.go, close.go, pool.go, model.go, batch.go, elastic_reclaim.go, ranges.go,
// elastic_admit.go, elastic_supply.go, elastic_stats.go, elastic_search.go, elastic_models.go,
// elastic_close.go, sleep_pages.go, sleep_free.go, export.go, wake.go, keep_awake.go, sleep.go, record.go,
// sleep_end.go, wake_end.go.
package vmm
