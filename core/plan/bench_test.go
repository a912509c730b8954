package plan

import (
	"testing"
)

// encoder returns the activations of an encoder with the given number of layers, of which
// each operation reads what the operations before it wrote.
func encoder(layers int) []Buffer {
	const tokens, hidden, scratch = 1024, 384, 4 * 384
	var buffers []Buffer
	var step int64
	write := func(width uint64, readers int64) {
		buffers = append(buffers, Buffer{Lower: step, Upper: step + 1 + readers, SizeBytes: tokens * width * 4, AlignmentBytes: 64})
		step++
	}
	write(hidden, 3)
	for range layers {
		write(3*hidden, 1) // queries, keys and values
		write(hidden, 1)   // attention
		write(hidden, 1)   // its projection
		write(hidden, 4)   // sum and norm, read again by the next sum
		write(scratch, 1)  // hidden layer
		write(scratch, 1)  // activation
		write(hidden, 1)   // its projection
		write(hidden, 3)   // sum and norm
	}
	return buffers
}

// The greedy placement of a transformer meets the bound.
func TestGreedyMeetsTheBoundOfAnEncoder(t *testing.T) {
	for _, layers := range []int{1, 6, 12, 48} {
		p := place(t, encoder(layers), Options{Steps: 1000})
		if p.Steps != 0 || !p.Optimal() {
			t.Errorf("%d layers: arena %d, bound %d, %d steps", layers, p.ArenaBytes, p.LowerBoundBytes, p.Steps)
		}
	}
}

func BenchmarkEncoderOf100Buffers(b *testing.B) {
	buffers := encoder(12)[:97]
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Place(b.Context(), buffers, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSteps measures the search: one operation is one step.
func BenchmarkSteps(b *testing.B) {
	for _, letter := range []string{"A", "F"} {
		b.Run(letter, func(b *testing.B) {
			buffers := recorded(b, letter)
			b.ReportAllocs()
			b.ResetTimer()
			p, err := Place(b.Context(), buffers, Options{Steps: uint64(b.N)})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(p.Steps)/float64(b.N), "steps/op")
		})
	}
}
