package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"ferrum_mem/core/estimate"
)

// printFit prints the parts of the sum, then the result for each device.
func printFit(out io.Writer, r fitReport) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	modelType := "weights only"
	if r.ModelType != nil {
		modelType = *r.ModelType
	}
	fmt.Fprintf(table, "%s\t%s, %d parameters, from %s\n", r.Model, modelType, r.Parameters, r.Source)
	fmt.Fprintf(table, "weights\t%s\t%s\n", formatBytes(r.WeightsBytes), r.WeightDType)
	if r.BufferBytes > 0 {
		fmt.Fprintf(table, "buffers\t%s\n", formatBytes(r.BufferBytes))
	}
	fmt.Fprintf(table, "KV cache\t%s\t%s\n", formatBytes(r.KVCacheBytes), cacheText(r.Report))
	if r.KVCacheLowerBytes != r.KVCacheFullBytes {
		fmt.Fprintf(table, "  tokens in reach alone\t%s\tthe minimum for layers with a window\n", formatBytes(r.KVCacheLowerBytes))
		fmt.Fprintf(table, "  without windows\t%s\tfor engines that keep the whole context\n", formatBytes(r.KVCacheFullBytes))
	}
	if r.StateBytes > 0 {
		fmt.Fprintf(table, "states\t%s\t%d x, for any length of a sequence\n", formatBytes(r.StateBytes), r.Batch)
	}
	fmt.Fprintf(table, "activations\t%s\t%s\n", formatBytes(r.ActivationBytes), prefillText(r.Report))
	fmt.Fprintf(table, "allocator\t%s\t%d in a thousand\n", formatBytes(r.OverheadBytes), r.OverheadPermille)
	total := formatBytes(r.TotalBytes)
	if r.TensorParallel > 1 {
		total += fmt.Sprintf("\ton each of %d devices", r.TensorParallel)
	}
	fmt.Fprintf(table, "together\t%s\n", total)
	if err := table.Flush(); err != nil {
		return err
	}
	for _, note := range r.Notes {
		fmt.Fprintf(out, "note: %s\n", note)
	}
	fmt.Fprintln(out)
	fmt.Fprintln(table, "DEVICE\tFREE\tFITS\tLEFT\tLONGEST CONTEXT\tLARGEST BATCH")
	for _, d := range r.Devices {
		fits, left := "yes", formatBytes(d.LeftBytes)
		if !d.Fits {
			fits, left = "no", "short of "+formatBytes(d.MissingBytes)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", d.Device, formatBytes(d.FreeBytes), fits, left,
			contextText(d.Answer, r.ModelContext), mostText(d.MaxBatch, d.MaxBatchLimitedBy))
	}
	return table.Flush()
}

func cacheText(r estimate.Report) string {
	if r.KVDType == "none" {
		return "none is kept"
	}
	text := fmt.Sprintf("%s, %d x %d tokens", r.KVDType, r.Batch, r.Context)
	if r.KVCacheLowerBytes != r.KVCacheFullBytes {
		text += fmt.Sprintf(", in blocks of %d where there is a window", r.BlockTokens)
	}
	return text
}

func prefillText(r estimate.Report) string {
	encoder := r.KVDType == "none" && r.StateBytes == 0
	if r.PrefillTokens == 0 || encoder {
		return "whole texts at once"
	}
	return fmt.Sprintf("up to %d tokens at once", r.PrefillTokens)
}

// contextText returns the longest context, and the model's own limit if that is lower.
func contextText(a estimate.Answer, model *uint64) string {
	text := mostText(a.MaxContext, a.MaxContextLimitedBy)
	if a.MaxContextBeyondModel {
		text += fmt.Sprintf(" (made for %d)", *model)
	}
	return text
}

func mostText(most *uint64, by estimate.LimitedBy) string {
	if most == nil {
		return "any"
	}
	text := strconv.FormatUint(*most, 10)
	if by == estimate.ByModel {
		text += " (the model's)"
	}
	return text
}
