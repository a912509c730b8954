// Package dummy implements named lists of items. Tests use them to try each shape of a
// function.
//
// A List owns its items and the objects that it has adopted. Its lock is a leaf. It calls
// release functions without the lock.
package dummy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/core/job"
)

// Order is the order in which items are listed.
type Order int32

// The orders.
const (
	OrderGiven Order = iota
	OrderSize
)

// The traits of a list. They can be combined.
const (
	TraitUnique = 1 << iota
	TraitClosed
	traitAll = TraitUnique | TraitClosed
)

// Extent is a range of bytes.
type Extent struct{ OffsetBytes, SizeBytes uint64 }

// Item is an item of a list.
type Item struct {
	Name   string
	Extent Extent
	Rank   int32
}

// Config holds the settings of a list.
type Config struct {
	Order          Order
	Name           string
	Room           Extent
	Unique, Closed bool
}

// Info is the state of a list.
type Info struct {
	Order                 Order
	Name                  string
	Room                  Extent
	Items                 uint64
	Unique, Closed, Empty bool
}

// Sorted is the result of a sort.
type Sorted struct{ Moved uint64 }

// List is a list of items.
type List struct {
	name string
	room Extent

	mu     sync.Mutex
	order  Order
	traits uint32
	items  []Item
	kept   []func()
	// ended is set by Release. After that the list adopts nothing.
	ended bool
	// may is closed while jobs may make steps.
	may chan struct{}
}

// New creates a list without items.
func New(c Config) (*List, error) {
	if err := c.Order.check("dummy.create"); err != nil {
		return nil, err
	}
	l := &List{name: c.Name, room: c.Room, order: c.Order, may: make(chan struct{})}
	close(l.may)
	if c.Unique {
		l.traits |= TraitUnique
	}
	if c.Closed {
		l.traits |= TraitClosed
	}
	return l, nil
}

func (o Order) check(op string) error {
	if o != OrderGiven && o != OrderSize {
		return device.Errorf(device.CodeInvalidArgument, op, "order is %d: want 0 or 1", o)
	}
	return nil
}

// Info returns the state of the list.
func (l *List) Info() Info {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Info{
		Order: l.order, Name: l.name, Room: l.room, Items: uint64(len(l.items)),
		Unique: l.traits&TraitUnique != 0, Closed: l.traits&TraitClosed != 0, Empty: len(l.items) == 0,
	}
}

