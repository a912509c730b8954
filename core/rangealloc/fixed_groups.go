package rangealloc

const (
	groupWays    = 4
	groupBuckets = 1024
)

// fixedGroups remembers the page from which each group allocated last. A strategy does
// not know when a group has ended, so the table is a cache: each bucket has the four
// groups that were used last. A group that was removed is placed like a new one.
type fixedGroups struct {
	buckets [][groupWays]fixedGroup
}

type fixedGroup struct {
	number uint64 // 0: none
	page   uint32
	// batched is set if the group has requested more than one block at once.
	batched bool
}

func (g *fixedGroups) bucket(number uint64) *[groupWays]fixedGroup {
	return &g.buckets[number*0x9e3779b97f4a7c15>>32%groupBuckets]
}

func (g *fixedGroups) find(number uint64) (page uint32, known, batched bool) {
	if g.buckets == nil {
		return 0, false, false
	}
	for _, group := range g.bucket(number) {
		if group.number == number {
			return group.page, true, group.batched
		}
	}
	return 0, false, false
}

// put makes the group the first of its bucket.
func (g *fixedGroups) put(number uint64, page uint32, batched bool) {
	if g.buckets == nil {
		g.buckets = make([][groupWays]fixedGroup, groupBuckets)
	}
	bucket := g.bucket(number)
	at := 0
	for at < groupWays-1 && bucket[at].number != number {
		at++
	}
	copy(bucket[1:at+1], bucket[:at])
	bucket[0] = fixedGroup{number: number, page: page, batched: batched}
}
