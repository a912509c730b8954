package largeblocks

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/trace"
)

// On recorded traces C places every block where best_fit does. In a few cases tables have
// to grow, and Go serves the call. Missing traces are skipped.
func TestPlacesOnTraces(t *testing.T) {
	skipWithoutPages(t)
	folder := os.Getenv("FERRUM_TRACES_DIR")
	if folder == "" {
		folder = "../../../shared/traces"
	}
	for _, play := range []struct {
		path string
		mode trace.Mode
	}{
		{"../../examples/traces/azure_llm_code_2023.csv", trace.Contiguous},
		{"../../examples/traces/azure_llm_code_2023.csv", trace.Paged},
		{filepath.Join(folder, "mooncake_synthetic_fast25.jsonl"), trace.Contiguous},
	} {
		t.Run(filepath.Base(play.path)+" "+play.mode.String(), func(t *testing.T) {
			file, err := os.Open(play.path)
			if err != nil {
				t.Skip("the trace is not there: ", err)
			}
			defer func() { require.NoError(t, file.Close()) }()
			requests, err := trace.Read(file, trace.ReadOptions{})
			require.NoError(t, err)
			schedule, err := trace.NewSchedule(requests, trace.Rules{Mode: play.mode, BytesPerToken: 32768})
			require.NoError(t, err)
			w := newTwins(t, 1<<30)
			defer w.close()
			held, calls := make([][]uint64, schedule.Len()), 0
			for step, more := schedule.Next(); more; step, more = schedule.Next() {
				if step.Kind == trace.End {
					for _, offset := range held[step.Request] {
						w.free(offset)
						calls++
					}
					held[step.Request] = nil
					continue
				}
				for range step.Blocks {
					offset, ok := w.alloc(step.BlockBytes)
					require.True(t, ok)
					held[step.Request] = append(held[step.Request], offset)
					calls++
				}
			}
			w.same()
			require.Greater(t, w.calls, calls*99/100)
		})
	}
}
