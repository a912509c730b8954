// Package kvcache manages the blocks of a paged KV cache: the keys and values that a language model keeps of
// the tokens before.
//
// A block has the keys and values of a fixed number of tokens, of all layers. Its number is the same in all
// layers. The block table of a sequence has the numbers of its blocks in the order of the tokens. Sequences
// share blocks after a fork, and by the hash of a prefix. A block has a count of references; an append copies
// a shared block before it changes it (copy on write). A published block without references stays cached until
// the cache needs it (least recently used first).
//
// A Cache owns the tables and the decisions. A Store owns the memory of the blocks, maps chunks of it, and makes
// the copies. Planes is the store in a pool, a virtual pool or a model of an elastic pool. Without a store the
// cache is the block manager of an inference engine, which makes the copies itself.
//
// A call changes all sequences of its list, or none: it first plans all of them, gets the blocks that are
// missing, and then makes changes that cannot fail. Where they can (copies), it undoes what it has done. An
// append allocates nothing: all tables have their size from the start, and have no pointers.
//
// # Lock order
//
// Cache.mu comes before the locks of the store. It is held during Store.Copy, Store.KeepAwake and Store.Close,
// but not during Store.Map and Store.Unmap, which may call reclaim callbacks, and so the Reclaim of another
// cache. A chunk that a call maps or unmaps is claimed: no other call touches it.
//
// # Files in reading order
//
// config.go, records.go, store.go, cache.go, stats.go, pressure.go, block.go, room.go, sequence.go, append.go, fork.go,
// allocate.go, swap.go, memory.go.
package kvcache
