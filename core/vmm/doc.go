// Package vmm is elastic virtual memory: address space that is reserved as a
// whole, and physical pages that come and go behind it.
//
// Physical is the pages of one size of a device: recycled, bounded, a few kept
// ready by a worker. It is what the engine sees: its books, limits and search for
// room. A space is a piece of address space with its page table. A Pool is a space
// with a Physical of its own; a Elastic pool has one Physical and a space for each of
// its models.
//
// Allocations may sleep (sleep.go): they keep their addresses, and what their pages
// held is in host memory or a file until they wake.
//
// The package never touches the bytes of a page (the device makes pages zeros that
// go from one owner to another, and copies what sleeps and wakes), never moves what is
// live, and hands out nothing smaller than a page. No goroutine is started but the
// worker of a Physical, which ends with it, those of the reclaim callbacks, which end
// with their removal, and those of a Sleep or Wake, which end before the call does.
//
// # What an allocation costs
//
// The caller of Alloc waits for one Map and one SetAccess for each run of fresh
// pages; for nothing of the device where the range was freed a moment ago
// and still has its pages (space: parked). Pages are created ahead, and unmapped and
// given back behind, by the worker: it keeps ReadyPages idle, taking parked ones
// before it creates any, and after a window in which nobody wanted them it unmaps
// parked pages and gives back idle ones above ReadyPages. Only an allocation that
// finds no idle page unmaps parked ones or creates pages itself, and only one that
// the device has no room for climbs the search for room of the engine.
//
// # Who gets the pages of a Elastic pool
//
// The limit is on what models use: mapped, retiring or granted. quota.go has the
// arithmetic and the order in which models give; quota_line.go the order in which
// allocations that wait are served; elastic_admit.go the stages that each passes;
// elastic_search.go what is tried when pages are short; elastic_supply.go what happens
// when the device has less than the limit. Pages that nobody uses go to whoever asks:
// its own first, then clean ones, then those of the lowest priority.
//
// # Lock order
//
// Elastic.limits, then space.mu, then Elastic.mu, then Physical.mu, then worker.mu, then the locks of the engine's totals.
// worker.round, which is held over a step of the worker, stands above all of them.
//
//   - sleeper.turn, above all others: one Sleep or Wake of a space holds it from its
//     start to its end. What sleeps is under space.mu.
//   - space.mu: the page table (pageTable), allocations and retiring ranges of a space. Under it
//     only driver calls that do not wait are made (Event.Done, Event.Close). Pages
//     that are being mapped or unmapped are claimed: no other thread touches them,
//     and the calls are made with no lock.
//   - Elastic.limits: one change of the limit of an elastic pool at a time. It is held
//     over Physical.SetLimit, so above worker.round as well.
//   - Elastic.mu: the quota, the lines of those who wait, and the list of models. No
//     driver call is made under it, and nobody waits. Elastic.Stats and a
//     Elastic.Close without force alone take the locks of several spaces, in the order
//     of the list of models.
//   - Physical.mu: lists and numbers of pages, and the books. No driver call is made
//     under it.
//
// Else a thread holds the locks of one space at most. A reclaim callback is asked
// with no lock held. Engine.FindRoom, Engine.Changed,
// Engine.SegmentsChanged and the log are called with none of them; the engine's
// SegmentsChanged with worker.round at most.
//
// # Files in reading order
//
// records.go, table.go, config.go, physical.go, space.go, take.go, worker.go, quota.go,
// quota_line.go, retire.go, engine_pool.go, place_wait.go, map.go, sleep_request.go,
// sleep_state.go, model_place.go, sleep_space.go, free.go, release.go, elastic.go, compact.go,
// users_wait.go, stats.go, close.go, pool.go, model.go, elastic_reclaim.go, ranges.go,
// elastic_admit.go, elastic_supply.go, elastic_stats.go, elastic_search.go, elastic_models.go,
// elastic_close.go, sleep_lull.go, sleep_free.go, export.go, wake.go, sleep.go, record.go,
// sleep_end.go, wake_end.go.
package vmm