// SetTraits replaces the traits.
func (l *List) SetTraits(traits uint32) error {
	if traits&^traitAll != 0 {
		return device.Errorf(device.CodeInvalidArgument, "dummy.set_traits", "traits is %#x: only %#x is known", traits, traitAll)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.traits = traits
	return nil
}

// Add adds all items, or none if one is invalid.
func (l *List) Add(items []Item) error {
	const op = "dummy.add"
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open(op); err != nil {
		return err
	}
	grown := slices.Clone(l.items)
	for i, item := range items {
		switch {
		case item.Name == "":
			return device.Errorf(device.CodeInvalidArgument, op, "items[%d] has no name", i)
		case l.traits&TraitUnique != 0 && indexOf(grown, item.Name) >= 0:
			return device.Errorf(device.CodeAlreadyExists, op, "items[%d]: there is an item %q", i, item.Name)
		case !l.room.holds(item.Extent):
			return device.Errorf(device.CodeInvalidOffset, op, "items[%d]: %d bytes at %d are not within the room",
				i, item.Extent.SizeBytes, item.Extent.OffsetBytes)
		}
		grown = append(grown, item)
	}
	l.items = grown
	return nil
}

func (l *List) open(op string) error {
	if l.traits&TraitClosed != 0 {
		return device.Errorf(device.CodeInvalidState, op, "dummy %q is closed", l.name)
	}
	return nil
}

func (e Extent) holds(inner Extent) bool {
	return e == Extent{} || inner.OffsetBytes >= e.OffsetBytes && inner.SizeBytes <= e.SizeBytes &&
		inner.OffsetBytes-e.OffsetBytes <= e.SizeBytes-inner.SizeBytes
}

func indexOf(items []Item, name string) int {
	return slices.IndexFunc(items, func(i Item) bool { return i.Name == name })
}

// jsonItem is the JSON form of an item.
type jsonItem struct {
	Name        string `json:"name"`
	OffsetBytes uint64 `json:"offset_bytes"`
	SizeBytes   uint64 `json:"size_bytes"`
	Rank        int32  `json:"rank"`
}

// AddJSON adds the items of a JSON text, as Add does.
func (l *List) AddJSON(text []byte) error {
	const op = "dummy.add_json"
	var found []jsonItem
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&found); err != nil {
		return device.Errorf(device.CodeInvalidFormat, op, "the items are malformed: %v", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return device.Errorf(device.CodeInvalidFormat, op, "something follows the items")
	}
	items := make([]Item, len(found))
	for i, f := range found {
		items[i] = Item{Name: f.Name, Extent: Extent{f.OffsetBytes, f.SizeBytes}, Rank: f.Rank}
	}
	return l.Add(items)
}

// Items returns the items in the order of the list.
func (l *List) Items() []Item {
	l.mu.Lock()
	defer l.mu.Unlock()
	return inOrder(l.items, l.order)
}

func inOrder(items []Item, order Order) []Item {
	items = slices.Clone(items)
	if order == OrderSize {
		slices.SortStableFunc(items, bySize)
	}
	return items
}

func bySize(a, b Item) int { return cmp.Compare(a.Extent.SizeBytes, b.Extent.SizeBytes) }

// NamesJSON returns the names of the items, in the order of the list, as a JSON array.
func (l *List) NamesJSON() ([]byte, error) {
	names := []string{}
	for _, item := range l.Items() {
		names = append(names, item.Name)
	}
	return json.Marshal(names)
}

// Find returns the index and the first item with this name.
func (l *List) Find(name string) (uint64, Item, error) {
	items := l.Items()
	i := indexOf(items, name)
	if i < 0 {
		return 0, Item{}, device.Errorf(device.CodeNotFound, "dummy.find", "there is no item %q", name)
	}
	return uint64(i), items[i], nil
}

// Remove removes all items with these names, or none if a name is unknown. It returns the
// number of removed items.
func (l *List) Remove(names []string) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, name := range names {
		if indexOf(l.items, name) < 0 {
			return 0, device.Errorf(device.CodeNotFound, "dummy.remove", "names[%d]: there is no item %q", i, name)
		}
	}
	left := slices.DeleteFunc(slices.Clone(l.items), func(i Item) bool { return slices.Contains(names, i.Name) })
	removed := uint64(len(l.items) - len(left))
	l.items = left
	return removed, nil
}

// Adopt keeps an object of the caller. Release calls the release function once.
func (l *List) Adopt(release func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open("dummy.adopt"); err != nil {
		return err
	}
	if l.ended {
		return device.Errorf(device.CodeInvalidState, "dummy.adopt", "dummy %q has ended", l.name)
	}
	l.kept = append(l.kept, release)
	return nil
}

// Release calls the release functions of all adopted objects. The list must not be used
// afterwards.
func (l *List) Release() {
	l.mu.Lock()
	kept := l.kept
	l.kept = nil
	l.ended = true
	l.mu.Unlock()
	for _, release := range kept {
		release()
	}
}

// Hold stops jobs before their next step, or lets them continue.
func (l *List) Hold(held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isHeld() == held {
		return
	}
	if held {
		l.may = make(chan struct{})
	} else {
		close(l.may)
	}
}

func (l *List) isHeld() bool {
	select {
	case <-l.may:
		return false
	default:
		return true
	}
}

// Sort starts to sort the items of the list, one item in each step.
func (l *List) Sort(order Order) (*job.Job[Sorted], error) {
	const op = "dummy.sort"
	if err := order.check(op); err != nil {
		return nil, err
	}
	given := inOrder(l.Items(), OrderGiven)
	return job.Start(op, uint64(len(given)), func(s *job.Steps) (Sorted, error) {
		return l.sort(s, given, order)
	}), nil
}

// sort works on a copy, so a cancelled job changes nothing.
func (l *List) sort(s *job.Steps, given []Item, order Order) (Sorted, error) {
	sorted := []Item{}
	for _, item := range given {
		l.mu.Lock()
		may := l.may
		l.mu.Unlock()
		if err := s.Next(may); err != nil {
			return Sorted{}, err
		}
		at := len(sorted)
		if order == OrderSize {
			at, _ = slices.BinarySearchFunc(sorted, item, func(a, b Item) int {
				// Items of equal size keep their order.
				return cmp.Or(bySize(a, b), -1)
			})
		}
		sorted = slices.Insert(sorted, at, item)
		s.Did()
	}
	var moved uint64
	for i := range given {
		if given[i] != sorted[i] {
			moved++
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.items = sorted
	return Sorted{Moved: moved}, nil
}
