package header

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Numbers of any length are read as pickle writes them: in two's complement, little-endian.
func TestLongNumbers(t *testing.T) {
	for raw, want := range map[string]any{
		"":                                 int64(0),
		"\x00":                             int64(0),
		"\xff":                             int64(-1),
		"\xff\x00":                         int64(255),
		"\x00\xff":                         int64(-256),
		"\x80":                             int64(-128),
		"\x01\x02\x03\x04\x05":             int64(0x0504030201),
		"\xff\xff\xff\xff\xff\xff\xff\x7f": int64(1<<63 - 1),
		"\x00\x00\x00\x00\x00\x00\x00\x80": int64(-1 << 63),
		"\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00":     int64(5),
		"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff": int64(-2),
		"\x00\x00\x00\x00\x00\x00\x00\x80\x00":         "a number of 9 bytes: 000000000000008000",
	} {
		m := machine{in: fromMemory("f", []byte(raw)), data: []byte(raw)}
		require.Equal(t, want, m.long(uint64(len(raw))), "%x", raw)
		assert.NoError(t, m.err)
	}
}
