package plan

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// The order of the items decides which of several possible items a search tries first. No
// order is good for all inputs, so the search changes between several. Large sizes, long
// lifetimes and full sections are hard, and hard items come first.

// criterion compares two items. The harder one is less.
type criterion func(a, b *item) int

func bySize(a, b *item) int     { return cmp.Compare(b.size, a.size) }
func byDuration(a, b *item) int { return cmp.Compare(b.duration, a.duration) }
func byLoad(a, b *item) int     { return cmp.Compare(b.load, a.load) }

// byArea compares bytes × time. Only the order matters, so a rounded product will do.
func byArea(a, b *item) int {
	return cmp.Compare(float64(b.size)*float64(b.duration), float64(a.size)*float64(a.duration))
}

// fixedOrders are tried first. The greedy placement uses largestFirst.
var fixedOrders = [][]criterion{
	{byLoad, byArea, byDuration},
	{byDuration, byArea, byLoad},
	{byLoad, byDuration, byArea},
	largestFirst,
	{byArea, bySize},
}

var largestFirst = []criterion{bySize, byDuration}

// ordered returns the positions of the items in an order. Items that are equal by all
// criteria stay in order of their begin.
func ordered(items []item, criteria []criterion) []int32 {
	order := make([]int32, len(items))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		for _, compare := range criteria {
			if c := compare(&items[a], &items[b]); c != 0 {
				return c
			}
		}
		return cmp.Compare(a, b)
	})
	return order
}

// shuffled returns an order near to the given one: each item moves by a random number of
// places, usually fewer than spread × the number of items.
func shuffled(order []int32, spread float64, random *rand.Rand) []int32 {
	type placed struct {
		at   float64
		item int32
	}
	moved := make([]placed, len(order))
	for at, i := range order {
		moved[at] = placed{float64(at) + random.NormFloat64()*spread*float64(len(order)), i}
	}
	slices.SortFunc(moved, func(a, b placed) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.item, b.item)) })
	result := make([]int32, len(order))
	for at := range moved {
		result[at] = moved[at].item
	}
	return result
}
