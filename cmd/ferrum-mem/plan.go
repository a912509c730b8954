package main

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"ferrum_mem/core/device"
	"ferrum_mem/core/plan"
	"ferrum_mem/core/trace"
	"ferrum_mem/drivers/host"
)

// planFlags are the flags of plan as the user wrote them.
type planFlags struct {
	limit, alignment, picture string
	time                      time.Duration
	model                     modelPlanFlags
	asJSON                    bool
}

func newPlan(s streams) *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan FILE|MODEL",
		Short: "Place buffers with known lifetimes, or those of a model, into one arena that is as small as possible",
		Long: `Place buffers with known lifetimes into one arena that is as small as possible.

FILE is a CSV file, or - for the standard input, with the columns id, lower, upper, size in
any order: a buffer of size bytes lives from lower until just before upper. Buffers that
live at the same time get different bytes. First the largest buffers are placed, each at
the lowest free offset. If that arena is larger than the buffers that live at one time, a
search looks for a smaller one until none is possible, or --time ends it.

With --limit the search ends with the first arena within the limit, and the command exits
with 1 if it found none.

For MODEL, a folder with a config.json, a GGUF file, a file of ONNX or a definition, the output is
the arena that a run of the model uses for the given lengths of its dimensions: the library plans it. It
needs no weights. --time and --alignment do not apply.`,
		Example: `  ferrum-mem plan lifetimes.csv --picture plan.html
  ferrum-mem plan lifetimes.csv --limit 1MiB --time 30s --json
  ferrum-mem plan models/all-minilm-l6-v2 --batch 8 --sequence 128 --picture plan.html`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return runPlan(cmd, s, f, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.limit, "limit", "", "the largest arena, a `SIZE` such as 1MiB (default: as small as possible)")
	flags.DurationVar(&f.time, "time", time.Minute, "the longest `DURATION` of the search; 0: no search")
	flags.StringVar(&f.alignment, "alignment", "1", "every offset is a multiple of this `SIZE`, a power of two")
	flags.StringVar(&f.picture, "picture", "", "write a picture of the arena over time to `FILE`, one HTML page")
	f.model.add(cmd)
	addJSONFlag(cmd, &f.asJSON)
	return cmd
}

func runPlan(cmd *cobra.Command, s streams, f planFlags, path string) error {
	options, alignment, err := f.options(cmd)
	if err != nil {
		return err
	}
	if err := checkOutput("picture", f.picture, path); err != nil {
		return usagef(cmd, "%w", err)
	}
	isModel, err := isModel(path)
	if err != nil {
		return err
	}
	if isModel {
		r, err := f.planModel(cmd, s, path, options.LimitBytes)
		if err != nil {
			return err
		}
		return f.show(cmd, s, r)
	}
	if name := firstChanged(cmd, "batch", "sequence", "dim", "device"); name != "" {
		return usagef(cmd, "--%s is for models, and %s is none", name, path)
	}
	t, err := readTrace(cmd.Context(), s, trace.LifetimesCSV.String(), path)
	if err != nil {
		return err
	}
	// In the order of the file.
	slices.SortFunc(t.Lifetimes, func(a, b trace.Lifetime) int { return cmp.Compare(a.Line, b.Line) })
	named := make([]namedBuffer, len(t.Lifetimes))
	for i, l := range t.Lifetimes {
		named[i] = namedBuffer{l.ID, plan.Buffer{Lower: l.Lower, Upper: l.Upper, SizeBytes: l.SizeBytes, AlignmentBytes: alignment}}
	}
	r, err := makePlan(cmd, s, t.Name, named, options)
	if err != nil {
		return err
	}
	return f.show(cmd, s, r)
}

// show writes the picture and the table or the object of a plan.
func (f planFlags) show(cmd *cobra.Command, s streams, r *planReport) (err error) {
	if f.picture != "" {
		if err := writePlanPicture(cmd.Context(), s, f.picture, r); err != nil {
			return err
		}
	}
	if f.asJSON {
		err = printJSON(s, r)
	} else {
		err = printPlan(s.out, r, f.picture)
	}
	if err == nil && !r.Fits {
		return errNo
	}
	return err
}

// options checks the flags.
func (f planFlags) options(cmd *cobra.Command) (o plan.Options, alignment uint64, err error) {
	if cmd.Flags().Changed("limit") {
		o.LimitBytes, err = host.ParseSize(f.limit)
		if err != nil {
			return o, 0, usagef(cmd, "--limit %s", message(err))
		}
		if o.LimitBytes == 0 {
			return o, 0, usagef(cmd, "--limit %q: want a size above 0", f.limit)
		}
	}
	if f.time < 0 {
		return o, 0, usagef(cmd, "--time %s must not be negative", f.time)
	}
	o.Time = f.time
	alignment, err = host.ParseSize(f.alignment)
	if err != nil {
		return o, 0, usagef(cmd, "--alignment %s", message(err))
	}
	if alignment == 0 || alignment&(alignment-1) != 0 || alignment > plan.MaxAlignmentBytes {
		return o, 0, usagef(cmd, "--alignment %q: want a power of two of at most %s", f.alignment, formatBytes(plan.MaxAlignmentBytes))
	}
	return o, alignment, nil
}

// makePlan places named buffers and shows the best arena so far on a terminal. name is
// what the buffers come from.
func makePlan(cmd *cobra.Command, s streams, name string, named []namedBuffer, o plan.Options) (*planReport, error) {
	buffers := make([]plan.Buffer, len(named))
	for i := range named {
		buffers[i] = named[i].Buffer
	}
	var latest atomic.Pointer[plan.Progress]
	if s.progress != nil {
		o.Progress = func(p plan.Progress) { latest.Store(&p) }
	}
	end := busyShowing(s.progress, func() string {
		p := latest.Load()
		if p == nil {
			return "placing " + device.Count(len(buffers), "buffer")
		}
		return fmt.Sprintf("placing %s: %s so far, %s at least", device.Count(len(buffers), "buffer"), formatBytes(p.ArenaBytes), formatBytes(p.LowerBoundBytes))
	})
	began := time.Now()
	placement, err := plan.Place(cmd.Context(), buffers, o)
	took := time.Since(began)
	end()
	if err != nil {
		return nil, device.Errorf(device.CodeOf(err), "plan.place", "%s: %s", name, message(err))
	}
	return newPlanReport(name, named, o, placement, took), nil
}
