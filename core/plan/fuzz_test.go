package plan

import (
	"context"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/tests/mutation"
)

// FuzzPlace checks the promise of Place for any buffers: a right placement, or a typed
// error.
func FuzzPlace(f *testing.F) {
	f.Add(encode([]Buffer{{0, 9, 5, 1}, {3, 4, 6, 2}, {4, 9, 6, 0}}), uint64(11))
	f.Add(encode([]Buffer{{math.MinInt64, math.MaxInt64, 1 << 60, 1}, {0, 1, 1, 1 << 40}}), uint64(0))
	f.Add(encode([]Buffer{{5, 5, 1, 1}}), uint64(0))
	f.Add(encode([]Buffer{{5, 6, 0, 3}}), uint64(1))
	f.Fuzz(func(t *testing.T, text []byte, limit uint64) {
		mutation.Also(func(t *testing.T, text []byte) { checkEncoded(t, text, limit) })(t, text)
	})
}

func checkEncoded(t *testing.T, text []byte, limit uint64) {
	const size = 32
	var buffers []Buffer
	for ; len(text) >= size && len(buffers) < 64; text = text[size:] {
		word := func(i int) uint64 { return binary.LittleEndian.Uint64(text[8*i:]) }
		buffers = append(buffers, Buffer{int64(word(0)), int64(word(1)), word(2), word(3)})
	}
	p, err := Place(context.Background(), buffers, Options{Steps: 300, LimitBytes: limit})
	if err != nil {
		require.Contains(t, []device.Code{
			device.CodeInvalidArgument, device.CodeInvalidSize, device.CodeInvalidAlignment, device.CodeOverflow,
		}, device.CodeOf(err), err)
		return
	}
	check(t, buffers, p)
}

func encode(buffers []Buffer) []byte {
	var out []byte
	for _, b := range buffers {
		for _, word := range []uint64{uint64(b.Lower), uint64(b.Upper), b.SizeBytes, b.AlignmentBytes} {
			out = binary.LittleEndian.AppendUint64(out, word)
		}
	}
	return out
}
