package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"ferrum_mem/core/device"
	"ferrum_mem/core/weights"
)

// verification is the output of weights verify.
type verification struct {
	OK      bool             `json:"ok"`
	Sources []verifiedSource `json:"sources"`
}

// verifiedSource is the result for one source.
type verifiedSource struct {
	Path string `json:"path"`
	OK   bool   `json:"ok"`
	// Error is the text of the error, or null.
	Error *string `json:"error"`
	// Files have the computed sums. The list is missing if a header is wrong.
	Files []weights.Sum `json:"files"`
}

func newWeightsVerify(s streams) *cobra.Command {
	var raw, sums string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify PATH...",
		Short: "Check the headers of files, read the files to the end, and compare SHA-256 sums",
		Long: `Check the headers of files: every type, shape and place of a tensor, the index, and that files
are not too short or too long. Then read the files to the end and compute their SHA-256 sums.
With --sums FILE the sums must equal the sums in FILE. Exits 1 if a file is wrong.`,
		Example: `  ferrum-mem weights verify models/llama-3.1-8b --sums models/llama-3.1-8b/SHA256SUMS
  ferrum-mem weights verify model.gguf`,
		Args: usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, paths []string) error {
			known, err := readSums(sums)
			if err != nil {
				return err
			}
			options, err := (&sourceFlags{raw: raw}).options(cmd)
			if err != nil {
				return err
			}
			v := verification{OK: true}
			for _, path := range paths {
				of, err := verify(cmd, s, path, options, known)
				if err != nil {
					return err
				}
				v.OK = v.OK && of.OK
				v.Sources = append(v.Sources, of)
			}
			if asJSON {
				err = printJSON(s, v)
			} else {
				err = printVerification(s, v)
			}
			if err == nil && !v.OK {
				return errNo
			}
			return err
		},
	}
	cmd.Flags().StringVar(&sums, "sums", "", "a `FILE` with the expected sums, as sha256sum writes it")
	cmd.Flags().StringVar(&raw, "raw", "", rawUsage)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

// verify checks one source. A wrong file is a result. A missing file, a failed read and an
// interrupt are errors.
func verify(cmd *cobra.Command, s streams, path string, options weights.Options, known map[string]string) (verifiedSource, error) {
	r := verifiedSource{Path: path, Files: []weights.Sum{}}
	source, err := openSource(cmd, s, path, options)
	isAnswer := false
	switch device.CodeOf(err) {
	case device.CodeInvalidFormat, device.CodeOverflow:
		isAnswer = true
	}
	if err == nil {
		defer source.Close()
		err = r.sum(cmd, s, source, known)
		switch device.CodeOf(err) {
		case device.CodeCorrupted, device.CodeNotFound:
			isAnswer = true // a file with another sum, or one that the list does not have
		}
	}
	if isAnswer {
		text := message(err)
		r.Error = &text
		return r, nil
	}
	r.OK = err == nil
	return r, err
}

// sum computes the sums of the files and compares them with known sums; nil: no comparison.
func (r *verifiedSource) sum(cmd *cobra.Command, s streams, source *weights.Source, known map[string]string) error {
	bar := newByteBar(s.progress, "verify")
	var files []weights.Sum
	var err error
	if known == nil {
		files, err = source.Sums(cmd.Context(), bar.bytes)
	} else {
		files, err = source.Verify(cmd.Context(), known, bar.bytes)
	}
	bar.finish(err == nil)
	r.Files = append(r.Files, files...)
	return unlessStopped(cmd.Context(), err, "verifying "+r.Path)
}

// readSums reads the list of sums. Without a path it returns nil.
func readSums(path string) (map[string]string, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return weights.ReadSums(path, file)
}

func printVerification(s streams, v verification) error {
	var err error
	for _, of := range v.Sources {
		for _, file := range of.Files {
			// This is the form of sha256sum, which --sums reads.
			_, err = fmt.Fprintf(s.out, "%s  %s\n", file.SHA256, printable(file.File))
		}
	}
	for _, of := range v.Sources {
		if of.Error != nil {
			fmt.Fprintf(s.err, "ferrum-mem: %s\n", *of.Error)
		}
	}
	return err
}
