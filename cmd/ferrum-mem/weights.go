package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/weights"
)

// sourceFlags select the part of a source that a subcommand uses, as the user wrote them.
type sourceFlags struct {
	filters, excluded []string
	raw               string
}

// newWeights groups the subcommands that read files of tensors.
func newWeights(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "weights",
		Short: "Read and convert files of weights: safetensors, PyTorch, GGUF, NumPy, ONNX, raw",
		Long: `Read and convert files of weights. A PATH is a file, the index of a checkpoint in several files, or a folder:
its index, otherwise its files of one format. The content of a file decides its format, not its name.`,
		Args: usageArgs(cobra.ArbitraryArgs),
		RunE: needSubcommand,
	}
	cmd.AddCommand(newWeightsInspect(s), newWeightsVerify(s), newWeightsLoad(s), newWeightsConvert(s))
	return cmd
}

func (f *sourceFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.filters, "filter", nil,
		"only tensors whose names match the `PATTERN`, with * for any text; may be given several times (default: all)")
	flags.StringArrayVar(&f.excluded, "exclude", nil, "leave out tensors whose names match the `PATTERN`; may be given several times")
	flags.StringVar(&f.raw, "raw", "", rawUsage)
}

const rawUsage = "the files have no header: each is one tensor of this `TYPE:SHAPE`, such as bf16:4096x1024"

// options checks --raw.
func (f *sourceFlags) options(cmd *cobra.Command) (weights.Options, error) {
	if f.raw == "" {
		return weights.Options{}, nil
	}
	name, sides, _ := strings.Cut(f.raw, ":")
	kind, err := dtype.Parse(name)
	if err != nil {
		return weights.Options{}, usagef(cmd, "--raw %q: %s", f.raw, message(err))
	}
	raw := weights.RawShape{Type: kind}
	for side := range strings.SplitSeq(sides, "x") {
		n, err := strconv.ParseUint(side, 10, 63)
		if err != nil {
			return weights.Options{}, usagef(cmd, "--raw %q: the shape %q is not whole numbers with x between them", f.raw, sides)
		}
		raw.Shape = append(raw.Shape, n)
	}
	return weights.Options{Raw: &raw}, nil
}

// selection returns the selection of the flags.
func (f *sourceFlags) selection() weights.Selection {
	return weights.Selection{Include: f.filters, Exclude: f.excluded}
}

// openSource reads the headers of a source, until ctx ends. An unsupported file is an error of the
// input, and not of the system.
func openSource(cmd *cobra.Command, s streams, path string, options weights.Options) (*weights.Source, error) {
	defer busy(s.progress, "reading the headers of "+path)()
	var source *weights.Source
	var err error
	// A read from a remote disk may take long and cannot be cancelled. If ctx ends first, the
	// process is about to end as well.
	done := device.Go("read headers", func() { source, err = weights.Open(path, options) })
	select {
	case <-done:
	case <-cmd.Context().Done():
		return nil, stopped("reading the headers of " + path)
	}
	if device.CodeOf(err) == device.CodeUnsupported {
		return nil, usagef(cmd, "%s", message(err))
	}
	return source, err
}

// stopped returns the error of a subcommand that a signal has ended.
func stopped(while string) error {
	return device.Errorf(device.CodeCancelled, "weights", "stopped while %s", while)
}

// unlessStopped returns err. If err is the cancellation by ctx, it returns the error of stopped.
func unlessStopped(ctx context.Context, err error, while string) error {
	if device.CodeOf(err) == device.CodeCancelled && ctx.Err() != nil {
		return stopped(while)
	}
	return err
}
