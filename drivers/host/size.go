package host

import (
	"math/bits"
	"strconv"
	"strings"

	"ferrum_mem/core/device"
)

// maxFractionDigits keeps the power of ten of the fraction within 64 bits.
const maxFractionDigits = 18

// sizeUnit returns the bytes of a unit in lower case. 0: there is no such unit.
func sizeUnit(name string) uint64 {
	switch name {
	case "", "b":
		return 1
	case "kb":
		return 1e3
	case "mb":
		return 1e6
	case "gb":
		return 1e9
	case "tb":
		return 1e12
	case "kib":
		return 1 << 10
	case "mib":
		return 1 << 20
	case "gib":
		return 1 << 30
	case "tib":
		return 1 << 40
	}
	return 0
}

// ParseSize reads a number of bytes such as "8GiB", "512 MiB", "1.5gib", "16GB" or "65536".
// Units with an i are powers of 1024, others are powers of 1000. The case of letters does
// not matter. A fraction of a unit is rounded down to whole bytes; a fraction of a byte is
// an error. It returns CodeInvalidFormat for a text that is not a size, and CodeOverflow
// for a size that does not fit in 64 bits.
func ParseSize(text string) (uint64, error) {
	trimmed := strings.TrimSpace(text)
	end := strings.IndexFunc(trimmed, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(trimmed)
	}
	unit := sizeUnit(strings.ToLower(strings.TrimSpace(trimmed[end:])))
	whole, fraction, fractional := strings.Cut(trimmed[:end], ".")
	if unit == 0 || whole == "" || (fractional && !isFraction(fraction)) || (fractional && unit == 1) {
		return 0, device.Errorf(device.CodeInvalidFormat, "host.parse_size",
			"size %q: want a number with B, KiB, MiB, GiB, TiB, KB, MB, GB, TB or no unit, for example 8GiB", text)
	}
	count, err := strconv.ParseUint(whole, 10, 64)
	high, size := bits.Mul64(count, unit)
	part := fractionOf(fraction, unit)
	size, carry := bits.Add64(size, part, 0)
	if err != nil || high != 0 || carry != 0 {
		return 0, device.Errorf(device.CodeOverflow, "host.parse_size",
			"size %q: does not fit 64 bits", text)
	}
	return size, nil
}

func isFraction(digits string) bool {
	return digits != "" && len(digits) <= maxFractionDigits && !strings.Contains(digits, ".")
}

// fractionOf returns unit * 0.digits, rounded down.
func fractionOf(digits string, unit uint64) uint64 {
	numerator, denominator := uint64(0), uint64(1)
	for i := range len(digits) {
		numerator = numerator*10 + uint64(digits[i]-'0')
		denominator *= 10
	}
	high, low := bits.Mul64(numerator, unit)
	quotient, _ := bits.Div64(high, low, denominator)
	return quotient
}
