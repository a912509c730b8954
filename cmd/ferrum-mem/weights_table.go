package main

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"ferrum_mem/core/strided"
)

// printInspection prints each source: its totals, its metadata, and its tensors.
func printInspection(out io.Writer, all inspection) error {
	for i, r := range all.Sources {
		if i > 0 {
			fmt.Fprintln(out)
		}
		if err := printSource(out, r); err != nil {
			return err
		}
	}
	return nil
}

func printSource(out io.Writer, r sourceReport) error {
	fmt.Fprintf(out, "%s: %s, %s, %s, %s\n", r.Path, r.Format, counted(r.TensorCount, "tensor"),
		formatBytes(r.TotalSizeBytes), counted(len(r.Extra.Files), "file"))
	for _, kind := range r.kinds {
		fmt.Fprintf(out, "  %s: %s, %s\n", kind.name, counted(kind.count, "tensor"), formatBytes(kind.bytes))
	}
	if r.SelectedCount < r.TensorCount {
		fmt.Fprintf(out, "selected: %s, %s\n", counted(r.SelectedCount, "tensor"), formatBytes(r.SelectedSizeBytes))
	}
	printTexts(out, r.Extra.Texts)
	if len(r.order) == 0 {
		return nil
	}
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head := "NAME\tTYPE\tSHAPE\tSIZE\tOFFSET"
	if len(r.Extra.Files) > 1 {
		head += "\tFILE"
	}
	fmt.Fprintln(table, head)
	for _, name := range r.order {
		place := r.Extra.Tensors[name]
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d", printable(name), place.DType, strided.Text(r.Tensors[name]), formatBytes(place.SizeBytes), place.OffsetBytes)
		if place.IsCompressed {
			fmt.Fprint(table, " (compressed)")
		}
		if len(r.Extra.Files) > 1 {
			fmt.Fprintf(table, "\t%s", printable(filepath.Base(r.Extra.Files[place.File])))
		}
		fmt.Fprintln(table)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if rest := r.SelectedCount - len(r.order); rest > 0 {
		fmt.Fprintf(out, "and %s more; --limit 0 lists all\n", counted(rest, "tensor"))
	}
	return nil
}

// The table shows at most this many texts of the metadata, and this many characters of each text.
const (
	maxTexts     = 100
	maxTextRunes = 100
)

func printTexts(out io.Writer, texts map[string]string) {
	if len(texts) == 0 {
		return
	}
	fmt.Fprintln(out, "metadata")
	keys := slices.Sorted(maps.Keys(texts))
	for _, key := range keys[:min(len(keys), maxTexts)] {
		fmt.Fprintf(out, "  %s: %s\n", shortened(key), shortened(texts[key]))
	}
	if rest := len(keys) - maxTexts; rest > 0 {
		fmt.Fprintf(out, "  and %d more; --json prints all\n", rest)
	}
}

// shortened cuts a text of a file to the width of a line.
func shortened(text string) string {
	if runes := []rune(text[:min(len(text), 4*maxTextRunes+4)]); len(runes) > maxTextRunes {
		return printable(string(runes[:maxTextRunes])) + " …"
	}
	return printable(text)
}

// printable returns a text of a file as it is, or quoted if it has characters that could change
// what a terminal or the table shows.
func printable(text string) string {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return strconv.Quote(text)
	}
	return text
}

// counted writes a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
