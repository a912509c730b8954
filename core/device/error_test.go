package device

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// A message that ends with its cause has the code of the cause, and its own one only if that differs.
func TestMessagesHaveACodeOnce(t *testing.T) {
	cause := Errorf(CodeOutOfMemory, "pool.alloc", "no room").On(ID{Backend: "cpu"})
	same := Errorf(CodeOf(cause), "op.run", "Add: %w", cause)
	require.EqualError(t, same, "op.run: Add: cpu:0: pool.alloc: no room (FERRUM_ERROR_OUT_OF_MEMORY)")
	require.ErrorIs(t, same, CodeOutOfMemory)
	other := Errorf(CodeBusy, "op.run", "Add: %w", cause)
	require.EqualError(t, other, "op.run: Add: cpu:0: pool.alloc: no room (FERRUM_ERROR_OUT_OF_MEMORY) (FERRUM_ERROR_BUSY)")
	require.EqualError(t, Errorf(CodeOutOfMemory, "op.run", "Add: %w at 3", cause),
		"op.run: Add: cpu:0: pool.alloc: no room (FERRUM_ERROR_OUT_OF_MEMORY) at 3 (FERRUM_ERROR_OUT_OF_MEMORY)")
}

// A message does not repeat the device of its cause. Another device is named.
func TestMessagesNameADeviceOnce(t *testing.T) {
	here, there := ID{Backend: "cpu"}, ID{Backend: "cuda", Index: 1}
	cause := Errorf(CodeOutOfMemory, "engine.alloc", "no room").On(here)
	same := Errorf(CodeOf(cause), "op.run", "Add: %w", cause).On(here)
	require.EqualError(t, same, "cpu:0: op.run: Add: engine.alloc: no room (FERRUM_ERROR_OUT_OF_MEMORY)")
	require.Equal(t, "Add: engine.alloc: no room (FERRUM_ERROR_OUT_OF_MEMORY)", same.Message)
	require.ErrorIs(t, same, cause)
	outer := Errorf(CodeOf(same), "step", "2: %w", same).On(here)
	require.EqualError(t, outer, "cpu:0: step: 2: op.run: Add: engine.alloc: no room (FERRUM_ERROR_OUT_OF_MEMORY)")
	between := Errorf(CodeOf(cause), "op.run", "Add: %w", fmt.Errorf("workspace: %w", Errorf(CodeOf(cause), "take", "%w", cause))).On(here)
	require.EqualError(t, between, "cpu:0: op.run: Add: workspace: take: engine.alloc: no room (FERRUM_ERROR_OUT_OF_MEMORY)")
	other := Errorf(CodeOf(cause), "copy", "source: %w", cause).On(there)
	require.EqualError(t, other, "cuda:1: copy: source: cpu:0: engine.alloc: no room (FERRUM_ERROR_OUT_OF_MEMORY)")
}

// A message does not repeat the operation of its cause, with and without a device.
func TestMessagesNameAnOperationOnce(t *testing.T) {
	here := ID{Backend: "cpu"}
	cause := Errorf(CodeBusy, "model.run", "another call uses it")
	require.EqualError(t, Errorf(CodeBusy, "model.run", "model %q: %w", "x", cause),
		`model.run: model "x": another call uses it (FERRUM_ERROR_BUSY)`)
	require.EqualError(t, Errorf(CodeBusy, "model.sleep", "model %q: %w", "x", cause),
		`model.sleep: model "x": model.run: another call uses it (FERRUM_ERROR_BUSY)`)
	cause = cause.On(here)
	same := Errorf(CodeBusy, "model.run", "model %q: %w", "x", cause)
	require.EqualError(t, same, `model.run: model "x": cpu:0: another call uses it (FERRUM_ERROR_BUSY)`)
	require.EqualError(t, same.On(here), `cpu:0: model.run: model "x": another call uses it (FERRUM_ERROR_BUSY)`)
	require.ErrorIs(t, same, cause)
	require.EqualError(t, Errorf(CodeTimeout, "model.run", "%w", same),
		`model.run: cpu:0: model "x": another call uses it (FERRUM_ERROR_BUSY) (FERRUM_ERROR_TIMEOUT)`)
}
