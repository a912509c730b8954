package pool

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/track"
)

// A value that is written for a slot can be read again, whether it fits into a short word
// or not. The reference model is a map.
func TestInfoTableAgainstAMap(t *testing.T) {
	for _, exactSizes := range []bool{true, false} {
		rapid.Check(t, func(t *rapid.T) {
			table, model := newInfoTable(exactSizes), map[uint32]blockInfo{}
			defer table.free()
			require.NoError(t, table.extend(64))
			tag := rapid.OneOf(rapid.Uint32Range(0, 3), rapid.Uint32Range(1<<tagLowBits-2, 1<<tagLowBits+1),
				rapid.Uint32Range(0, track.MaxTags-1))
			slack := rapid.OneOf(rapid.Uint64Range(0, 3), rapid.Uint64Range(1<<slackLowBits-2, 1<<slackLowBits+1),
				rapid.Uint64Range(0, maxSlackBytes))
			for range rapid.IntRange(1, 200).Draw(t, "steps") {
				slot := rapid.Uint32Range(0, 20).Draw(t, "slot")
				state := blockState(rapid.Uint64Range(0, uint64(blockLeaving)).Draw(t, "state"))
				number, bytes := tag.Draw(t, "tag"), slack.Draw(t, "slack")
				info := makeInfo(state, number, bytes)
				require.Equal(t, state, info.state())
				require.Equal(t, number, info.tag())
				require.Equal(t, bytes, info.slack())
				if rapid.Bool().Draw(t, "recorded") {
					info |= recordedBit
				}
				table.setInfo(slot, info)
				model[slot] = info
				at := rapid.Uint32Range(0, 20).Draw(t, "at")
				require.Equal(t, model[at], table.infoAt(at))
			}
			require.NoError(t, table.extend(5000))
			for slot := range uint32(21) {
				require.Equal(t, model[slot], table.infoAt(slot))
				table.setInfo(slot, 0)
			}
			require.Empty(t, table.large)
			require.GreaterOrEqual(t, table.slots, uint32(5000))
		})
	}
}
