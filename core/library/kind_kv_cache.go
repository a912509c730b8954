package library

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/kvcache"
	"ferrum_mem/core/vmm"
)

// KVCache is a paged KV cache with a handle.
type KVCache struct {
	object
	cache *kvcache.Cache
	// planes and device are nil if the program owns the memory of the blocks.
	planes *kvcache.Planes
	device *Device
	kind   dtype.DType
	tag    string
	// places are the pools with its memory.
	places []tensorPlace
	// model is that with its memory; nil: the memory is in none. offset is the start of its address space there.
	model  *vmm.Model
	offset uint64
	// held knows the tensors over its planes.
	held tensorHolder
	// using counts the accesses to planes by tensors.
	using *gate
	// reclaim gives memory to other models; nil: the memory is not in a model.
	reclaim *vmm.Reclaim

	// mu guards tokens. It is a leaf.
	mu sync.Mutex
	// tokens are those of the pressure callbacks.
	tokens []uint64
}

// KVCaches makes KV caches, and finds them by their handles. It is a part of a Library.
type KVCaches struct{ library *Library }

// KVCache finds a cache by its handle.
func (x *KVCaches) KVCache(op string, id uint64) (*KVCache, error) {
	return find(x.library, x.library.registry.kvCaches, op, id)
}

func (c *KVCache) hasEnded() bool    { return c.cache.IsClosed() }
func (c *KVCache) of(d *Device) bool { return c.device == d }

func (c *KVCache) known() (uint64, *engine.Engine) { return c.id(), c.engine() }

// engine returns that of the device of the memory, or nil.
func (c *KVCache) engine() *engine.Engine {
	if c.device == nil {
		return nil
	}
	return c.device.Engine
}

func (c *KVCache) leak() leak {
	found := c.alive("kv_cache", c.engine())
	found.Tag = c.tag
	return found
}

// String describes a pressure callback of the cache.
func (c *KVCache) String() string {
	return fmt.Sprintf("pressure callback of KV cache handle %#x", c.id())
}

// notInside rejects a call from a pressure callback of the cache, for which the call would wait.
func (c *KVCache) notInside(op string) error {
	c.mu.Lock()
	tokens := slices.Clone(c.tokens)
	c.mu.Unlock()
	if !slices.ContainsFunc(tokens, c.library.running.insideCallback) {
		return nil
	}
	return device.Errorf(device.CodeInvalidState, op, "called from a %v, for which the call would wait", c)
}

// endByForce ends the cache. It first waits for another call that ends it.
func (c *KVCache) endByForce(l *Library, _ uint64) error {
	const op = "kv_cache.destroy"
	if err := c.notInside(op); err != nil {
		return err
	}
	c.destroying.Lock()
	defer c.destroying.Unlock()
	return endOf(l.registry.kvCaches, c, func() error { return c.close(true) })
}

// Destroy ends the cache and frees its memory. Without force it returns CodeBusy while a sequence lives, or a
// tensor is a view of its planes.
func (c *KVCache) Destroy(force bool) error {
	const op = "kv_cache.destroy"
	if err := c.notInside(op); err != nil {
		return err
	}
	err := endNow(c.library.registry.kvCaches, op, c, func() error {
		if err := c.held.vacant(op, ""); err != nil && !force {
			return err
		}
		return c.close(force)
	})
	return c.library.log.orLog(err, force, c.id())
}

// close ends the cache. The caller holds destroying.
func (c *KVCache) close(force bool) error {
	end := func() error { return c.cache.Close(force) }
	var err error
	if c.device == nil {
		err = end()
	} else {
		err = c.using.endHeld("kv_cache.destroy", c.device.Engine, force, end)
	}
	if err != nil && !c.isGone() {
		return err
	}
	if c.reclaim != nil {
		c.reclaim.Remove(false)
	}
	for _, place := range c.places {
		place.holder.forgetCache(c)
	}
	return nil
}

// isGone reports whether a pool or the model with its memory has ended by force.
func (c *KVCache) isGone() bool {
	for _, place := range c.places {
		if place.isGone() {
			return true
		}
	}
	return false
}

// keepCache adds a cache to those that the place knows.
func (h *tensorHolder) keepCache(c *KVCache) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.caches == nil {
		h.caches = map[*KVCache]bool{}
	}
	h.caches[c] = true
}

func (h *tensorHolder) forgetCache(c *KVCache) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.caches, c)
}

// cachesIn lists the caches with memory in the place or in one of its models; model "": in any.
func (h *tensorHolder) cachesIn(model string) (list []*KVCache) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.caches {
		for _, place := range c.places {
			if place.holder == h && (model == "" || place.model == model) {
				list = append(list, c)
				break
			}
		}
	}
	return list
}

// endCaches ends the caches of a pool, or of one of its models, before it is destroyed. Without force it
// returns CodeBusy if there are some.
func (h *tensorHolder) endCaches(op, model string, force bool) error {
	list := h.cachesIn(model)
	for _, c := range list {
		if !force {
			return device.Errorf(device.CodeBusy, op, "KV cache handle %#x has its memory there", c.id())
		}
		if err := c.notInside(op); err != nil {
			return err
		}
	}
	var failed error
	for _, c := range list {
		// Another call may have ended it since.
		if err := c.endByForce(c.library, c.id()); err != nil && !errors.Is(err, device.CodeInvalidHandle) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}
