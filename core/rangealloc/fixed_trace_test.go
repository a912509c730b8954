package rangealloc_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/trace"
)

// tracePage is the page in which physical memory is counted.
const tracePage = 2 << 20

// BenchmarkFixedOnTraces replays request traces in pages, with the arrivals jittered by
// 50 ms under seeds 1 to 15. It reports the memory in pages that are not empty,
// integrated over time, divided by that of the live blocks: lowest, median and highest.
// Missing traces are skipped.
func BenchmarkFixedOnTraces(b *testing.B) {
	folder := os.Getenv("FERRUM_TRACES_DIR")
	if folder == "" {
		folder = "../../../shared/traces"
	}
	for _, path := range []string{
		"../../examples/traces/azure_llm_code_2023.csv",
		filepath.Join(folder, "mooncake_synthetic_fast25.jsonl"),
	} {
		for _, bytesPerToken := range []uint64{32768, 4096} {
			for _, how := range []pagedReplay{{}, {group: true}, {batch: true}, {batch: true, group: true}, {batch: true, group: true, end: true}} {
				b.Run(fmt.Sprintf("%s/%d/%s", filepath.Base(path), bytesPerToken, how), func(b *testing.B) {
					file, err := os.Open(path)
					if err != nil {
						b.Skip("the trace is not there: ", err)
					}
					defer file.Close()
					requests, err := trace.Read(file, trace.ReadOptions{})
					require.NoError(b, err)
					for b.Loop() {
						var ratios []float64
						for seed := range uint64(15) {
							rules := trace.Rules{Mode: trace.Paged, BytesPerToken: bytesPerToken, JitterNS: 50e6, Seed: seed + 1}
							ratios = append(ratios, how.run(b, requests, rules))
						}
						slices.Sort(ratios)
						b.ReportMetric(ratios[0], "least")
						b.ReportMetric(ratios[7], "median")
						b.ReportMetric(ratios[14], "most")
					}
				})
			}
		}
	}
}

// pagedReplay states what a replay passes to the strategy: blocks that are needed at once
// as a batch, the request as the group, the end of the request.
type pagedReplay struct{ batch, group, end bool }

func (p pagedReplay) String() string {
	return fmt.Sprintf("batch=%v,group=%v,end=%v", p.batch, p.group, p.end)
}

func (p pagedReplay) run(b *testing.B, requests *trace.Trace, rules trace.Rules) float64 {
	schedule, err := trace.NewSchedule(requests, rules)
	require.NoError(b, err)
	ends := make([]int64, schedule.Len())
	for step, more := schedule.Next(); more; step, more = schedule.Next() {
		if step.Kind == trace.End {
			ends[step.Request] = step.TimeNS
		}
	}
	schedule.Restart()
	blockBytes := rules.BytesPerToken * trace.BlockTokens
	s, err := rangealloc.New("fixed", rangealloc.Config{SizeBytes: 1 << 40, GranuleBytes: 256, BlockBytes: blockBytes})
	require.NoError(b, err)
	var (
		held                = make([][]uint64, schedule.Len())
		inPage              = map[uint64]int{}
		live                int
		now                 int64
		liveArea, pagesArea float64
		batcher             = s.(rangealloc.Batcher)
		got                 []rangealloc.Range
		blocksInPage        = float64(tracePage / blockBytes)
	)
	for step, more := schedule.Next(); more; step, more = schedule.Next() {
		passed := float64(step.TimeNS - now)
		liveArea += passed * float64(live)
		pagesArea += passed * float64(len(inPage)) * blocksInPage
		now = step.TimeNS
		if step.Kind == trace.End {
			require.NoError(b, batcher.FreeBatch(held[step.Request]))
			for _, offset := range held[step.Request] {
				page := offset / tracePage
				if inPage[page]--; inPage[page] == 0 {
					delete(inPage, page)
				}
			}
			live -= len(held[step.Request])
			held[step.Request] = nil
			continue
		}
		r := rangealloc.Request{Size: blockBytes, Align: 256}
		if p.group {
			r.Group = uint64(step.Request) + 1
		}
		if p.end {
			r.End = uint64(ends[step.Request])
		}
		got = slices.Grow(got[:0], int(step.Blocks))[:step.Blocks]
		if p.batch {
			require.NoError(b, batcher.AllocBatch(r, got))
		} else {
			for i := range got {
				got[i], err = s.Alloc(r)
				require.NoError(b, err)
			}
		}
		for _, block := range got {
			inPage[block.Offset/tracePage]++
			held[step.Request] = append(held[step.Request], block.Offset)
		}
		live += len(got)
	}
	require.Zero(b, live)
	return pagesArea / liveArea
}
