package main

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ferrum_mem/core/device"
	"ferrum_mem/core/discover"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/replay"
	"ferrum_mem/core/trace"
	"ferrum_mem/drivers"
	"ferrum_mem/drivers/host"
)

// replayFlags are the flags of replay as the user wrote them.
type replayFlags struct {
	device, limit, paging, strategy, mode, format, report string
	bytesPerToken, seed                                   uint64
	jitter                                                time.Duration
	lifetimeHints, asJSON                                 bool
	several                                               modelFlags
}

func newReplay(s streams) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay TRACE | replay --model ID=TRACE[@DELAY]...",
		Short: "Replay a recorded workload against a pool and measure its memory",
		Long: `Replay a recorded workload against a pool and measure its memory.

TRACE is a file, or - for the standard input: requests as CSV with the columns
TIMESTAMP, ContextTokens, GeneratedTokens; requests as JSON lines with timestamp,
input_length, output_length and hash_ids; or lifetimes of buffers as CSV with the
columns id, lower, upper, size. No memory is touched, so on the host a trace may
need more than this machine has. A GPU maps the memory that the trace needs. With --limit,
exits 1 if a request could not be served at once.

With --model, once for each model, the traces are merged in time and replayed on
virtual memory under one limit: as a static split, and as one elastic pool that they
share. With --find-limit it finds the smallest limits.`,
		Example: `  ferrum-mem replay examples/traces/azure_llm_code_2023.csv --report replay.html
  ferrum-mem replay trace.jsonl --mode paged --bytes-per-token 32768 --limit 24GiB --json
  ferrum-mem replay --model chat=chat.csv --model code=code.csv@15m --limit 28GiB --report models.html
  ferrum-mem replay --model chat=chat.csv --model code=code.csv@15m --find-limit`,
		Args: func(cmd *cobra.Command, args []string) error { return checkModelFlags(cmd, args, &f.several) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(f.several.models) > 0 {
				return runReplayModels(cmd, s, f)
			}
			return runReplay(cmd, s, f, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.device, "device", "cpu:0", "the `ID` of the device to replay on")
	flags.StringVar(&f.limit, "limit", "", "the limit of the pool, a `SIZE` such as 24GiB (default: no limit)")
	flags.StringVar(&f.paging, "paging", "auto", "`CHOICE` of memory for blocks: pages (on), whole segments (off), or auto")
	flags.StringVar(&f.strategy, "strategy", rangealloc.Default, "the placement `NAME`: "+strings.Join(rangealloc.Names(), ", "))
	flags.BoolVar(&f.lifetimeHints, "lifetime-hints", false, "pass to the pool the time at which the trace will free each block")
	flags.StringVar(&f.mode, "mode", "", "the `MODE` that turns requests into memory: contiguous, paged or lifetimes (default: by the trace's kind)")
	flags.StringVar(&f.format, "format", "auto", "the `KIND` of the trace: auto, azure, mooncake or lifetimes")
	flags.Uint64Var(&f.bytesPerToken, "bytes-per-token", trace.DefaultBytesPerToken, "the memory of one token, `N` bytes")
	flags.DurationVar(&f.jitter, "jitter", 0, "move each arrival by 0 up to this `DURATION`, such as 50ms")
	flags.Uint64Var(&f.seed, "seed", 0, "the seed of the jitter, a number `N`")
	flags.StringVar(&f.report, "report", "", "write a report with pictures to `FILE`, one HTML page")
	addModelFlags(cmd, &f.several)
	addJSONFlag(cmd, &f.asJSON)
	return cmd
}

func runReplay(cmd *cobra.Command, s streams, f replayFlags, path string) error {
	options, err := f.options(cmd)
	if err != nil {
		return err
	}
	if err := checkOutput("report", f.report, path); err != nil {
		return usagef(cmd, "%w", err)
	}
	t, err := readTrace(cmd.Context(), s, f.format, path)
	if err != nil {
		return err
	}
	if t.Kind == trace.LifetimesCSV && !cmd.Flags().Changed("bytes-per-token") {
		options.Rules.BytesPerToken = 0
	}
	bar := newBar(s.progress, "replay", t.Len())
	options.Progress = bar.set
	result, err := replay.Run(cmd.Context(), t, options)
	bar.finish(err == nil)
	if err != nil {
		return err
	}
	if f.report != "" {
		if err := writeReport(cmd.Context(), s, f.report, result); err != nil {
			return err
		}
	}
	if f.asJSON {
		err = printJSON(s, result)
	} else {
		err = printReplay(s.out, result, f.report)
	}
	if err == nil && result.Failed > 0 {
		return errNo
	}
	return err
}

