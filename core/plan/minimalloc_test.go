package plan

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// publishedBytes is the capacity for which the benchmarks of minimalloc were published.
const publishedBytes = 1 << 20

// recorded reads a file of the benchmarks of minimalloc, with code that core/trace does not
// share.
func recorded(t testing.TB, letter string) []Buffer {
	folder := os.Getenv("FERRUM_TRACES_DIR")
	if folder == "" {
		folder = "../../../shared/traces"
	}
	name := "minimalloc_" + letter + ".csv"
	file, err := os.Open(filepath.Join(folder, name))
	if err != nil {
		t.Skipf("recorded lifetimes %s are not here (set FERRUM_TRACES_DIR to their folder): %v", name, err)
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	require.Equal(t, []string{"id", "lower", "upper", "size"}, records[0])
	var buffers []Buffer
	for _, record := range records[1:] {
		var b Buffer
		b.Lower, err = strconv.ParseInt(record[1], 10, 64)
		require.NoError(t, err)
		b.Upper, err = strconv.ParseInt(record[2], 10, 64)
		require.NoError(t, err)
		b.SizeBytes, err = strconv.ParseUint(record[3], 10, 64)
		require.NoError(t, err)
		buffers = append(buffers, b)
	}
	return buffers
}

// Each file of the benchmarks fits into its published capacity. With SOAK=1 the test places
// all files, otherwise only those that take less than a second.
func TestPublishedCapacity(t *testing.T) {
	letters := []string{"A", "B", "C", "E"}
	if os.Getenv("SOAK") != "" {
		letters = []string{"A", "B", "C", "D", "E", "F"}
	}
	for _, letter := range letters {
		t.Run(letter, func(t *testing.T) {
			buffers := recorded(t, letter)
			began := time.Now()
			p := place(t, buffers, Options{LimitBytes: publishedBytes, Time: time.Minute})
			t.Logf("%d buffers: arena %d, peak %d, greedy %d, %d steps, %v", len(buffers), p.ArenaBytes, p.PeakBytes,
				p.GreedyBytes, p.Steps, time.Since(began).Round(time.Millisecond))
			assert.LessOrEqual(t, p.ArenaBytes, uint64(publishedBytes))
		})
	}
}
