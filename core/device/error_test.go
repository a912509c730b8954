package device

import (
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