// options checks the flags.
func (f replayFlags) options(cmd *cobra.Command) (replay.Options, error) {
	var o replay.Options
	mode, err := trace.ParseMode(f.mode)
	if err != nil {
		return o, usagef(cmd, "--mode %q is not one of contiguous, paged, lifetimes", f.mode)
	}
	if cmd.Flags().Changed("bytes-per-token") && f.bytesPerToken == 0 {
		return o, usagef(cmd, "--bytes-per-token 0: a token must have at least 1 byte")
	}
	if f.jitter < 0 {
		return o, usagef(cmd, "--jitter %s must not be negative", f.jitter)
	}
	if cmd.Flags().Changed("limit") {
		o.LimitBytes, err = host.ParseSize(f.limit)
		if err != nil {
			return o, usagef(cmd, "--limit %s", message(err))
		}
		if o.LimitBytes == 0 {
			return o, usagef(cmd, "--limit %q: want a size above 0", f.limit)
		}
	}
	paging, ok := pagings[f.paging]
	if !ok {
		return o, usagef(cmd, "--paging %q is not one of auto, on, off", f.paging)
	}
	id, err := device.ParseID(f.device)
	if err != nil {
		return o, usagef(cmd, "--device: %s", message(err))
	}
	o.Rules = trace.Rules{Mode: mode, BytesPerToken: f.bytesPerToken, JitterNS: int64(f.jitter), Seed: f.seed}
	o.Strategy, o.LifetimeHints = f.strategy, f.lifetimeHints
	o.Paging, o.AddressMap = paging, f.report != ""
	o.Open = func(capacityBytes uint64) (*engine.Engine, error) { return openForReplay(id, capacityBytes) }
	return o, nil
}

var pagings = map[string]pool.Paging{"auto": pool.PagingAuto, "on": pool.PagingOn, "off": pool.PagingOff}

// openForReplay opens a device for a replay. A host device accepts any capacity, because
// its memory is never touched; the environment sets the number of host devices. A device
// with its own memory has its own capacity: its pages are mapped and not touched, and a
// trace that needs more ends with the error of the device.
func openForReplay(id device.ID, capacityBytes uint64) (*engine.Engine, error) {
	present, err := host.New(host.Config{})
	if err != nil {
		return nil, err
	}
	infos, err := present.Devices()
	if err != nil {
		return nil, err
	}
	roomy, err := drivers.New(drivers.Settings{Host: host.Config{
		Devices: len(infos), MemoryBytes: capacityBytes * uint64(len(infos)), MemoryForced: true,
	}})
	if err != nil {
		return nil, err
	}
	dev, err := discover.New(roomy...).Open(id)
	if err != nil {
		return nil, ofDevice(id.String(), err)
	}
	return engine.New(dev, engine.Options{}), nil
}

var formats = map[string]trace.Kind{
	"auto": trace.Unknown, "azure": trace.Azure, "mooncake": trace.Mooncake, "lifetimes": trace.LifetimesCSV,
}

// readTrace reads a file or the standard input until the end or until ctx ends.
func readTrace(ctx context.Context, s streams, format, path string) (*trace.Trace, error) {
	kind, ok := formats[format]
	if !ok {
		return nil, device.Errorf(device.CodeInvalidArgument, "replay.read", "--format %q is not one of auto, azure, mooncake, lifetimes", format)
	}
	input, name := s.in, "standard input"
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		input, name = file, path
	}
	defer busy(s.progress, "reading "+name)()
	var t *trace.Trace
	var err error
	// A read from a pipe may block for ever and cannot be cancelled. If ctx ends first, the
	// process is about to end as well.
	done := device.Go("read trace", func() {
		t, err = trace.Read(input, trace.ReadOptions{Name: name, Kind: kind})
	})
	select {
	case <-done:
		return t, err
	case <-ctx.Done():
		return nil, device.Errorf(device.CodeCancelled, "replay.read", "stopped while reading %s", name)
	}
}
