package kvcache

import "ferrum_mem/core/pressure"

// OnLevel sets the function that is called when the level of the used blocks changes; nil: none. It is called
// by the thread whose call changed the level, before that call returns, with no lock held, and may call the
// cache. Calls of it follow each other. OnLevel waits for a running call of the present function, unless
// inside states that it is called from there.
func (c *Cache) OnLevel(inside bool, fn func(pressure.Level)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.notifying && !inside {
		c.changed.Wait()
	}
	c.onLevel, c.level = fn, c.bounds.LevelOf(uint64(c.counts.used))
}

// leave releases mu at the end of a call, and reports a change of the level. A call from inside of the
// function leaves the report to the call that made it.
func (c *Cache) leave() {
	for c.onLevel != nil && !c.notifying {
		now := c.bounds.Next(c.level, uint64(c.counts.used))
		if now == c.level {
			break
		}
		c.report(now)
	}
	c.mu.Unlock()
}

// report calls the function with a level. The caller holds mu, which report releases meanwhile.
func (c *Cache) report(now pressure.Level) {
	fn := c.onLevel
	c.level, c.notifying = now, true
	defer func() {
		c.mu.Lock()
		c.notifying = false
		c.changed.Broadcast()
	}()
	c.mu.Unlock()
	fn(now)
}
