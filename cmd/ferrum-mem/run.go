package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"ferrum_mem/core/architecture"
	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
	"ferrum_mem/drivers/host"
	"ferrum_mem/drivers/installed"
)

// runFlags are the flags of run as the user wrote them.
type runFlags struct {
	ids, pool, device, limit string
	outputs                  []string
	threads                  uint32
	repeat                   uint64
	sleeps, asJSON           bool
}

// poolOfModel is the value of --pool for the rule of the model.
const poolOfModel = "model"

// poolings are the values of --pool.
var poolings = []string{poolOfModel, string(architecture.PoolingMean), string(architecture.PoolingCLS), string(architecture.PoolingMax)}

// maxRepeat is the largest number of timed runs.
const maxRepeat = 1_000_000

func newRun(s streams) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run MODEL",
		Short: "Build a model, run it on rows of token ids, and print its outputs",
		Long: `Build a model, run it on rows of token ids, and print its outputs. MODEL is a folder with a
config.json and weights, a GGUF file, a file of ONNX, or a definition, whose parameters are then
initialised as it states. The library computes; it is found beside the command, or
FERRUM_MEM_LIBRARY names it.

--ids has the rows, with commas between ids and semicolons between rows. Shorter rows are padded
with 0, which the attention mask excludes. The ids are the input input_ids, or the only input of
the model.

--pool makes one vector of each row by the rule that the model states for sentences (model), or
by another one, and compares the rows by the cosine of their vectors.

With --sleep the model sleeps in a temporary file after the runs, wakes and runs again, and the outputs are compared.
Exits with 1 if they differ in a bit.`,
		Example: `  ferrum-mem run models/all-minilm-l6-v2 --ids 101,7592,102
  ferrum-mem run models/all-minilm-l6-v2 --ids '101,7592,102;101,2088,2003,102' --pool model --json
  ferrum-mem run models/all-minilm-l6-v2 --ids 101,7592,102 --threads 1 --repeat 100`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return runModel(cmd, s, f, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.ids, "ids", "", "the token ids, as `ROW;ROW`, such as 101,7592,102;101,102 (required)")
	flags.StringArrayVar(&f.outputs, "output", nil, "print the output `NAME`; may be given several times (default: all)")
	flags.StringVar(&f.pool, "pool", "", "make a vector of each row by a `RULE`: "+strings.Join(poolings, ", "))
	flags.StringVar(&f.device, "device", "cpu:0", "the `ID` of the device")
	flags.Uint32Var(&f.threads, "threads", 0, "the number `N` of threads that compute; 0: as many as the process may use")
	flags.StringVar(&f.limit, "limit", "", "the most memory of the model, a `SIZE` such as 1GiB (default: the memory of the device)")
	flags.Uint64Var(&f.repeat, "repeat", 1, "run `N` times and print the shortest and the median time")
	flags.BoolVar(&f.sleeps, "sleep", false, "let the model sleep and wake after the runs, and compare its outputs")
	addJSONFlag(cmd, &f.asJSON)
	return cmd
}

func runModel(cmd *cobra.Command, s streams, f runFlags, path string) error {
	settings, b, err := f.settings(cmd)
	if err != nil {
		return err
	}
	d, err := define(cmd, s, path)
	if err != nil {
		return err
	}
	if isStopped := printIssues(s.err, append(d.Issues, d.Model.Validate()...)); isStopped {
		return errNo
	}
	w, err := f.wanted(cmd, d)
	if err != nil {
		return err
	}
	inputs, err := b.inputs(d.Model)
	if err != nil {
		return usagef(cmd, "%s: %s", path, message(err))
	}
	source, err := sourceOf(path)
	if err != nil {
		return err
	}
	e, err := openComputing(settings)
	if err != nil {
		return err
	}
	r, err := execute(cmd, s, f, e, source, inputs, w.names)
	if err = errors.Join(err, e.close()); err != nil {
		return ofModel(path, err)
	}
	r.Name, r.Device = path, f.device
	if w.sentence != nil {
		if r.Sentence, err = b.pooled(r, w); err != nil {
			return usagef(cmd, "--pool: %s", message(err))
		}
	}
	r.Outputs = r.Outputs[:w.printed]
	if f.asJSON {
		err = printCompactJSON(s, r)
	} else {
		err = printRun(s.out, r)
	}
	if err == nil && r.Sleep != nil && !r.Sleep.SameBits {
		return errNo
	}
	return err
}

