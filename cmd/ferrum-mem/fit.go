package main

import (
	"slices"

	"github.com/spf13/cobra"

	"ferrum_mem/core/device"
	"ferrum_mem/core/estimate"
)

// fitFlags are the flags of fit as the user wrote them.
type fitFlags struct {
	devices                                        []string
	limit, memory                                  string
	context, batch, tensorParallel, prefill, extra uint64
	block                                          uint64
	kvDType, dtype, attention, logits              string
	asJSON                                         bool
}

// fitReport is the output of fit: the result for one device, and for all devices.
type fitReport struct {
	estimate.FitReport
	// Device is the device of the numbers above. It is the device with the most free memory
	// among those on which the model fits, or among all if the model fits on none.
	Device  string      `json:"device"`
	Devices []deviceFit `json:"devices"`
}

// deviceFit is the result for one device.
type deviceFit struct {
	Device string `json:"device"`
	// TotalBytes is the capacity of the device, or 0 if it is not known.
	TotalBytes uint64 `json:"total_bytes"`
	estimate.Answer
}

func newFit(s streams) *cobra.Command {
	var f fitFlags
	cmd := &cobra.Command{
		Use:   "fit CONFIG|DIR|FILE",
		Short: "State whether a model fits into a device, and the largest context",
		Long: `State whether a model fits into a device, how much memory is left, and the longest
context and largest batch that fit.

CONFIG is a config.json as published beside a model. FILE is a GGUF file (any part of a
model in several files), a safetensors file, or the index of several. DIR is a folder with
a config.json, with safetensors files or with both, or with the GGUF files of one model.
Only headers are read. Without safetensors files the size of the weights is computed from
the configuration. Without a configuration only the weights are counted.

Every device is checked unless --device names some. Exits 1 if the model fits on none
of them. With --tensor-parallel N the result is for each of N devices.`,
		Example: `  ferrum-mem fit models/llama-3.1-8b --context 32768 --batch 4 --kv-dtype f8
  ferrum-mem fit config.json --dtype int4 --memory 24GiB
  ferrum-mem fit models/mixtral --tensor-parallel 2 --limit 40GiB --json`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return runFit(cmd, s, f, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.devices, "device", nil, "the `ID` of a device to check, may be given several times (default: all)")
	flags.StringVar(&f.limit, "limit", "", "use at most `SIZE` of the free memory of a device, such as 24GiB")
	flags.StringVar(&f.memory, "memory", "", "query no device: assume one with `SIZE` of free memory")
	flags.Uint64Var(&f.context, "context", 0, "the number `N` of tokens of one sequence, prompt and answer (default: the model's own context)")
	flags.Uint64Var(&f.batch, "batch", 1, "the number `N` of sequences at a time")
	flags.StringVar(&f.kvDType, "kv-dtype", "", "the `TYPE` of the KV cache: "+estimate.DTypeNames+" (default: the type of the activations)")
	flags.StringVar(&f.dtype, "dtype", "", "the `TYPE` that weights are converted to: "+estimate.DTypeNames+" (default: as stored)")
	flags.Uint64Var(&f.tensorParallel, "tensor-parallel", 1, "the number `N` of devices that share the model")
	flags.Uint64Var(&f.prefill, "prefill-tokens", estimate.DefaultPrefillTokens, "largest number `N` of prompt tokens computed at once; 0: whole prompts")
	flags.StringVar(&f.attention, "attention", "fused", "the `KIND` of attention: fused, or eager, which stores all scores")
	flags.StringVar(&f.logits, "logits", "last", "`WHICH` tokens get logits: last, or all")
	flags.Uint64Var(&f.extra, "overhead-permille", estimate.DefaultOverheadPermille, "the share of the allocator, `N` thousandths of the other memory")
	flags.Uint64Var(&f.block, "block-tokens", estimate.DefaultBlockTokens, "the number `N` of tokens of a block of the KV cache; layers with a window keep whole blocks")
	addJSONFlag(cmd, &f.asJSON)
	return cmd
}

func runFit(cmd *cobra.Command, s streams, f fitFlags, path string) error {
	serving, err := f.serving(cmd)
	if err != nil {
		return err
	}
	rooms, err := f.rooms(cmd, s)
	if err != nil {
		return err
	}
	x, err := estimate.Open(path)
	// An unsupported file is an error of the input, not of the machine.
	if device.CodeOf(err) == device.CodeUnsupported {
		return usagef(cmd, "%s", message(err))
	}
	if err != nil {
		return err
	}
	if !cmd.Flags().Changed("context") {
		if serving.Context = x.DefaultContext(); serving.Context == 0 {
			return usagef(cmd, "--context is required: %s does not state the model's own context", path)
		}
	}
	r, err := fitAll(x, serving, rooms)
	if err != nil {
		return err
	}
	if f.asJSON {
		err = printJSON(s, r)
	} else {
		err = printFit(s.out, r)
	}
	if err == nil && !r.Fits {
		return errNo
	}
	return err
}

// serving checks the flags. The context may still be missing.
func (f fitFlags) serving(cmd *cobra.Command) (estimate.Serving, error) {
	v := estimate.Serving{
		Context: f.context, Batch: f.batch, TensorParallel: f.tensorParallel, PrefillTokens: f.prefill, OverheadPermille: f.extra,
		BlockTokens: f.block, EagerAttention: f.attention == "eager", AllLogits: f.logits == "all",
	}
	for _, flag := range []struct {
		name  string
		value uint64
	}{{"context", f.context}, {"batch", f.batch}, {"tensor-parallel", f.tensorParallel}, {"block-tokens", f.block}} {
		if flag.value == 0 && cmd.Flags().Changed(flag.name) {
			return v, usagef(cmd, "--%s 0: want at least 1", flag.name)
		}
	}
	if f.attention != "fused" && f.attention != "eager" {
		return v, usagef(cmd, "--attention %q is neither fused nor eager", f.attention)
	}
	if f.logits != "last" && f.logits != "all" {
		return v, usagef(cmd, "--logits %q is neither last nor all", f.logits)
	}
	var err error
	// Engines call this value the default.
	const auto = "auto"
	if f.kvDType != "" && f.kvDType != auto {
		if v.KVDType, err = estimate.ParseDType(f.kvDType); err != nil {
			return v, usagef(cmd, "--kv-dtype: %s", message(err))
		}
	}
	if f.dtype != "" && f.dtype != auto {
		if v.WeightDType, err = estimate.ParseDType(f.dtype); err != nil {
			return v, usagef(cmd, "--dtype: %s", message(err))
		}
	}
	return v, nil
}

// fitAll computes the result for every device, and puts the best first.
func fitAll(x *estimate.Subject, serving estimate.Serving, rooms []room) (fitReport, error) {
	var r fitReport
	reports := make([]estimate.FitReport, len(rooms))
	for i, room := range rooms {
		var err error
		if reports[i], err = x.FitReport(serving, room.freeBytes); err != nil {
			return fitReport{}, err
		}
		r.Devices = append(r.Devices, deviceFit{Device: room.device, TotalBytes: room.totalBytes, Answer: reports[i].Answer})
	}
	best := slices.MaxFunc(rooms, func(a, b room) int {
		if a.freeBytes < b.freeBytes {
			return -1
		}
		if a.freeBytes > b.freeBytes {
			return 1
		}
		return 0
	})
	at := slices.Index(rooms, best)
	r.FitReport, r.Device = reports[at], best.device
	return r, nil
}
