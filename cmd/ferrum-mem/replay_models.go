package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ferrum_mem/core/replay"
	"ferrum_mem/core/trace"
	"ferrum_mem/drivers/host"
)

// modelFlags are the flags of replay for several models, as the user wrote them.
type modelFlags struct {
	models, shares, guarantees []string
	policy, page               string
	wait                       time.Duration
	findLimit                  bool
}

// Flags that are valid only with --model, and flags that are invalid with it.
var (
	flagsForModels = []string{"policy", "share", "guarantee", "wait", "page", "find-limit"}
	flagsForOne    = []string{"strategy", "lifetime-hints", "paging"}
)

const policyBoth = "both"

func addModelFlags(cmd *cobra.Command, f *modelFlags) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.models, "model", nil, "one of several models, `ID=TRACE[@DELAY]`, such as chat=chat.csv@900s; once for each model")
	flags.StringVar(&f.policy, "policy", policyBoth, "how models share the limit, a `NAME`: static, elastic or both side by side")
	flags.StringArrayVar(&f.shares, "share", nil, "the part of a model in a static split, `ID=SIZE`; for all models or for none (default: equal parts)")
	flags.StringArrayVar(&f.guarantees, "guarantee", nil, "the guarantee of a model in an elastic pool, `ID=SIZE`")
	flags.DurationVar(&f.wait, "wait", 0, "the `DURATION` that a request waits for memory before it fails")
	flags.StringVar(&f.page, "page", "2MiB", "the `SIZE` of a page")
	flags.BoolVar(&f.findLimit, "find-limit", false, "find the smallest limits at which every request is served")
}

// checkModelFlags returns an error for flags that cannot be combined.
func checkModelFlags(cmd *cobra.Command, args []string, f *modelFlags) error {
	if len(f.models) == 0 {
		if err := cobra.ExactArgs(1)(cmd, args); err != nil {
			return usagef(cmd, "%w", err)
		}
		for _, name := range flagsForModels {
			if cmd.Flags().Changed(name) {
				return usagef(cmd, "--%s is for several models: give them with --model", name)
			}
		}
		return nil
	}
	if len(args) > 0 {
		return usagef(cmd, "the trace %s and --model cannot be used together: pass the trace as --model ID=%[1]s", args[0])
	}
	for _, name := range flagsForOne {
		if cmd.Flags().Changed(name) {
			return usagef(cmd, "--%s is for a pool of one trace, not for --model", name)
		}
	}
	if f.findLimit {
		for _, name := range []string{"limit", "policy", "share", "guarantee", "report"} {
			if cmd.Flags().Changed(name) {
				return usagef(cmd, "--%s and --find-limit cannot be used together", name)
			}
		}
		return nil
	}
	if !cmd.Flags().Changed("limit") {
		return usagef(cmd, "--model needs --limit, which the models share, or --find-limit")
	}
	return nil
}

func runReplayModels(cmd *cobra.Command, s streams, f replayFlags) error {
	one, err := f.options(cmd)
	if err != nil {
		return err
	}
	options := replay.ModelsOptions{Rules: one.Rules, LimitBytes: one.LimitBytes, Open: one.Open, WaitNS: int64(f.several.wait)}
	if f.several.wait < 0 {
		return usagef(cmd, "--wait %s must not be negative", f.several.wait)
	}
	if options.PageBytes, err = host.ParseSize(f.several.page); err != nil || options.PageBytes == 0 {
		return usagef(cmd, "--page %q is not a page size: want a power of two", f.several.page)
	}
	switch policy := replay.Policy(f.several.policy); policy {
	case policyBoth:
		options.Policies = []replay.Policy{replay.PolicyStatic, replay.PolicyElastic}
	case replay.PolicyStatic, replay.PolicyElastic:
		options.Policies = []replay.Policy{policy}
	default:
		return usagef(cmd, "--policy %q is not one of static, elastic, both", f.several.policy)
	}
	models, paths, err := f.several.parse(cmd)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := checkOutput("report", f.report, path); err != nil {
			return usagef(cmd, "%w", err)
		}
	}
	requests, err := readModels(cmd, s, f.format, models, paths)
	if err != nil {
		return err
	}
	runs := len(options.Policies)
	if f.several.findLimit {
		runs = 2
	}
	bar := newBar(s.progress, "replay", requests*runs)
	options.Progress = bar.set
	if f.several.findLimit {
		limits, err := replay.FindLimits(cmd.Context(), models, options)
		bar.finish(err == nil)
		if err != nil {
			return err
		}
		if f.asJSON {
			return printJSON(s, limits)
		}
		return printLimits(s.out, limits)
	}
	result, err := replay.RunModels(cmd.Context(), models, options)
	bar.finish(err == nil)
	if err != nil {
		return err
	}
	return f.showModels(cmd, s, result)
}

