package main

import (
	"github.com/spf13/cobra"

	"ferrum_mem/core/weights"
)

// inspection is the output of weights inspect.
type inspection struct {
	Sources []sourceReport `json:"sources"`
}

// sourceReport describes one source. The tensors of the metadata are those that are listed.
type sourceReport struct {
	Path string `json:"path"`
	weights.Metadata
	TensorCount int `json:"tensor_count"`
	// SelectedCount tensors with SelectedSizeBytes are chosen by the filters; of these, only the
	// first are listed if a limit is given.
	SelectedCount     int    `json:"selected_count"`
	SelectedSizeBytes uint64 `json:"selected_size_bytes"`
	// order has the names of the listed tensors in the order of the files.
	order []string
	kinds []kindTotal
}

// kindTotal counts the tensors of one type.
type kindTotal struct {
	name  string
	count int
	bytes uint64
}

// textLimit is the largest number of tensors in the table unless --limit is given.
const textLimit = 100

func newWeightsInspect(s streams) *cobra.Command {
	var f sourceFlags
	var limit uint64
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "inspect PATH...",
		Short: "List the tensors of files: name, type, shape, size, place",
		Long: `List the tensors of files with their types, shapes, sizes and places, and the metadata of
the files. Only headers are read, never a tensor.`,
		Example: `  ferrum-mem weights inspect models/llama-3.1-8b --filter '*.layers.0.*'
  ferrum-mem weights inspect model.gguf --json`,
		Args: usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, paths []string) error {
			if !cmd.Flags().Changed("limit") && !asJSON {
				limit = textLimit
			}
			var all inspection
			for _, path := range paths {
				r, err := inspect(cmd, s, f, path, limit)
				if err != nil {
					return err
				}
				all.Sources = append(all.Sources, r)
			}
			if asJSON {
				return printJSON(s, all)
			}
			return printInspection(s.out, all)
		},
	}
	f.add(cmd)
	cmd.Flags().Uint64Var(&limit, "limit", 0, "list at most `N` tensors of each path; 0: all (default: 100 as text, all with --json)")
	addJSONFlag(cmd, &asJSON)
	return cmd
}

// inspect describes one source.
func inspect(cmd *cobra.Command, s streams, f sourceFlags, path string, limit uint64) (sourceReport, error) {
	options, err := f.options(cmd)
	if err != nil {
		return sourceReport{}, err
	}
	source, err := openSource(cmd, s, path, options)
	if err != nil {
		return sourceReport{}, err
	}
	defer source.Close()
	specs, err := source.Select(f.selection())
	if err != nil {
		return sourceReport{}, err
	}
	r := sourceReport{Path: path, Metadata: source.Metadata(), TensorCount: len(source.Tensors()), SelectedCount: len(specs)}
	places, shapes := map[string]weights.Place{}, map[string][]uint64{}
	for _, spec := range specs {
		place := r.Extra.Tensors[spec.Name]
		r.SelectedSizeBytes += place.SizeBytes
		if limit == 0 || uint64(len(places)) < limit {
			places[spec.Name], shapes[spec.Name] = place, r.Tensors[spec.Name]
			r.order = append(r.order, spec.Name)
		}
	}
	r.kinds = kindsOf(r.Metadata)
	r.Tensors, r.Extra.Tensors = shapes, places
	return r, nil
}

// kindsOf counts the tensors of each type, in alphabetical order.
func kindsOf(m weights.Metadata) []kindTotal {
	kinds := make([]kindTotal, len(m.DTypes))
	at := map[string]*kindTotal{}
	for i, name := range m.DTypes {
		kinds[i].name = name
		at[name] = &kinds[i]
	}
	for _, place := range m.Extra.Tensors {
		at[place.DType].count++
		at[place.DType].bytes += place.SizeBytes
	}
	return kinds
}
