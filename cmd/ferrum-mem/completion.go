package main

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ferrum_mem/core/estimate"
	"ferrum_mem/core/library"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/replay"
)

// completions are the values that a shell offers for flags of these names, in every
// subcommand.
var completions = map[string][]string{
	"strategy":  rangealloc.Names(),
	"mode":      {"contiguous", "paged", "lifetimes"},
	"format":    slices.Sorted(maps.Keys(formats)),
	"policy":    {string(replay.PolicyStatic), string(replay.PolicyElastic), policyBoth},
	"kv-dtype":  strings.Split(estimate.DTypeNames, ", "),
	"dtype":     strings.Split(estimate.DTypeNames, ", "),
	"attention": {"fused", "eager"},
	"logits":    {"last", "all"},
	"pool":      poolings,
}

// flagsOfFiles are the flags whose value is a file, which a shell completes itself.
var flagsOfFiles = []string{"snapshot", "report", "picture", "model", "sums"}

// addCompletions registers the possible flags and arguments of every subcommand.
func addCompletions(root *cobra.Command, s streams) {
	for _, cmd := range verbs(root) {
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			complete := cobra.NoFileCompletions
			if values, ok := completions[flag.Name]; ok {
				complete = cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
			} else if flag.Name == "device" {
				complete = completeDevices(s)
			} else if slices.Contains(flagsOfFiles, flag.Name) || flag.Value.Type() == "bool" {
				return
			}
			// The call fails for a flag that already has values; each flag is visited once.
			_ = cmd.RegisterFlagCompletionFunc(flag.Name, complete)
		})
		// Only subcommands whose usage names an argument take one.
		if !strings.Contains(cmd.Use, " ") && cmd.ValidArgsFunction == nil {
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
}

// completeDevices offers the devices of this machine, each with its name. On an error it
// offers none, because a shell cannot show the error.
func completeDevices(s streams) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		text, err := ask(streams{in: s.in, out: io.Discard, err: io.Discard}, (*library.Library).BackendsJSON)
		var found backends
		if err == nil {
			err = json.Unmarshal(text, &found)
		}
		var ids []string
		for _, b := range found.Backends {
			for _, d := range b.Devices {
				ids = append(ids, cobra.CompletionWithDesc(d.ID, d.Name))
			}
		}
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}

func newCompletion(s streams) *cobra.Command {
	write := map[string]func(root *cobra.Command, out io.Writer) error{
		"bash": func(root *cobra.Command, out io.Writer) error { return root.GenBashCompletionV2(out, true) },
		"zsh":  func(root *cobra.Command, out io.Writer) error { return root.GenZshCompletion(out) },
		"fish": func(root *cobra.Command, out io.Writer) error { return root.GenFishCompletion(out, true) },
	}
	shells := slices.Sorted(maps.Keys(write))
	return &cobra.Command{
		Use:   "completion " + strings.Join(shells, "|"),
		Short: "Print the completion script of a shell",
		Long: `Print a script that completes subcommands, flags, devices and values of flags in a shell.
make install puts it where shells look for it. For one session:

  source <(ferrum-mem completion bash)
  source <(ferrum-mem completion zsh)
  ferrum-mem completion fish | source`,
		ValidArgs: shells,
		Args:      usageArgs(cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs)),
		RunE:      func(cmd *cobra.Command, args []string) error { return write[args[0]](cmd.Root(), s.out) },
	}
}
