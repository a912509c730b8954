package mappings

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

// naive is the reference model of a mapping: a range with its number of uses, and its
// state.
type naive struct {
	m       *Mapping
	uses    int
	settled bool
	writing bool
	copied  *bool
}

// Mappings are joined, settled, released, written back and forgotten in any order, and
// compared with a plain list. A range is found again while it is used, two that write
// do not overlap, and each copy is freed once, by its owner.
func TestMappingsAgainstAPlainList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table Table
		var list []*naive
		var given []*bool
		last := uint64(0)
		drop := func(n *naive) { list = slices.DeleteFunc(list, func(o *naive) bool { return o == n }) }
		newCopy := func() (*Copy, *bool) {
			freed := new(bool)
			given = append(given, freed)
			return &Copy{Addr: device.HostAddr(0x100 * len(given)), Free: func() {
				require.False(t, *freed, "freed twice")
				*freed = true
			}}, freed
		}
		pick := func(fits func(*naive) bool) *naive {
			var some []*naive
			for _, n := range list {
				if fits(n) {
					some = append(some, n)
				}
			}
			if len(some) == 0 {
				return nil
			}
			return some[rapid.IntRange(0, len(some)-1).Draw(t, "which")]
		}
		join := func() {
			r := Range{OffsetBytes: rapid.Uint64Range(0, 6).Draw(t, "offset"), SizeBytes: rapid.Uint64Range(1, 4).Draw(t, "size")}
			r.Reads = rapid.Bool().Draw(t, "reads")
			r.Writes = !r.Reads || rapid.Bool().Draw(t, "writes")
			var same, clash *naive
			for _, n := range list {
				if n.m.Range == r && !n.writing && same == nil && clash == nil {
					same = n
				}
				if same == nil && clash == nil && r.Writes && n.m.Range.Writes {
					for at := r.OffsetBytes; at < r.OffsetBytes+r.SizeBytes; at++ {
						if at >= n.m.Range.OffsetBytes && at < n.m.Range.OffsetBytes+n.m.Range.SizeBytes {
							clash = n
							break
						}
					}
				}
			}
			m, made, refused := table.Join(r)
			switch {
			case same != nil:
				require.Same(t, same.m, m)
				require.False(t, made)
				same.uses++
			case clash != nil:
				require.Equal(t, device.CodeBusy, refused.Code)
				require.Same(t, clash.m, refused.Mapping)
			default:
				require.True(t, made)
				require.Greater(t, m.ID, last)
				last = m.ID
				list = append(list, &naive{m: m, uses: 1})
			}
		}
		settle := func() {
			n := pick(func(n *naive) bool { return !n.settled })
			if n == nil {
				return
			}
			if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
				failure := errors.New("refused")
				table.Settle(n.m, 0, nil, failure)
				require.Equal(t, failure, n.m.Failure)
				drop(n)
			} else {
				var copied *Copy
				if rapid.Bool().Draw(t, "copy") {
					copied, n.copied = newCopy()
				}
				table.Settle(n.m, 77, copied, nil)
				require.EqualValues(t, 77, n.m.Addr)
				n.settled = true
			}
			<-n.m.Settled
		}
		leave := func() {
			ready := func(n *naive) bool { return n.settled && !n.writing }
			id := rapid.Uint64Range(0, last+1).Draw(t, "id")
			var want *naive
			for _, n := range list {
				if ready(n) && (id == 0 || n.m.ID == id) {
					want = n
				}
			}
			ended, writeBack, found := table.Release(id)
			require.Equal(t, want != nil, found)
			if want == nil {
				return
			}
			want.uses--
			switch {
			case want.uses > 0:
				require.Nil(t, ended)
				require.Nil(t, writeBack)
			case want.copied != nil && want.m.Range.Writes:
				require.Same(t, want.m, writeBack)
				want.writing, want.uses = true, 1
			default:
				require.Same(t, want.m, ended)
				drop(want)
				if want.copied != nil {
					require.True(t, *want.copied)
				}
			}
		}
		written := func() {
			n := pick(func(n *naive) bool { return n.writing })
			if n == nil {
				return
			}
			if rapid.Bool().Draw(t, "fails") {
				table.Resume(n.m)
				n.writing = false
				return
			}
			table.End(n.m)
			drop(n)
			require.True(t, *n.copied)
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			[]func(){join, settle, leave, written}[rapid.IntRange(0, 3).Draw(t, "step")]()
			require.Equal(t, len(list), table.Len())
		}
		table.Forget()
		require.Zero(t, table.Len())
		for _, n := range list {
			if n.copied != nil {
				require.Equal(t, !n.writing, *n.copied, "the unmap that writes the staging copy back frees it")
				if n.writing {
					n.m.Copy.Free()
				}
			}
		}
		for _, freed := range given {
			require.True(t, *freed)
		}
	})
}

func TestAMappingIsUsedAsOftenAsCanBeCounted(t *testing.T) {
	var table Table
	m, made, _ := table.Join(Range{SizeBytes: 1, Reads: true})
	require.True(t, made)
	m.count = math.MaxUint32
	_, _, refused := table.Join(Range{SizeBytes: 1, Reads: true})
	require.Equal(t, device.CodeResourceExhausted, refused.Code)
	require.EqualValues(t, math.MaxUint32, refused.Uses)
	require.Equal(t, 1, table.Len())
}
