package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/spf13/cobra"

	"ferrum_mem/core/device"
	"ferrum_mem/core/weights"
)

// verification is the output of weights verify.
type verification struct {
	OK      bool             `json:"ok"`
	Sources []verifiedSource `json:"sources"`
}

// verifiedSource is the answer about one source.
type verifiedSource struct {
	Path string `json:"path"`
	OK   bool   `json:"ok"`
	// Error says what is wrong, or is null.
	Error *string `json:"error"`
	// Files have the sums that were computed. They are missing if a header is wrong.
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
With --sums the sums must be those of a list. Exits 1 if a file is wrong.`,
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

// verify checks one source. A wrong file is an answer. A missing file, a failed read and an interrupt
// are errors.
func verify(cmd *cobra.Command, s streams, path string, options weights.Options, known map[string]string) (verifiedSource, error) {
	r := verifiedSource{Path: path, Files: []weights.Sum{}}
	source, err := openSource(cmd, s, path, options)
	if err == nil {
		defer source.Close()
		bar := newByteBar(s.progress, "verify")
		r.Files, err = source.Sums(cmd.Context(), bar.bytes)
		bar.finish(err == nil)
		err = unlessStopped(cmd.Context(), err, "verifying "+path)
	}
	if err == nil {
		err = compareSums(r.Files, known)
	}
	switch device.CodeOf(err) {
	case device.CodeInvalidFormat, device.CodeOverflow, device.CodeCorrupted:
		text := message(err)
		r.Error = &text
		return r, nil
	}
	r.OK = err == nil
	return r, err
}

// compareSums compares computed sums with known ones, by the names of the files without folders.
func compareSums(files []weights.Sum, known map[string]string) error {
	if known == nil {
		return nil
	}
	for _, of := range files {
		want, listed := known[filepath.Base(of.File)]
		if !listed {
			return device.Errorf(device.CodeCorrupted, "weights.verify", "%s: the list of sums does not have the file", of.File)
		}
		if want != of.SHA256 {
			return device.Errorf(device.CodeCorrupted, "weights.verify", "%s: the SHA-256 is %s and not %s", of.File, of.SHA256, want)
		}
	}
	return nil
}

// sumLine is a line of sha256sum: the sum, and the name of the file after a blank and a mark.
var sumLine = regexp.MustCompile(`^([0-9a-f]{64}) [ *](.+)$`)

// readSums reads the list of sums, by the names of the files without folders. The list may also have
// files that are not verified. Without a path it returns nil.
func readSums(path string) (map[string]string, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	wrong := func(line int, format string, args ...any) error {
		return device.Errorf(device.CodeInvalidFormat, "weights.sums", "%s: line %d: %s", path, line, fmt.Sprintf(format, args...))
	}
	known := map[string]string{}
	lines := bufio.NewScanner(file)
	number := 0
	for lines.Scan() {
		number++
		parts := sumLine.FindStringSubmatch(lines.Text())
		if parts == nil {
			return nil, wrong(number, "is not a SHA-256 sum in lower case, two characters and the name of a file")
		}
		name := filepath.Base(parts[2])
		if other, twice := known[name]; twice && other != parts[1] {
			return nil, wrong(number, "the file %s has another sum in a line before", name)
		}
		known[name] = parts[1]
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, wrong(number+1, "is too long")
	}
	return known, lines.Err()
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