func (f replayFlags) showModels(cmd *cobra.Command, s streams, r *replay.ModelsResult) error {
	var err error
	if f.report != "" {
		if err := writeModelsReport(cmd.Context(), s, f.report, r); err != nil {
			return err
		}
	}
	if f.asJSON {
		err = printJSON(s, r)
	} else {
		err = printModels(s.out, r, f.report)
	}
	failed := slices.ContainsFunc(r.Runs, func(run replay.PolicyRun) bool { return run.Failed > 0 })
	if err == nil && failed {
		return errNo
	}
	return err
}

// parse reads the descriptions of the models and the paths of their traces. It does not
// read the traces.
func (f *modelFlags) parse(cmd *cobra.Command) (models []replay.ModelTrace, paths []string, err error) {
	for _, text := range f.models {
		id, rest, ok := strings.Cut(text, "=")
		if !ok || id == "" || rest == "" {
			return nil, nil, usagef(cmd, "--model %q is not ID=TRACE[@DELAY]", text)
		}
		path, delay, err := splitDelay(rest)
		if err != nil {
			return nil, nil, usagef(cmd, "--model %q: %w", text, err)
		}
		if path == "-" && slices.Contains(paths, "-") {
			return nil, nil, usagef(cmd, "--model %q: the standard input can be read only once", text)
		}
		models = append(models, replay.ModelTrace{ID: id, DelayNS: int64(delay)})
		paths = append(paths, path)
	}
	assign := func(flag string, texts []string, set func(m *replay.ModelTrace) *uint64) error {
		for _, text := range texts {
			id, size, ok := strings.Cut(text, "=")
			at := slices.IndexFunc(models, func(m replay.ModelTrace) bool { return m.ID == id })
			if !ok || at < 0 {
				return usagef(cmd, "--%s %q is not ID=SIZE with the id of a model", flag, text)
			}
			bytes, err := host.ParseSize(size)
			if err != nil {
				return usagef(cmd, "--%s %q: %s", flag, text, message(err))
			}
			field := set(&models[at])
			if bytes == 0 || *field != 0 {
				return usagef(cmd, "--%s %q: want a size above 0, once for each model", flag, text)
			}
			*field = bytes
		}
		return nil
	}
	if err := assign("share", f.shares, func(m *replay.ModelTrace) *uint64 { return &m.ShareBytes }); err != nil {
		return nil, nil, err
	}
	err = assign("guarantee", f.guarantees, func(m *replay.ModelTrace) *uint64 { return &m.GuaranteedBytes })
	return models, paths, err
}

// splitDelay splits TRACE[@DELAY]. If a file with the whole name exists, the text is a file
// name.
func splitDelay(text string) (string, time.Duration, error) {
	at := strings.LastIndex(text, "@")
	if at < 0 {
		return text, 0, nil
	}
	if _, err := os.Stat(text); err == nil {
		return text, 0, nil
	}
	delay, err := time.ParseDuration(text[at+1:])
	if err != nil {
		return "", 0, fmt.Errorf("%q is %s", text[at+1:], notADuration)
	}
	if at == 0 || delay < 0 {
		return "", 0, errors.New("want a trace, and a delay that is not negative")
	}
	return text[:at], delay, nil
}

// readModels reads each trace once, and counts the requests of all models.
func readModels(cmd *cobra.Command, s streams, format string, models []replay.ModelTrace, paths []string) (requests int, err error) {
	read := map[string]*trace.Trace{}
	for i, path := range paths {
		if read[path] == nil {
			if read[path], err = readTrace(cmd.Context(), s, format, path); err != nil {
				return 0, err
			}
		}
		models[i].Trace = read[path]
		requests += read[path].Len()
	}
	return requests, nil
}