// settings checks the flags that do not depend on the model.
func (f *runFlags) settings(cmd *cobra.Command) (installed.Settings, *idRows, error) {
	o := installed.Settings{Device: f.device, Threads: f.threads}
	if !cmd.Flags().Changed("ids") {
		return o, nil, usagef(cmd, "--ids is required")
	}
	b, err := parseIDs(f.ids)
	if err != nil {
		return o, nil, usagef(cmd, "--ids %s", message(err))
	}
	if cmd.Flags().Changed("limit") {
		if o.LimitBytes, err = host.ParseSize(f.limit); err != nil {
			return o, nil, usagef(cmd, "--limit %s", message(err))
		}
		if o.LimitBytes == 0 {
			return o, nil, usagef(cmd, "--limit %q: want a size above 0", f.limit)
		}
	}
	if f.repeat == 0 || f.repeat > maxRepeat {
		return o, nil, usagef(cmd, "--repeat %d: want 1 to %d", f.repeat, maxRepeat)
	}
	if f.pool != "" && !slices.Contains(poolings, f.pool) {
		return o, nil, usagef(cmd, "--pool %q is none of %s", f.pool, strings.Join(poolings, ", "))
	}
	return o, b, nil
}

// wanted are the outputs of a run.
type wanted struct {
	names []string
	// printed is the number of outputs that the user wants. The one that is pooled may follow.
	printed int
	// sentence is the rule of pooling; nil: none.
	sentence *architecture.Sentence
	// pooled is the position of the output that is pooled.
	pooled int
}

// wanted checks the flags that depend on the model.
func (f *runFlags) wanted(cmd *cobra.Command, d *architecture.Definition) (w wanted, err error) {
	all := d.Model.Graph.Outputs
	w.names = slices.Clone(f.outputs)
	for i, name := range w.names {
		if !slices.Contains(all, name) {
			return w, usagef(cmd, "--output %q: the model has no such output, only %s", name, strings.Join(all, ", "))
		}
		if slices.Contains(w.names[:i], name) {
			return w, usagef(cmd, "--output %q is given twice", name)
		}
	}
	if len(w.names) == 0 {
		w.names = slices.Clone(all)
	}
	w.printed = len(w.names)
	if f.pool == "" {
		return w, nil
	}
	if w.sentence = d.Sentence; f.pool != poolOfModel {
		w.sentence = &architecture.Sentence{Pooling: architecture.Pooling(f.pool)}
	}
	if w.sentence == nil {
		return w, usagef(cmd, "--pool: the model states no rule: give one of %s", strings.Join(poolings[1:], ", "))
	}
	const states = "last_hidden_state"
	if !slices.Contains(all, states) {
		return w, usagef(cmd, "--pool needs the output %s, and the model has only %s", states, strings.Join(all, ", "))
	}
	if w.pooled = slices.Index(w.names, states); w.pooled < 0 {
		w.pooled, w.names = w.printed, append(w.names, states)
	}
	return w, nil
}

// sourceOf returns what the library builds: the text of a definition, or a path.
func sourceOf(path string) (installed.Source, error) {
	text, err := definitionText(path)
	if err != nil || text != nil {
		return installed.Source{Definition: text}, err
	}
	return installed.Source{Path: path}, nil
}

