package cuda

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/internal/dl"
)

// staleAnswers lists the errors that a driver may return for a destroyed stream. The key is
// the generation that the test uses. The older generation gives contexts no numbers.
var staleAnswers = map[string][]int32{
	"11020": {resultInvalidHandle, resultContextDestroyed, resultInvalidContext},
	newest:  {resultInvalidHandle, resultContextDestroyed, resultInvalidContext},
}

// The program destroys a stream that the device has adopted. Calls on the stream fail, and
// the device still works. Closing the stream, or waiting for it without a limit, waits for
// its queued work.
func TestDestroyedStreamDoesNotLoseTheDevice(t *testing.T) {
	for generation, answers := range staleAnswers {
		for i, answer := range answers {
			synchronized := i%2 == 0
			t.Run(fmt.Sprintf("%s_%d", generation, answer), func(t *testing.T) {
				if !alone(t, envLibrary+"="+simulated(generation), fmt.Sprintf("SIMCUDA_STALE_STREAM=%d", answer)) {
					return
				}
				o, sim := open(t, 0), newSimulator(t)
				addr, err := o.Alloc(64 << 10)
				require.NoError(t, err)
				var native uintptr
				require.NoError(t, o.ctx.within("test", func() error {
					sim.must("cuStreamCreate", dl.Pointer(&native), streamNonBlocking)
					return nil
				}))
				s, err := o.AdoptStream(device.ForeignStream{Native: uint64(native)})
				require.NoError(t, err)
				gate, ran := make(chan struct{}), make(chan struct{})
				require.NoError(t, s.HostFunction(func() { <-gate; close(ran) }))
				require.NoError(t, o.ctx.within("test", func() error { sim.must("cuStreamDestroy_v2", native); return nil }))

				own, err := o.DefaultStream().RecordEvent()
				require.NoError(t, err)
				for what, call := range map[string]func() error{
					"fill":   func() error { return s.Fill(addr, device.Pattern{WidthBytes: 1}, 16) },
					"record": func() error { _, err := s.RecordEvent(); return err },
					"wait":   func() error { return s.WaitEvent(own) },
					"idle":   func() error { _, err := s.Idle(); return err },
					"soon":   func() error { return s.Synchronize(0) },
					"adopt": func() error {
						_, err := o.AdoptStream(device.ForeignStream{Native: uint64(native)})
						return err
					},
				} {
					refused := requireCode(t, device.CodeInvalidState, call())
					require.EqualValues(t, answer, refused.Native, what)
					require.Contains(t, refused.Message, "the device's context exists", what)
				}
				require.NoError(t, o.DefaultStream().Fill(addr, device.Pattern{Value: 7, WidthBytes: 1}, 64<<10))
				require.Equal(t, []byte{7}, get(t, o.DefaultStream(), addr, 1))

				waited := make(chan error)
				go func() {
					if synchronized {
						waited <- s.Synchronize(device.Forever)
					} else {
						waited <- s.Close()
					}
				}()
				close(gate)
				require.NoError(t, <-waited)
				select {
				case <-ran:
				default:
					require.Fail(t, "the work of the stale stream must not run")
				}
				if synchronized {
					idle, err := s.Idle()
					require.NoError(t, err)
					require.True(t, idle)
					require.NoError(t, s.Synchronize(0))
					require.NoError(t, s.Close())
				}
				require.NoError(t, own.Close())
				require.NoError(t, o.Free(addr, 64<<10))
				require.NoError(t, o.Close())
				require.Empty(t, sim.text("simcuda_leaks"))
			})
		}
	}
}

// The device is lost if the program resets its primary context. The library detects this
// with and without numbers of contexts, and also if the context was created again after the
// reset.
func TestResetOfThePrimaryContextIsDetected(t *testing.T) {
	for _, generation := range []string{"11020", newest} {
		for _, again := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s_%v", generation, again), func(t *testing.T) {
				if !alone(t, envLibrary+"="+simulated(generation)) {
					return
				}
				o, sim := open(t, 0), newSimulator(t)
				held := possess(t, o)
				sim.must("cuDevicePrimaryCtxReset_v2", 0)
				if again {
					var context uintptr
					sim.must("cuDevicePrimaryCtxRetain", dl.Pointer(&context), 0)
				}
				lost := requireCode(t, device.CodeDeviceLost, held.stream.Synchronize(device.Forever))
				require.Contains(t, lost.Message, "the program reset the device's primary context")
				requireLost(t, o, held, int32(lost.Native))
			})
		}
	}
}

// The header states which errors end the use of a context or process. Two errors that it
// only calls uncorrectable, and the shutdown of the driver, are final as well.
func TestFinalErrorsEqualTheHeader(t *testing.T) {
	devicetest.SkipShortRace(t)
	headers, err := filepath.Glob("../../build/venv/lib/python3*/site-packages/nvidia/cuda_runtime/include/cuda.h")
	require.NoError(t, err)
	if len(headers) == 0 {
		t.Skip("the vendor's header (wheel nvidia-cuda-runtime-cu12) is not there")
	}
	text, err := os.ReadFile(headers[0])
	require.NoError(t, err)
	entries := regexp.MustCompile(`(?s)/\*\*(.*?)\*/\s*CUDA_ERROR_[A-Z0-9_]+\s*=\s*(\d+)`).FindAllSubmatch(text, -1)
	require.Greater(t, len(entries), 80)
	final := map[int32]bool{resultDeinitialized: true, resultECC: true, resultNVLink: true}
	for _, entry := range entries {
		says := strings.Join(strings.Fields(strings.ReplaceAll(string(entry[1]), "*", " ")), " ")
		// The pattern may match several comments. The last one belongs to the name.
		says = says[max(0, strings.LastIndex(says, "/")):]
		number, err := strconv.Atoi(string(entry[2]))
		require.NoError(t, err)
		final[int32(number)] = final[int32(number)] || strings.Contains(says, "process must be terminated") ||
			strings.Contains(says, "cannot be used anymore")
		require.Equal(t, final[int32(number)], isFinal(int32(number)), "%d: %s", number, says)
		require.Equal(t, final[int32(number)], codeOf(int32(number)) == device.CodeDeviceLost, "%d", number)
	}
}
