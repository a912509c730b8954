package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ferrum_mem/core/device"
	"ferrum_mem/core/weights"
	"ferrum_mem/core/weights/header"
)

// convertFlags are the flags of weights convert as the user wrote them.
type convertFlags struct {
	sourceFlags
	format, dtype   string
	replace, asJSON bool
}

// conversion is the output of weights convert.
type conversion struct {
	Path        string         `json:"path"`
	Output      string         `json:"output"`
	Format      weights.Format `json:"format"`
	TensorCount int            `json:"tensor_count"`
	// SizeBytes is the size of the output file.
	SizeBytes uint64 `json:"size_bytes"`
}

// writtenFormats are the formats of output files, by the endings of their names. A raw file has no
// ending of its own.
var writtenFormats = map[string]weights.Format{
	".safetensors": header.Safetensors, ".gguf": header.GGUF, ".npy": header.NumPy, ".npz": header.NumPy,
}

// convertFormats are the values of --format.
var convertFormats = []string{string(header.Safetensors), string(header.GGUF), string(header.NumPy), string(header.RawFormat)}

func newWeightsConvert(s streams) *cobra.Command {
	var f convertFlags
	cmd := &cobra.Command{
		Use:   "convert PATH OUTPUT",
		Short: "Write tensors of files to a file of another format or type",
		Long: `Write tensors of files to one file: safetensors, GGUF, npy (one tensor), npz, or raw (one
tensor). The ending of OUTPUT decides the format, unless --format states it. The model goes through
a few megabytes of memory. OUTPUT appears when it is complete; after an error or an interrupt
nothing of it is left. The free space of the disk is checked first.

Metadata are kept from safetensors to safetensors. Other conversions write none, so a GGUF file
has tensors only. Nothing is quantised; blocks of GGUF go to GGUF as they are.`,
		Example: `  ferrum-mem weights convert pytorch_model.bin model.safetensors
  ferrum-mem weights convert model.gguf model.safetensors --dtype bf16`,
		Args: usageArgs(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error { return runConvert(cmd, s, f, args[0], args[1]) },
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "", "the `FORMAT` of OUTPUT: "+strings.Join(convertFormats, ", ")+" (default: by its ending)")
	addCastFlag(cmd, &f.dtype)
	flags.BoolVar(&f.replace, "replace", false, "replace OUTPUT if it is there already")
	addJSONFlag(cmd, &f.asJSON)
	// Another subcommand has a flag of the same name with other values.
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(convertFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func runConvert(cmd *cobra.Command, s streams, f convertFlags, path, output string) error {
	format, err := f.outputFormat(cmd, output)
	if err != nil {
		return err
	}
	cast, err := castTo(cmd, f.dtype)
	if err != nil {
		return err
	}
	options, err := f.options(cmd)
	if err != nil {
		return err
	}
	source, err := openSource(cmd, s, path, options)
	if err != nil {
		return err
	}
	defer source.Close()
	specs, err := source.Select(f.selection())
	if err != nil {
		return err
	}
	if err := castSpecs(source, specs, cast); err != nil {
		return err
	}
	to := weights.ConvertOptions{Format: format, Replace: f.replace}
	if source.Format == header.Safetensors && format == header.Safetensors {
		to.Texts = source.Metadata().Extra.Texts
	}
	bar := newByteBar(s.progress, "convert")
	to.Progress = func(now weights.Progress) { bar.bytes(now.DoneBytes, now.TotalBytes) }
	err = source.Convert(cmd.Context(), specs, output, to)
	bar.finish(err == nil)
	// What the format of the output lacks is an error of the input, not of the machine.
	if device.CodeOf(err) == device.CodeUnsupported {
		return usagef(cmd, "%s", message(err))
	}
	if err != nil {
		return unlessStopped(cmd.Context(), err, "converting "+path)
	}
	info, err := os.Stat(output)
	if err != nil {
		return err
	}
	r := conversion{Path: path, Output: output, Format: format, TensorCount: len(specs), SizeBytes: uint64(info.Size())}
	if f.asJSON {
		return printJSON(s, r)
	}
	_, err = fmt.Fprintf(s.out, "%s: %s, %s, %s\n", r.Output, r.Format, counted(r.TensorCount, "tensor"), formatBytes(r.SizeBytes))
	return err
}

// outputFormat is the format that the user named, or the one of the ending.
func (f convertFlags) outputFormat(cmd *cobra.Command, output string) (weights.Format, error) {
	if f.format != "" {
		if !slices.Contains(convertFormats, f.format) {
			return "", usagef(cmd, "--format %q is none of %s", f.format, strings.Join(convertFormats, ", "))
		}
		return weights.Format(f.format), nil
	}
	format, known := writtenFormats[filepath.Ext(output)]
	if !known {
		return "", usagef(cmd, "%s: the ending is none of .safetensors, .gguf, .npy and .npz: state the format with --format", output)
	}
	return format, nil
}
