package fallback

import (
	"math"
	"math/bits"

	"ferrum_mem/core/device"
)

// RoundUpPowerOf2 returns the smallest power of two at or above n; 1 for 0. Above 2^63
// there is none: CodeOverflow.
func RoundUpPowerOf2(n uint64) (uint64, error) {
	if n <= 1 {
		return 1, nil
	}
	if n > 1<<63 {
		return 0, device.Errorf(device.CodeOverflow, "fallback.round_up_power_of_2", "n %d: the next power of two does not fit 64 bits", n)
	}
	return 1 << bits.Len64(n-1), nil
}

// SizeClass returns the bucket of a size: the next power of two.
func SizeClass(bytes uint64) (uint64, error) { return RoundUpPowerOf2(bytes) }

// F32Bytes returns the size of count numbers of 4 bytes.
func F32Bytes(count uint64) (uint64, error) { return elements("fallback.f32_bytes", count, 4) }

// F16Bytes returns the size of count numbers of 2 bytes.
func F16Bytes(count uint64) (uint64, error) { return elements("fallback.f16_bytes", count, 2) }

func elements(op string, count, width uint64) (uint64, error) {
	if count > math.MaxUint64/width {
		return 0, device.Errorf(device.CodeOverflow, op, "count %d: times %d does not fit 64 bits", count, width)
	}
	return count * width, nil
}