// execute builds the model and runs it.
func execute(cmd *cobra.Command, s streams, f runFlags, e *computing, source installed.Source, inputs []installed.Tensor, outputs []string) (*runReport, error) {
	var latest atomic.Pointer[installed.Progress]
	source.Progress = func(p installed.Progress) bool {
		latest.Store(&p)
		return cmd.Context().Err() == nil
	}
	end := busyShowing(s.progress, func() string {
		p := latest.Load()
		if p == nil {
			return "building the model"
		}
		return fmt.Sprintf("building the model: %.0f %%, %s", math.Floor(p.Done*100), p.Operation)
	})
	began := time.Now()
	x, err := e.Build(source)
	r := &runReport{BuildNS: time.Since(began).Nanoseconds()}
	end()
	if err != nil {
		return nil, err
	}
	defer busy(s.progress, "running the model")()
	c, err := x.Prepare(inputs, outputs)
	if err != nil {
		return nil, err
	}
	for range f.repeat {
		began := time.Now()
		if err := c.Run(); err != nil {
			return nil, err
		}
		r.times = append(r.times, time.Since(began))
		if cmd.Context().Err() != nil {
			return nil, device.Errorf(device.CodeCancelled, "run", "stopped after %s", device.Count(len(r.times), "run"))
		}
	}
	first, err := c.Outputs()
	if err != nil {
		return nil, err
	}
	if f.sleeps {
		if r.Sleep, err = rest(x, c, first); err != nil {
			return nil, err
		}
	}
	if err := r.take(first, inputs); err != nil {
		return nil, err
	}
	i, err := x.Info()
	if err != nil {
		return nil, err
	}
	r.Parameters, r.ParameterBytes, r.ArenaBytes, r.HeldBytes = i.Parameters, i.ParameterBytes, i.ArenaBytes, i.HeldBytes
	return r, c.Close()
}

// rest lets the model sleep, wake and run again.
func rest(x *installed.Executor, c *installed.Call, before []installed.Tensor) (*sleepReport, error) {
	var r sleepReport
	var err error
	began := time.Now()
	if r.ReleasedBytes, err = x.Sleep(); err != nil {
		return nil, err
	}
	r.SleepNS = time.Since(began).Nanoseconds()
	asleep, err := x.Info()
	if err != nil {
		return nil, err
	}
	r.AsleepBytes = asleep.HeldBytes
	began = time.Now()
	if r.RestoredBytes, err = x.Wake(); err != nil {
		return nil, err
	}
	r.WakeNS = time.Since(began).Nanoseconds()
	if err := c.Run(); err != nil {
		return nil, err
	}
	after, err := c.Outputs()
	r.SameBits = err == nil && slices.EqualFunc(before, after, func(a, b installed.Tensor) bool { return slices.Equal(a.Elements, b.Elements) })
	return &r, err
}

// idRows are rows of token ids.
type idRows struct {
	rows   [][]int64
	length int
}

// parseIDs reads the rows of --ids.
func parseIDs(text string) (*idRows, error) {
	var b idRows
	for _, row := range strings.Split(text, ";") {
		var ids []int64
		for _, word := range strings.Split(row, ",") {
			id, err := strconv.ParseInt(strings.TrimSpace(word), 10, 64)
			if err != nil || id < 0 {
				return nil, device.Errorf(device.CodeInvalidArgument, "run.ids", "%.80q: %.40q is not a whole number from 0 on that fits 63 bits", text, word)
			}
			ids = append(ids, id)
		}
		b.rows, b.length = append(b.rows, ids), max(b.length, len(ids))
	}
	return &b, nil
}

// The inputs of encoders.
const (
	inputIDs  = "input_ids"
	inputMask = "attention_mask"
)

// inputs makes the inputs of a model: the ids, and the mask if the model has one.
func (b *idRows) inputs(m *ir.Model) ([]installed.Tensor, error) {
	name := inputIDs
	if len(m.Graph.Inputs) == 1 {
		name = m.Graph.Inputs[0]
	}
	if !slices.Contains(m.Graph.Inputs, name) {
		return nil, device.Errorf(device.CodeInvalidArgument, "run.inputs", "the model has no input %s for the ids, only %s", name, strings.Join(m.Graph.Inputs, ", "))
	}
	ids, mask := b.tensor(name), b.tensor(inputMask)
	isPadded := false
	for r, row := range b.rows {
		for i := range b.length {
			if i < len(row) {
				setInteger(ids, r*b.length+i, row[i])
				setInteger(mask, r*b.length+i, 1)
			} else {
				isPadded = true
			}
		}
	}
	if slices.Contains(m.Graph.Inputs, inputMask) {
		return []installed.Tensor{*ids, *mask}, nil
	}
	if isPadded {
		return nil, device.Errorf(device.CodeInvalidArgument, "run.inputs", "the model has no %s, so all rows must have the same length", inputMask)
	}
	return []installed.Tensor{*ids}, nil
}
