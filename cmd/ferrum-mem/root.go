package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8/cwriter"

	"ferrum_mem/core/library"
)

// run is the whole command. It returns the exit status and never ends the process.
func run(ctx context.Context, args []string, s streams) int {
	out := bufio.NewWriter(s.out)
	root := newRoot(streams{in: s.in, out: out, err: s.err, progress: s.progress})
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(s.err)
	err := root.ExecuteContext(ctx)
	// Output that was printed before an error is a partial answer or the help.
	if flushErr := out.Flush(); flushErr != nil && (err == nil || isAnswer(err)) {
		err = fmt.Errorf("writing to the standard output: %w", flushErr)
	}
	return report(s.err, err)
}

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "ferrum-mem",
		Short: "Device memory of LLM inference engines: devices, checks, models, plans, weights, replays",
		Long: `The operator's command of ferrum_mem. It lists devices, checks the machine, estimates whether
a model fits, prints the graph of a model, runs a model, places buffers into an arena, reads files of
weights, and replays a recorded workload against a pool.
Results go to the standard output, as text or, with --json, as one JSON object.
Messages and progress go to the standard error.`,
		Version:       library.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          usageArgs(cobra.ArbitraryArgs),
		RunE:          needSubcommand,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usagef(cmd, "%s", flagFault(err)) })
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetVersionTemplate("ferrum-mem {{.Version}}\n")
	root.AddCommand(newDevices(s), newDoctor(s), newFit(s), newGraph(s), newPlan(s), newReplay(s), newRun(s), newWeights(s), newVersion(s), newCompletion(s), newManual(s))
	addCompletions(root, s)
	return root
}

// needSubcommand is the action of a command that only groups others.
func needSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef(cmd, "there is no subcommand %q", args[0])
	}
	return usagef(cmd, "a subcommand is required")
}

// usageArgs turns the error of an argument check into a usage error.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usagef(cmd, "%w", err)
		}
		return nil
	}
}

// printJSON prints a value as one indented object.
func printJSON(s streams, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s\n", text)
	return err
}

func addJSONFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print one JSON object, for programs")
}

func isTerminal(file *os.File) bool { return cwriter.IsTerminal(int(file.Fd())) }
