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
	"ferrum_mem/drivers/host"
)

// convertFlags are the flags of weights convert as the user wrote them.
type convertFlags struct {
	sourceFlags
	format, dtype   string
	maxFile         string
	replace, asJSON bool
}

// conversion is the output of weights convert.
type conversion struct {
	Path        string         `json:"path"`
	Output      string         `json:"output"`
	Format      weights.Format `json:"format"`
	TensorCount int            `json:"tensor_count"`
	// Files are the paths of the files, an index last.
	Files []string `json:"files"`
	// SizeBytes is the size of all output files.
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
		Long: `Write tensors of files to a file: safetensors, GGUF, npy (one tensor), npz, or raw (one
tensor). With --max-file-size a model is written to several files of safetensors and an index,
model-00001-of-00002.safetensors and so on, if one file would be larger. The ending of OUTPUT
decides the format, unless --format states it. The conversion needs a few megabytes of memory.
OUTPUT appears when it is complete; after an error or an interrupt no part of it is left. The free
space of the disk is checked first.

The metadata are kept if both files are safetensors or both are GGUF. Other conversions write no
metadata, so a GGUF file that is made from another format has only tensors. Nothing is quantised.
Quantised blocks of a GGUF file are copied unchanged, and only to GGUF.`,
		Example: `  ferrum-mem weights convert pytorch_model.bin model.safetensors
  ferrum-mem weights convert model.gguf model.safetensors --dtype bf16`,
		Args: usageArgs(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error { return runConvert(cmd, s, f, args[0], args[1]) },
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "", "the `FORMAT` of OUTPUT: "+strings.Join(convertFormats, ", ")+" (default: by its ending)")
	addCastFlag(cmd, &f.dtype)
	flags.StringVar(&f.maxFile, "max-file-size", "", "the largest `SIZE` of a file, such as 5GiB; more files and an index are written if needed (default: one file)")
	flags.BoolVar(&f.replace, "replace", false, "replace OUTPUT if it exists")
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
	most, err := f.maxFileBytes(cmd)
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
	r := conversion{Path: path, Output: output, Format: format, TensorCount: len(specs)}
	to := weights.ConvertOptions{Format: format, Replace: f.replace, KeepMetadata: true, MaxFileBytes: most}
	to.Written = func(paths []string) { r.Files = paths }
	bar := newByteBar(s.progress, "convert")
	to.Progress = func(now weights.Progress) { bar.bytes(now.DoneBytes, now.TotalBytes) }
	err = source.Convert(cmd.Context(), specs, output, to)
	bar.finish(err == nil)
	// A type that the output format does not have is an error of the input, and not of the system.
	if device.CodeOf(err) == device.CodeUnsupported {
		return usagef(cmd, "%s", message(err))
	}
	if err != nil {
		return unlessStopped(cmd.Context(), err, "converting "+path)
	}
	for _, file := range r.Files {
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		r.SizeBytes += uint64(info.Size())
	}
	if f.asJSON {
		return printJSON(s, r)
	}
	last := r.Files[len(r.Files)-1]
	_, err = fmt.Fprintf(s.out, "%s: %s, %s, %s", last, r.Format, counted(r.TensorCount, "tensor"), formatBytes(r.SizeBytes))
	if len(r.Files) > 1 {
		fmt.Fprintf(s.out, ", %s", counted(len(r.Files), "file"))
	}
	fmt.Fprintln(s.out)
	return err
}

// maxFileBytes returns the largest file size that the user allows; 0: any.
func (f convertFlags) maxFileBytes(cmd *cobra.Command) (uint64, error) {
	if f.maxFile == "" {
		return 0, nil
	}
	bytes, err := host.ParseSize(f.maxFile)
	if err != nil || bytes == 0 {
		return 0, usagef(cmd, "--max-file-size %q is not a size such as 5GiB", f.maxFile)
	}
	return bytes, nil
}

// outputFormat returns the format that the user named, or the format of the ending.
func (f convertFlags) outputFormat(cmd *cobra.Command, output string) (weights.Format, error) {
	if f.format != "" {
		if !slices.Contains(convertFormats, f.format) {
			return "", usagef(cmd, "--format %q is not one of %s", f.format, strings.Join(convertFormats, ", "))
		}
		return weights.Format(f.format), nil
	}
	format, known := writtenFormats[filepath.Ext(output)]
	if !known {
		return "", usagef(cmd, "%s: the ending is not one of .safetensors, .gguf, .npy and .npz: state the format with --format", output)
	}
	return format, nil
}
