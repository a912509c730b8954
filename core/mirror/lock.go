package mirror

import (
	"sync"
	"sync/atomic"
)

// Lock is a mutex for numbers that may be published, or lent (core/lending). The zero
// value is ready to use and publishes nothing.
type Lock struct {
	mu sync.Mutex
	// version is the version at the place of the published numbers; nil means no place.
	version   *atomic.Uint64
	published bool
	// recall takes lent numbers back; nil means that they are not lent.
	recall func()
}

// Lock takes the lock for a change. It invalidates published numbers and takes lent ones
// back.
func (l *Lock) Lock() {
	l.mu.Lock()
	if l.published {
		l.invalidate()
	}
	if l.recall != nil {
		l.recallLent()
	}
}

// LockToRead takes the lock to read. Published numbers stay valid, so the holder must not
// change them. Lent numbers are taken back; numbers are never published and lent at the
// same time.
func (l *Lock) LockToRead() {
	l.mu.Lock()
	if l.recall != nil {
		l.recallLent()
	}
}

// Lend states that other code changes the numbers from now on. The next Lock or LockToRead
// calls recall, with the lock held, before it returns. The caller holds the lock, by
// Lock.
func (l *Lock) Lend(recall func()) { l.recall = recall }

func (l *Lock) recallLent() {
	recall := l.recall
	l.recall = nil
	recall()
}

// Unlock releases the lock.
func (l *Lock) Unlock() { l.mu.Unlock() }

func (l *Lock) invalidate() {
	l.published = false
	l.version.Add(1)
}

// SetPlace sets where the numbers are published, by the version there; nil means nowhere.
// The caller holds the lock, by Lock. No other Lock may publish at that place until this
// one has another place.
func (l *Lock) SetPlace(version *atomic.Uint64) { l.version = version }

// NeedsPublish reports whether there is a place at which the numbers are not published. The
// caller holds the lock.
func (l *Lock) NeedsPublish() bool { return !l.published && l.version != nil }

// Publish states that the numbers at the place are the present ones. The caller has held the
// lock since before it read the numbers, and NeedsPublish was true.
func (l *Lock) Publish() {
	l.published = true
	l.version.Add(1)
}
