package device

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSurveyReportsItsReason(t *testing.T) {
	found := Survey{Devices: []Surveyed{{Name: "x"}}}
	require.NoError(t, found.Err("cuda"))

	absent := Absent(AbsenceDriverError, 999, "cuInit failed")
	err := absent.Err("cuda")
	require.ErrorIs(t, err, CodeBackendUnavailable)
	var typed *Error
	require.ErrorAs(t, err, &typed)
	require.EqualValues(t, 999, typed.Native)
	require.Equal(t, "cuda.probe", typed.Op)
	require.Equal(t, "cuInit failed", typed.Message)
}

// A child process sends a survey through a pipe, so the encoding must keep every field.
func TestSurveyIsEncodedAndDecoded(t *testing.T) {
	sent := Survey{
		Library: "libx.so.1", Version: "12.4", Native: -3, Message: "m", Absence: AbsenceNoDevice,
		Devices: []Surveyed{{
			Index: 1, Name: "n", TotalBytes: 1<<63 + 1, FreeBytes: 7, FreeKnown: true, ComputeCapability: "9.0",
			UnifiedMemory: true, MaxAllocationBytes: 3, AlignmentBytes: 256,
		}},
	}
	text, err := json.Marshal(sent)
	require.NoError(t, err)
	var got Survey
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, sent, got)
}
