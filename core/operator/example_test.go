package operator_test

import (
	"fmt"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
)

func Example() {
	schema, err := operator.Find(operator.ONNX, "ReduceMean", 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	mean, err := schema.Prepare([]byte(`{"keepdims": 0}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	data := operator.Value{Type: dtype.BF16, Shape: []uint64{8, 128, 384}}
	axes := operator.Value{Type: dtype.I64, Shape: []uint64{1}, Known: []int64{-2}}
	inferred, err := mean.Infer([]operator.Value{data, axes}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(inferred.Outputs[0], inferred.Layout.Axes)

	axes.Known = []int64{3}
	_, err = mean.Infer([]operator.Value{data, axes}, nil)
	fmt.Println(err)
	// Output:
	// bf16[8, 384] [1]
	// operator.infer: ReduceMean: input "axes" [3]: axis 3 is out of range: input "data" bf16[8, 128, 384] has the axes -3 to 2 (FERRUM_ERROR_INVALID_ARGUMENT)
}
