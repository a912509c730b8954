package kvcache

import (
	"slices"

	"ferrum_mem/core/pressure"
)

// Listener is a function that is called when the level of the used blocks changes.
type Listener struct {
	cache *Cache
	call  func(pressure.Level)
	// removed is guarded by Cache.mu.
	removed bool
}

// OnLevel adds a listener. It is called by the thread whose call changed the level, before that call returns,
// with no lock held, and may call the cache. The calls of all listeners of a cache follow each other. A closed
// cache calls none.
func (c *Cache) OnLevel(call func(pressure.Level)) *Listener {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := &Listener{cache: c, call: call}
	// A call of listeners may go over the list.
	c.listeners = append(slices.Clone(c.listeners), l)
	return l
}

// Remove ends a listener: it is not called again. It waits for running calls of the listeners of the cache,
// unless inside states that it is called from one of them.
func (l *Listener) Remove(inside bool) {
	c := l.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	l.removed = true
	c.listeners = slices.DeleteFunc(slices.Clone(c.listeners), func(other *Listener) bool { return other == l })
	for c.notifying && !inside {
		c.changed.Wait()
	}
}

// leave releases mu at the end of a call, and reports a change of the level. A call from inside of a listener
// leaves the report to the call that the listener runs in.
func (c *Cache) leave() {
	for !c.notifying && !c.closed {
		now := c.bounds.Next(c.level, uint64(c.counts.used))
		if now == c.level {
			break
		}
		if c.level = now; len(c.listeners) > 0 {
			c.notify(now)
		}
	}
	c.mu.Unlock()
}

// notify calls the listeners with a level. The caller holds mu, which notify releases meanwhile.
func (c *Cache) notify(now pressure.Level) {
	listeners := c.listeners
	c.notifying = true
	defer func() {
		c.notifying = false
		c.changed.Broadcast()
	}()
	for _, l := range listeners {
		if !l.removed {
			l.notify(now)
		}
	}
}

// notify calls the function. The caller holds mu, which notify releases meanwhile.
func (l *Listener) notify(now pressure.Level) {
	defer l.cache.mu.Lock()
	l.cache.mu.Unlock()
	l.call(now)
}
