package device

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFormatBytes(t *testing.T) {
	for bytes, want := range map[uint64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.00 KiB", 26861371392: "25.02 GiB", 1 << 40: "1024.00 GiB",
		10 << 40: "10.00 TiB", 1<<64 - 1: "16777216.00 TiB", 3 << 20: "3.00 MiB",
	} {
		assert.Equal(t, want, FormatBytes(bytes))
	}
}
