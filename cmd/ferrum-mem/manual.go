package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ferrum_mem/core/library"
)

func newManual(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "manual",
		Short: "Print the manual page",
		Long:  "Print the manual page in the format of man; make install puts it where man looks for it.",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := s.out.Write(manual(cmd.Root()))
			return err
		},
	}
}

// manual creates the manual page of the whole command from the help of its subcommands.
func manual(root *cobra.Command) []byte {
	var page bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&page, format+"\n", args...) }
	line(`.TH FERRUM\-MEM 1 "" "ferrum_mem %s"`, library.Version)
	line(".SH NAME\nferrum\\-mem \\- %s", roff(strings.ToLower(root.Short[:1])+root.Short[1:]))
	line(".SH SYNOPSIS")
	for _, cmd := range verbs(root) {
		line(`\fBferrum\-mem %s\fR%s`+"\n.br", roff(verbOf(cmd)), roff(strings.TrimPrefix(usage(cmd), cmd.Name())))
	}
	line(".SH DESCRIPTION\n%s", roff(root.Long))
	line(".SH SUBCOMMANDS")
	for _, cmd := range verbs(root) {
		line(".SS %s", roff(verbOf(cmd)))
		text := cmd.Long
		if text == "" {
			text = cmd.Short + "."
		}
		line("%s", paragraphs(text))
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			value, help := pflag.UnquoteUsage(flag)
			name := "--" + flag.Name
			if value != "" {
				name += "=" + value
			}
			line(".TP\n.B %s\n%s", roff(name), roff(help+defaultText(flag)))
		})
		if cmd.Example != "" {
			line(".PP\nExamples:\n.PP\n.nf\n%s\n.fi", roff(cmd.Example))
		}
	}
	line(".SH EXIT STATUS")
	for _, status := range exitStatuses {
		line(".TP\n.B %d\n%s", status.number, roff(status.meaning))
	}
	line(".SH ENVIRONMENT\n%s", roff("The variables whose names begin with FERRUM_ are read as the library reads them; the page environment.md of its "+
		"documentation lists them. ferrum-mem doctor shows which are set, and which of these are unknown."))
	return page.Bytes()
}

// verbs returns the subcommands of the help, without help itself. A group is replaced by
// its own subcommands.
func verbs(root *cobra.Command) []*cobra.Command {
	var found []*cobra.Command
	for _, cmd := range root.Commands() {
		switch {
		case !cmd.IsAvailableCommand() || cmd.Name() == "help":
		case cmd.HasSubCommands():
			found = append(found, verbs(cmd)...)
		default:
			found = append(found, cmd)
		}
	}
	return found
}

// verbOf returns the words of a subcommand, without the name of the program.
func verbOf(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// usage returns the synopsis of a subcommand.
func usage(cmd *cobra.Command) string {
	text := cmd.Use
	if cmd.HasAvailableFlags() {
		text += " [flags]"
	}
	return text
}

// defaultText describes the default of a flag, if the help does not.
func defaultText(flag *pflag.Flag) string {
	switch flag.DefValue {
	case "", "0", "0s", "false", "[]":
		return ""
	}
	if strings.Contains(flag.Usage, "(default") {
		return ""
	}
	return " (default: " + flag.DefValue + ")"
}

// paragraphs formats text that has empty lines between paragraphs. Indented lines stay
// lines.
func paragraphs(text string) string {
	var set []string
	for _, paragraph := range strings.Split(text, "\n\n") {
		if strings.HasPrefix(paragraph, "  ") {
			paragraph = ".nf\n" + roff(paragraph) + "\n.fi"
		} else {
			paragraph = roff(paragraph)
		}
		set = append(set, paragraph)
	}
	return strings.Join(set, "\n.PP\n")
}

// roff escapes characters with a meaning for man: backslashes, hyphens to be typed, and
// dots and quotes at the start of a line.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
