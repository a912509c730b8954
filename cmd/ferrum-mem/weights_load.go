package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/library"
	"ferrum_mem/core/weights"
)

// loadFlags are the flags of weights load as the user wrote them.
type loadFlags struct {
	sourceFlags
	device, dtype string
	threads       uint64
	asJSON        bool
}

// loadReport is the output of weights load.
type loadReport struct {
	Sources []loadedSource `json:"sources"`
}

type loadedSource struct {
	Path        string `json:"path"`
	Device      string `json:"device"`
	TensorCount int    `json:"tensor_count"`
	// SizeBytes is the size of the tensors in memory. AllocatedBytes also includes the gaps between
	// them.
	SizeBytes      uint64  `json:"size_bytes"`
	AllocatedBytes uint64  `json:"allocated_bytes"`
	Seconds        float64 `json:"seconds"`
	BytesPerSecond float64 `json:"bytes_per_second"`
}

func newWeightsLoad(s streams) *cobra.Command {
	var f loadFlags
	cmd := &cobra.Command{
		Use:   "load PATH...",
		Short: "Load the tensors of files into a device, measure the time, and free them",
		Long: `Load the tensors of files into a pool of a device, measure the time, and free them. It shows
whether the files can be read and loaded, and how fast. The sources are loaded one after the other.
The time includes the allocation of the memory. A file that the page cache holds loads faster.`,
		Example: `  ferrum-mem weights load models/llama-3.1-8b --device cuda:0
  ferrum-mem weights load model.gguf --dtype bf16 --filter 'blk.0.*' --threads 4 --json`,
		Args: usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, paths []string) error { return runLoad(cmd, s, f, paths) },
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.device, "device", "cpu:0", "the `ID` of the device to load into")
	addCastFlag(cmd, &f.dtype)
	flags.Uint64Var(&f.threads, "threads", 0, "the number `N` of threads that read; 0: 8")
	addJSONFlag(cmd, &f.asJSON)
	return cmd
}

func runLoad(cmd *cobra.Command, s streams, f loadFlags, paths []string) (err error) {
	if f.threads > math.MaxInt32 {
		return usagef(cmd, "--threads %d is above %d", f.threads, math.MaxInt32)
	}
	id, err := device.ParseID(f.device)
	if err != nil {
		return usagef(cmd, "--device: %s", message(err))
	}
	cast, err := castTo(cmd, f.dtype)
	if err != nil {
		return err
	}
	l := newLibrary(s)
	if err := l.Init(nil); err != nil {
		return err
	}
	// The stop is an error if a pool or a device is left.
	defer func() { err = errors.Join(err, l.Shutdown(false)) }()
	var r loadReport
	for _, path := range paths {
		loaded, err := loadSource(cmd, s, f, l, sourceLoad{path: path, device: id.String(), cast: cast})
		if err != nil {
			return err
		}
		r.Sources = append(r.Sources, loaded)
	}
	if f.asJSON {
		return printJSON(s, r)
	}
	for _, of := range r.Sources {
		fmt.Fprintf(s.out, "%s: %s, %s into %s in %.3f s, %s/s\n", of.Path, counted(of.TensorCount, "tensor"),
			formatBytes(of.SizeBytes), of.Device, of.Seconds, formatBytes(uint64(of.BytesPerSecond)))
	}
	return nil
}

// sourceLoad is the load of one source.
type sourceLoad struct {
	path, device string
	// cast is the type to which floating-point tensors are converted; nil: as stored.
	cast *dtype.DType
}

// loadSource loads one source into a new pool and frees it, also after an error.
func loadSource(cmd *cobra.Command, s streams, f loadFlags, l *library.Library, of sourceLoad) (r loadedSource, err error) {
	options, err := f.options(cmd)
	if err != nil {
		return r, err
	}
	source, err := openSource(cmd, s, of.path, options)
	if err != nil {
		return r, err
	}
	defer source.Close()
	specs, err := source.Select(f.selection())
	if err != nil {
		return r, err
	}
	if err := castSpecs(source, specs, of.cast); err != nil {
		return r, err
	}
	handle, err := l.DeviceOpen(of.device)
	if err != nil {
		return r, ofDevice(of.device, err)
	}
	dev, err := l.Device("weights.load", handle)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, dev.Close(false)) }()
	poolHandle, err := l.PoolCreate(handle, nil)
	if err != nil {
		return r, err
	}
	p, err := l.Pool("weights.load", poolHandle)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, p.Destroy(false)) }()
	load := func(tell func(weights.Progress)) (*weights.Set, error) {
		return source.Load(cmd.Context(), specs, weights.LoadOptions{
			Memory: weights.InPool(p.Pool, "weights"), Threads: int(f.threads), Progress: tell,
		})
	}
	r = loadedSource{Path: of.path, Device: of.device, TensorCount: len(specs)}
	return r, r.measure(cmd.Context(), s.progress, load)
}

// measure loads with a progress bar, frees the tensors, and records how long the load took.
func (r *loadedSource) measure(ctx context.Context, progress io.Writer, load func(tell func(weights.Progress)) (*weights.Set, error)) error {
	bar := newByteBar(progress, "load")
	started := time.Now()
	set, err := load(func(now weights.Progress) { bar.bytes(now.DoneBytes, now.TotalBytes) })
	r.Seconds = time.Since(started).Seconds()
	bar.finish(err == nil)
	if err != nil {
		return unlessStopped(ctx, err, "loading "+r.Path)
	}
	r.AllocatedBytes = set.Bytes()
	for _, of := range set.Tensors {
		if of.TiedTo == "" {
			r.SizeBytes += of.SizeBytes
		}
	}
	r.BytesPerSecond = float64(r.SizeBytes) / max(r.Seconds, 1e-9)
	return set.Free()
}
