package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ferrum_mem/core/architecture"
	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/passes"
)

// graphFlags are the flags of graph as the user wrote them.
type graphFlags struct {
	dims, passes  []string
	asJSON, asDOT bool
	// onnx is the file of ONNX to be written; "": none.
	onnx              string
	external, replace bool
}

func newGraph(s streams) *cobra.Command {
	var f graphFlags
	cmd := &cobra.Command{
		Use:   "graph MODEL",
		Short: "Print the graph of a model: its inputs, operators, shapes and outputs",
		Long: `Print the graph of a model as a table, as a definition in JSON (--json), or in the language
DOT of Graphviz (--dot). MODEL is a folder with a config.json, with weights or without, a
config.json, a GGUF file, a file of ONNX, or a file with a definition as --json prints it; the
page model_definition.md of the documentation describes it. Of weights only headers are read.

With --onnx the model is written as a file of ONNX with the elements of its weights, and a line
or an object (--json) states what was written. The page onnx.md of the documentation describes the
file. Parameters that the weights do not have are initialised.

The definition is checked first. Issues go to the standard error, each with its path in the
definition and, where there is one, a fix. Exits 1 if one of them is more than a warning; then
nothing is printed.

--passes runs passes over the definition first, in an order that their dependencies allow; the page
passes.md describes them. The table then ends with what each pass removed.

Without --dim a dimension that the inputs of a run decide has its name, or a question mark.
With the length of each, the table and DOT have the shapes of a run.`,
		Example: `  ferrum-mem graph models/all-minilm-l6-v2
  ferrum-mem graph models/all-minilm-l6-v2 --dim batch=8 --dim sequence=128
  ferrum-mem graph models/all-minilm-l6-v2 --json > model.json
  ferrum-mem graph models/all-minilm-l6-v2 --passes merge_same,merge_qkv,fuse_norm
  ferrum-mem graph model.json --dot | dot -Tsvg -o model.svg
  ferrum-mem graph models/all-minilm-l6-v2 --onnx model.onnx`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return runGraph(cmd, s, f, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.dims, "dim", nil, "the length of a dimension, as `NAME=LENGTH`; may be given several times")
	flags.StringSliceVar(&f.passes, "passes", nil, "the `NAMES` of passes that run before, with commas: "+strings.Join(passes.Names(), ", "))
	flags.BoolVar(&f.asDOT, "dot", false, "print the graph in the language DOT")
	flags.StringVar(&f.onnx, "onnx", "", "write the model to `FILE` in the format of ONNX")
	flags.BoolVar(&f.external, "external", false, "with --onnx: write the elements of tensors to FILE.data")
	flags.BoolVar(&f.replace, "replace", false, "with --onnx: replace files that exist")
	addJSONFlag(cmd, &f.asJSON)
	return cmd
}

// checkGraphFlags rejects flags that exclude each other.
func checkGraphFlags(cmd *cobra.Command, f graphFlags) error {
	switch {
	case f.asJSON && f.asDOT:
		return usagef(cmd, "--json and --dot exclude each other")
	case f.asJSON && len(f.dims) > 0:
		return usagef(cmd, "--dim needs the table or --dot: a definition has no lengths of a run")
	case f.onnx != "" && (f.asDOT || len(f.dims) > 0):
		return usagef(cmd, "--onnx prints no graph: --dot and --dim are not possible with it")
	case f.onnx != "" && len(f.passes) > 0:
		return usagef(cmd, "--onnx writes the model before the passes: --passes is not possible with it")
	case f.onnx == "" && (f.external || f.replace):
		return usagef(cmd, "--external and --replace need --onnx")
	}
	return nil
}

func runGraph(cmd *cobra.Command, s streams, f graphFlags, path string) error {
	if err := checkGraphFlags(cmd, f); err != nil {
		return err
	}
	dims, err := dimLengths(cmd, f.dims)
	if err != nil {
		return err
	}
	d, err := define(cmd, s, path)
	if err != nil {
		return err
	}
	m := d.Model
	if isStopped := printIssues(s.err, append(d.Issues, m.Validate()...)); isStopped {
		return errNo
	}
	if f.onnx != "" {
		return writeONNX(cmd, s, f, path)
	}
	results := []passes.Result{}
	if len(f.passes) > 0 {
		if m, results, err = optimise(cmd, m, f.passes); err != nil {
			return err
		}
	}
	if f.asJSON {
		text, err := m.JSON()
		if err == nil {
			_, err = s.out.Write(text)
		}
		return err
	}
	g, err := m.Resolve()
	if err != nil {
		return err
	}
	var shapes *ir.Shapes
	if len(dims) > 0 {
		if shapes, err = g.Infer(dims); err != nil {
			return usagef(cmd, "--dim: %s", message(err))
		}
	}
	if f.asDOT {
		return g.WriteDOT(s.out, shapes)
	}
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	if err := g.WriteText(table, shapes); err != nil {
		return err
	}
	writePasses(table, results)
	return table.Flush()
}

// optimise runs passes, by their names, over a definition.
func optimise(cmd *cobra.Command, m *ir.Model, names []string) (*ir.Model, []passes.Result, error) {
	var registry passes.Registry
	list, done, err := registry.Take(names)
	if err != nil {
		return nil, nil, usagef(cmd, "--passes: %s", message(err))
	}
	defer done()
	changed, results, err := passes.Run(cmd.Context(), m, list, passes.Options{})
	if device.CodeOf(err) == device.CodeAlreadyExists {
		return nil, nil, usagef(cmd, "--passes: %s", message(err))
	}
	return changed, results, err
}

// writePasses writes a row for each result.
func writePasses(out io.Writer, results []passes.Result) {
	if len(results) == 0 {
		return
	}
	fmt.Fprint(out, "\nPASS\tOPERATIONS REMOVED\tPARAMETERS REMOVED\tMEMORY SAVED\n")
	for _, r := range results {
		if !r.Applied {
			fmt.Fprintf(out, "%s\t-\t-\t-\n", r.Pass)
			continue
		}
		fmt.Fprintf(out, "%s\t%d\t%d\t%v\n", r.Pass, r.Stats.OperationsEliminated, r.Stats.ParametersEliminated, device.Size(r.Stats.MemorySaved))
	}
	for _, r := range results {
		for _, warning := range r.Warnings {
			fmt.Fprintf(out, "warning: %s: %s\n", r.Pass, warning)
		}
	}
}

// dimLengths reads the values of --dim.
func dimLengths(cmd *cobra.Command, given []string) (map[string]uint64, error) {
	dims := make(map[string]uint64, len(given))
	for _, text := range given {
		at := strings.LastIndexByte(text, '=')
		if at <= 0 {
			return nil, usagef(cmd, "--dim %q is not NAME=LENGTH", text)
		}
		length, err := strconv.ParseUint(text[at+1:], 10, 63)
		if err != nil {
			return nil, usagef(cmd, "--dim %q: the length is not a whole number below 2^63", text)
		}
		if _, twice := dims[text[:at]]; twice {
			return nil, usagef(cmd, "--dim %q: the length of %q is given twice", text, text[:at])
		}
		dims[text[:at]] = length
	}
	return dims, nil
}

// define reads the definition of a file, or makes it from the files of a model.
func define(cmd *cobra.Command, s streams, path string) (*architecture.Definition, error) {
	text, err := definitionText(path)
	if err != nil {
		return nil, err
	}
	var d *architecture.Definition
	if text != nil {
		d = &architecture.Definition{}
		if d.Model, err = ir.Parse(text); err != nil {
			err = device.Errorf(device.CodeOf(err), "graph", "%s: %s", path, message(err))
		}
	} else {
		defer busy(s.progress, "reading the headers of "+path)()
		d, err = architecture.Open(path, architecture.Options{})
	}
	// An unsupported file is an error of the input, not of the machine.
	if device.CodeOf(err) == device.CodeUnsupported {
		return nil, usagef(cmd, "%s", message(err))
	}
	return d, err
}

// definitionText returns the text of a file with a definition; nil for other files and folders. A
// definition is a JSON object with a graph. A text that is not JSON is treated as one, for its error.
func definitionText(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	in := bufio.NewReader(io.LimitReader(file, ir.MaxBytes+1))
	// A file of weights does not begin with a brace.
	if first, err := in.Peek(1); err != nil || !bytes.ContainsAny(first, "{ \t\r\n") {
		return nil, ignoreEOF(err)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	var fields struct {
		Graph json.RawMessage `json:"graph"`
	}
	if err := json.Unmarshal(text, &fields); err == nil && fields.Graph == nil {
		return nil, nil
	}
	return text, nil
}

// ignoreEOF returns an error other than that of an empty file.
func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// printIssues prints a line for each issue, and states whether one of them stops a build.
func printIssues(out io.Writer, issues []ir.Issue) (isStopped bool) {
	for _, i := range issues {
		isStopped = isStopped || i.Severity > ir.Warning
		fmt.Fprintf(out, "%v: %s: %s", i.Severity, i.ConfigPath, i.Description)
		if i.SuggestedFix != "" {
			fmt.Fprintf(out, "; %s", i.SuggestedFix)
		}
		fmt.Fprintln(out)
	}
	return isStopped
}
