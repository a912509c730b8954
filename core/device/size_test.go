package device

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSizesInMessages(t *testing.T) {
	for bytes, want := range map[uint64]string{
		0: "0 bytes", 1: "1 byte", 1000: "1000 bytes", 64<<10 - 1: "65535 bytes", 64 << 10: "64 KiB", 96 << 10: "96 KiB",
		1 << 20: "1 MiB", 3 << 19: "1.50 MiB (1572864 bytes)", 1<<30 - 1: "1024.00 MiB (1073741823 bytes)",
		8 << 30: "8 GiB", 8<<30 + 1: "8.00 GiB (8589934593 bytes)", 1 << 40: "1024 GiB", 16 << 40: "16 TiB",
		1<<64 - 1: "16777216.00 TiB (18446744073709551615 bytes)",
	} {
		assert.Equal(t, want, Size(bytes).String())
	}
	assert.Equal(t, "a block of 2 MiB", Errorf(CodeOK, "", "a block of %v", Size(2<<20)).Message)
}

func TestCountsInMessages(t *testing.T) {
	assert.Equal(t, "0 blocks", Count(0, "block"))
	assert.Equal(t, "1 block", Count(uint64(1), "block"))
	assert.Equal(t, "18446744073709551615 blocks", Count(uint64(1<<64-1), "block"))
}

func TestFormatBytes(t *testing.T) {
	for bytes, want := range map[uint64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.00 KiB", 26861371392: "25.02 GiB", 1 << 40: "1024.00 GiB",
		10 << 40: "10.00 TiB", 1<<64 - 1: "16777216.00 TiB", 3 << 20: "3.00 MiB",
	} {
		assert.Equal(t, want, FormatBytes(bytes))
	}
}
