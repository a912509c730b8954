package manager

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// modelMapping is the reference model of a mapping: how often it was created, and the
// bytes that its copy must have.
type modelMapping struct {
	request MapRequest
	id      uint64
	count   int
	addr    device.HostAddr
}

func (m *modelMapping) overlaps(r MapRequest) bool {
	return m.request.OffsetBytes < r.OffsetBytes+r.SizeBytes && r.OffsetBytes < m.request.OffsetBytes+m.request.SizeBytes
}

// TestMappingsAgainstAModel: a block of bytes on a device that the host cannot
// address, ranges of it mapped, written through and ended in any order.
func TestMappingsAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 64
		r := newRig(t, devicetest.Config{Backed: true})
		m, copies := r.manager(t, nil), copiesOn(r)
		h := m.mustAlloc(t, size)
		content := counting(size)
		r.write(t, h, content)
		var live []*modelMapping
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if len(live) > 0 && rapid.IntRange(0, 2).Draw(t, "end") == 0 {
				at := rapid.IntRange(0, len(live)-1).Draw(t, "which")
				ended := live[at]
				require.NoError(t, r.factory.Unmap(h, ended.id))
				if ended.count--; ended.count > 0 {
					continue
				}
				if ended.request.Access.writes() {
					copy(content[ended.request.OffsetBytes:], copies.bytes[ended.addr])
				}
				live = append(live[:at], live[at+1:]...)
				require.Equal(t, content, r.bytes(t, h))
				continue
			}
			offset := rapid.Uint64Range(0, size-1).Draw(t, "offset")
			request := MapRequest{
				Memory: h, OffsetBytes: offset, SizeBytes: rapid.Uint64Range(1, size-offset).Draw(t, "size"),
				Access: HostAccess(rapid.Int32Range(0, 2).Draw(t, "access")),
			}
			var same *modelMapping
			clash := false
			for _, other := range live {
				if other.request == request {
					same = other
				}
				clash = clash || other.overlaps(request) && other.request.Access.writes() && request.Access.writes()
			}
			mapped, err := r.factory.Map(request)
			switch {
			case same != nil:
				require.NoError(t, err)
				require.Equal(t, same.id, mapped.ID)
				require.Equal(t, same.addr, mapped.HostAddr)
				same.count++
			case clash:
				require.Equal(t, device.CodeBusy, device.CodeOf(err), "%v", err)
				continue
			default:
				require.NoError(t, err)
				same = &modelMapping{request: request, id: mapped.ID, count: 1, addr: mapped.HostAddr}
				live = append(live, same)
				if request.Access.reads() {
					require.Equal(t, content[offset:offset+request.SizeBytes], copies.bytes[mapped.HostAddr])
				} else {
					copy(copies.bytes[mapped.HostAddr], content[offset:])
				}
			}
			// A program may write through the pointer of a read mapping as well; the
			// write has no effect on the block.
			if same.count == 1 && (request.Access.writes() || rapid.Bool().Draw(t, "stray")) {
				copies.bytes[same.addr][0]++
			}
		}
		info, err := r.factory.HandleInfo(h)
		require.NoError(t, err)
		require.Equal(t, len(live) > 0, info.IsMapped)
		require.Equal(t, len(live), copies.live())
		if len(live) == 0 {
			require.NoError(t, r.factory.Free(h))
		} else {
			require.Equal(t, device.CodeBusy, device.CodeOf(r.factory.Free(h)))
		}
		r.finish(t)
		require.Zero(t, copies.live())
	})
}
