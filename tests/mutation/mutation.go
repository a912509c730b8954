package mutation

import (
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
)

// changesPerInput is the number of changed copies of each committed input.
const changesPerInput = 100

// Also returns a function for testing.F.Fuzz that checks an input, and in a plain run changed copies of
// it. A failure logs the changed input.
func Also[T string | []byte](check func(*testing.T, T)) func(*testing.T, T) {
	return func(t *testing.T, input T) {
		check(t, input)
		if f := flag.Lookup("test.fuzz"); f != nil && f.Value.String() != "" {
			return // the fuzzer changes inputs itself
		}
		changed := input
		defer func() {
			if value := recover(); value != nil {
				t.Errorf("panic: %v", value)
			}
			if t.Failed() {
				t.Logf("the input was changed to %q", changed)
			}
		}()
		random := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
		for range changesPerInput {
			changed = T(Change(random, []byte(input)))
			check(t, changed)
		}
	}
}

// numbers are those at which formats go wrong.
var numbers = []uint64{0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 62, 1<<63 - 1, 1 << 63, 1<<64 - 1}

// Change returns a copy of an input with one to four changes: bits turned, bytes set, removed, repeated
// or added, and numbers of 1 to 8 bytes replaced.
func Change(random *rand.Rand, input []byte) []byte {
	out := slices.Clone(input)
	for range 1 + random.IntN(4) {
		if len(out) == 0 {
			out = append(out, byte(random.Uint32()))
			continue
		}
		// Headers are at the beginning.
		at := random.IntN(len(out))
		if random.IntN(2) == 0 {
			at = random.IntN(min(len(out), 256))
		}
		length := 1 + random.IntN(min(len(out)-at, 32))
		switch random.IntN(7) {
		case 0:
			out[at] ^= 1 << random.IntN(8)
		case 1:
			out[at] = byte(random.Uint32())
		case 2:
			out = slices.Delete(out, at, at+length)
		case 3:
			out = slices.Insert(out, at, slices.Clone(out[at:at+length])...)
		case 4:
			out = slices.Insert(out, at, byte(random.Uint32()))
		case 5:
			out = out[:at]
		case 6:
			var number [8]byte
			binary.LittleEndian.PutUint64(number[:], numbers[random.IntN(len(numbers))])
			copy(out[at:], number[:1<<random.IntN(4)])
		}
	}
	return out
}
