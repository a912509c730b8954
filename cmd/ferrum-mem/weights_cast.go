package main

import (
	"github.com/spf13/cobra"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/weights"
)

// addCastFlag adds --dtype. castTo parses its values.
func addCastFlag(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "dtype", "", "the `TYPE` that floating-point tensors are converted to, such as bf16 (default: as stored)")
	// Another subcommand has a flag of the same name with other values.
	_ = cmd.RegisterFlagCompletionFunc("dtype", cobra.FixedCompletions(convertibleTypes(), cobra.ShellCompDirectiveNoFileComp))
}

// castTo returns the type of --dtype; nil: the stored type.
func castTo(cmd *cobra.Command, name string) (*dtype.DType, error) {
	if name == "" {
		return nil, nil
	}
	to, err := dtype.Parse(name)
	if err != nil || !to.IsFloat() {
		return nil, usagef(cmd, "--dtype %q is not a floating-point type", name)
	}
	return &to, nil
}

// convertibleTypes lists the floating-point types that tensors can be converted to.
func convertibleTypes() (names []string) {
	for t := dtype.DType(0); t < dtype.GGUFBase; t++ {
		if t.IsFloat() && t.IsConvertible() {
			names = append(names, t.String())
		}
	}
	return names
}

// castSpecs converts floating-point tensors, and GGUF blocks that can be dequantised.
func castSpecs(source *weights.Source, specs []weights.Spec, to *dtype.DType) error {
	if to == nil {
		return nil
	}
	for i := range specs {
		t, err := source.Find(specs[i].Tensor)
		if err != nil {
			return err
		}
		if t.Type.IsFloat() || t.Type.CanDequantise() {
			specs[i].Transformations = []weights.Transformation{{Kind: weights.Cast, Type: *to}}
		}
	}
	return nil
}
