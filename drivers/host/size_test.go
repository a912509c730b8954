package host

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

func TestParseSizeReadsTheDocumentedForms(t *testing.T) {
	for text, want := range map[string]uint64{
		"8GiB": 8 << 30, "512MiB": 512 << 20, "64KiB": 64 << 10, "1TiB": 1 << 40,
		"65536": 65536, "65536B": 65536, "0": 0, "007": 7,
		"16GB": 16e9, "3MB": 3e6, "2kb": 2000, "1TB": 1e12,
		"8gib": 8 << 30, "8GIB": 8 << 30, " 8 GiB\n": 8 << 30,
		"1.5GiB": 3 << 29, "0.5KiB": 512, "1.1KiB": 1126, "0.000000001GB": 1,
		"18446744073709551615": math.MaxUint64,
	} {
		got, err := ParseSize(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestParseSizeRejectsOtherForms(t *testing.T) {
	for _, text := range []string{
		"", " ", "GiB", "-1", "+1", "8G", "8GiBs", "8 Gi B", "1.5", "1.5B", "1.GiB", ".5GiB", "1..5GiB", "1.5.5GiB",
		"0x10", "1e9", "8GiB!", "٣GiB", "1.0000000000000000001GiB", "1_000", "8\x00GiB",
	} {
		_, err := ParseSize(text)
		requireCode(t, device.CodeInvalidFormat, err, "size ")
	}
	for _, text := range []string{"18446744073709551616", "16777216TiB", "99999999999999999999999KiB", "18446744073709551615KiB"} {
		_, err := ParseSize(text)
		requireCode(t, device.CodeOverflow, err, text)
	}
}

// TestParseSizeEqualsExactArithmetic compares with rational numbers.
func TestParseSizeEqualsExactArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.StringMatching(`[0-9]{1,20}(\.[0-9]{1,18})?`).Draw(t, "number")
		unit := rapid.SampledFrom([]string{"KiB", "MiB", "GiB", "TiB", "KB", "MB", "GB", "TB"}).Draw(t, "unit")
		exact, ok := new(big.Rat).SetString(number)
		require.True(t, ok)
		exact.Mul(exact, new(big.Rat).SetInt(new(big.Int).SetUint64(sizeUnit(strings.ToLower(unit)))))
		whole := new(big.Int).Quo(exact.Num(), exact.Denom())
		got, err := ParseSize(number + unit)
		if !whole.IsUint64() {
			requireCode(t, device.CodeOverflow, err)
			return
		}
		require.NoError(t, err)
		require.Equal(t, whole.Uint64(), got)
	})
}

func FuzzParseSize(f *testing.F) {
	for _, seed := range []string{"8GiB", "1.5 gib", "65536", "", ".", "1.", "99999999999999999999TB", "1.5B", "\xff8GiB"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		size, err := ParseSize(text)
		if err != nil {
			code := device.CodeOf(err)
			require.True(t, code == device.CodeInvalidFormat || code == device.CodeOverflow)
			require.Zero(t, size)
			return
		}
		// A text that was parsed contains a digit, and gives the same size in upper case.
		require.True(t, strings.ContainsAny(text, "0123456789"))
		again, err := ParseSize(strings.ToUpper(text))
		require.NoError(t, err)
		require.Equal(t, size, again)
	})
}
