package cuda

import (
	"encoding/binary"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

func number(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

// firstOther returns a launch of the library's own kernel, in blocks of 64 threads.
func firstOther(at device.Addr, size uint64, value uint32, result device.Addr) device.Launch {
	return device.Launch{
		Grid: device.Extent{X: 2, Y: 1, Z: 1}, Block: device.Extent{X: 64, Y: 1, Z: 1},
		Arguments: [][]byte{number(uint64(at)), number(size), binary.LittleEndian.AppendUint32(nil, value), number(uint64(result))},
	}
}

func TestACompiledKernelRunsAndReportsItsLimits(t *testing.T) {
	for _, generation := range generations {
		t.Run(generation, func(t *testing.T) {
			if !alone(t, envLibrary+"="+simulated(generation)) {
				return
			}
			o := open(t, 0)
			addr, err := o.Alloc(granularityBytes)
			require.NoError(t, err)
			m, err := o.Compile(firstOtherText)
			require.NoError(t, err)
			k, err := m.Kernel(firstOtherName)
			require.NoError(t, err)
			require.Equal(t, device.KernelLimits{
				ArgumentBytes: []int{8, 8, 4, 8}, Threads: 1024, Block: device.Extent{X: 1024, Y: 1024, Z: 64},
				Grid: device.Extent{X: math.MaxInt32, Y: 65535, Z: 65535}, SharedBytes: 48 << 10,
			}, k.Limits())
			s, err := o.NewStream()
			require.NoError(t, err)
			require.NoError(t, s.Fill(addr, device.Pattern{Value: 9, WidthBytes: 1}, 4096))
			require.NoError(t, s.Fill(addr+77, device.Pattern{Value: 8, WidthBytes: 1}, 5))
			require.NoError(t, s.Fill(addr+4096, device.Pattern{Value: 0xff, WidthBytes: 1}, 8))
			require.NoError(t, k.Launch(s, firstOther(addr, 4096, 9, addr+4096)))
			require.Equal(t, number(77), get(t, s, addr+4096, 8))
			require.Contains(t, requireCode(t, device.CodeBusy, o.Close()).Message, "2 segments")
			require.NoError(t, s.Close())
			require.NoError(t, o.Free(addr, granularityBytes))
			require.Contains(t, requireCode(t, device.CodeBusy, o.Close()).Message, "modules")
			require.NoError(t, m.Close())
			requireCode(t, device.CodeInvalidState, m.Close())
			_, err = m.Kernel(firstOtherName)
			requireCode(t, device.CodeInvalidState, err)
			requireCode(t, device.CodeInvalidState, k.Launch(o.DefaultStream(), firstOther(addr, 1, 0, addr)))
			require.NoError(t, o.Close())
			newSimulator(t).clean()
		})
	}
}

// If the driver cannot compile a text, the library returns a code of its own and the
// message of the driver's compiler.
func TestInvalidTextReturnsTheCompilerLog(t *testing.T) {
	if !alone(t) {
		return
	}
	o, sim := open(t, 0), newSimulator(t)
	for text, want := range map[string]struct {
		code   device.Code
		native int64
		says   string
	}{
		"":                               {device.CodeInvalidSize, 0, "text of 0 bytes"},
		"\x00.version 7.0":               {device.CodeInvalidFormat, 0, "the text is not PTX"},
		"\x7fELF\x02":                    {device.CodeInvalidFormat, 0, "the text is not PTX"},
		".version 7.0\n.entry k(.u64 a)": {device.CodeInvalidFormat, 0, "kernel k: argument 0"},
		".version 7.0\n.target sm_50\n{": {device.CodeInvalidFormat, 218, "the translator reports: ptxas application ptx input"},
		".version 99.0\n.target sm_50\n": {device.CodeUnsupported, 222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
		".version 7.0\n.target sm_999\n": {device.CodeUnsupported, 218, "the text is for sm_999, and the device is sm_90"},
		".version 7.0\n.target sm_90\n{": {device.CodeInvalidFormat, 218, "CUDA_ERROR_INVALID_PTX"},
	} {
		_, err := o.Compile([]byte(text))
		failure := requireCode(t, want.code, err)
		require.Equal(t, want.native, failure.Native, "%q", text)
		require.Contains(t, failure.Message, want.says, "%q", text)
	}
	for code, want := range map[int32]device.Code{
		resultNoTranslator: device.CodeUnsupported, resultNoTranslation: device.CodeUnsupported,
		resultOutOfMemory: device.CodeOutOfMemory, resultInvalidImage: device.CodeInvalidFormat,
		resultNoBinary: device.CodeUnsupported, resultInvalidPTX: device.CodeInvalidFormat,
	} {
		sim.fault("cuModuleLoadDataEx", 1, code)
		_, err := o.Compile(firstOtherText)
		require.EqualValues(t, code, requireCode(t, want, err).Native)
	}
	// The driver does not read beyond a NUL.
	m, err := o.Compile(append(append([]byte(nil), firstOtherText...), "\x00.entry }}}"...))
	require.NoError(t, err)
	_, err = m.Kernel("other")
	require.Contains(t, requireCode(t, device.CodeNotFound, err).Message, `kernel "other"`)
	_, err = m.Kernel("")
	requireCode(t, device.CodeNotFound, err)
	require.NoError(t, m.Close())
	require.NoError(t, o.Close())
	_, err = o.Compile(firstOtherText)
	requireCode(t, device.CodeInvalidState, err)
	require.Empty(t, sim.text("simcuda_leaks"))
}

// The library rejects a launch that the kernel or its device does not allow. It does not
// call the vendor driver.
func TestInvalidLaunchesFailBeforeTheDriverIsCalled(t *testing.T) {
	o, other := open(t, 0), open(t, 1)
	m, err := o.Compile([]byte(strings.Replace(string(firstOtherText), ")\n{", ")\n.maxntid 128, 1, 1\n{", 1)))
	require.NoError(t, err)
	k, err := m.Kernel(firstOtherName)
	require.NoError(t, err)
	require.EqualValues(t, 128, k.Limits().Threads)
	sim := newSimulator(t)
	launched := sim.calls("cuLaunchKernel")
	for name, one := range map[string]struct {
		change func(*device.Launch)
		code   device.Code
		says   string
	}{
		"no grid":      {func(l *device.Launch) { l.Grid.X = 0 }, device.CodeInvalidArgument, "grid x 0: want 1 to 2147483647"},
		"grid y":       {func(l *device.Launch) { l.Grid.Y = 65536 }, device.CodeInvalidArgument, "grid y 65536: want 1 to 65535"},
		"grid z":       {func(l *device.Launch) { l.Grid.Z = math.MaxUint32 }, device.CodeInvalidArgument, "grid z 4294967295"},
		"no block":     {func(l *device.Launch) { l.Block.Y = 0 }, device.CodeInvalidArgument, "block y 0"},
		"block x":      {func(l *device.Launch) { l.Block.X = 1025 }, device.CodeInvalidArgument, "block x 1025: want 1 to 1024"},
		"block z":      {func(l *device.Launch) { l.Block.Z = 65 }, device.CodeInvalidArgument, "block z 65: want 1 to 64"},
		"threads":      {func(l *device.Launch) { l.Block = device.Extent{X: 129, Y: 1, Z: 1} }, device.CodeInvalidArgument, "at most 128 threads"},
		"threads all":  {func(l *device.Launch) { l.Block = device.Extent{X: 64, Y: 2, Z: 2} }, device.CodeInvalidArgument, "block 64 x 2 x 2"},
		"shared":       {func(l *device.Launch) { l.SharedBytes = 48<<10 + 1 }, device.CodeInvalidArgument, "shared memory of 49153 bytes, at most 49152"},
		"no arguments": {func(l *device.Launch) { l.Arguments = nil }, device.CodeInvalidSize, "0 arguments, and it takes 4"},
		"one more":     {func(l *device.Launch) { l.Arguments = append(l.Arguments, number(0)) }, device.CodeInvalidSize, "5 arguments"},
		"short":        {func(l *device.Launch) { l.Arguments[0] = number(0)[:4] }, device.CodeInvalidSize, "argument 0 has 4 bytes, and it takes 8"},
		"long":         {func(l *device.Launch) { l.Arguments[2] = number(0) }, device.CodeInvalidSize, "argument 2 has 8 bytes, and it takes 4"},
	} {
		l := firstOther(0, 0, 0, 0)
		one.change(&l)
		require.Contains(t, requireCode(t, one.code, k.Launch(o.DefaultStream(), l)).Message, one.says, name)
	}
	requireCode(t, device.CodeNullPointer, k.Launch(nil, firstOther(0, 0, 0, 0)))
	requireCode(t, device.CodeInvalidArgument, k.Launch((*stream)(nil), firstOther(0, 0, 0, 0)))
	requireCode(t, device.CodeInvalidArgument, k.Launch(other.DefaultStream(), firstOther(0, 0, 0, 0)))
	k.Limits().ArgumentBytes[0] = 1
	require.Equal(t, 8, k.Limits().ArgumentBytes[0], "the caller gets a copy of the limits")
	require.Equal(t, launched, sim.calls("cuLaunchKernel"))
	require.NoError(t, m.Close())
	require.NoError(t, o.Close())
	require.NoError(t, other.Close())
	sim.clean()
}

// The n-th driver call fails, for each n, while a kernel is compiled, found, launched and
// closed. The same operation then succeeds, and nothing leaks.
func TestKernelsFailAtEachCall(t *testing.T) {
	sim := newSimulator(t)
	for n := 1; ; n++ {
		o := open(t, 0)
		addr, err := o.Alloc(granularityBytes)
		require.NoError(t, err)
		sim.fault("*", n, resultOutOfMemory)
		failures := 0
		try := func(call func() error) {
			if err := call(); err != nil {
				failures++
				require.EqualValues(t, resultOutOfMemory, requireCode(t, device.CodeOutOfMemory, err).Native)
				require.NoError(t, call())
			}
		}
		var m device.Module
		var k device.Kernel
		try(func() (err error) { m, err = o.Compile(firstOtherText); return err })
		try(func() (err error) { k, err = m.Kernel(firstOtherName); return err })
		try(func() error { return k.Launch(o.DefaultStream(), firstOther(addr, 64, 0, addr+1024)) })
		try(func() error { return o.DefaultStream().Synchronize(device.Forever) })
		try(func() error { return m.Close() })
		done := sim.call("simcuda_faults_left") != 0
		sim.call("simcuda_clear_faults")
		require.LessOrEqual(t, failures, 1, "%d", n)
		require.NoError(t, o.Free(addr, granularityBytes))
		require.NoError(t, o.Close())
		sim.clean()
		if done {
			require.Greater(t, n, 20)
			return
		}
	}
}

// A kernel that accesses unmapped memory causes the loss of the device. The module can
// still be closed.
func TestAKernelLosesItsDevice(t *testing.T) {
	if !alone(t) {
		return
	}
	o := open(t, 0)
	m, err := o.Compile(firstOtherText)
	require.NoError(t, err)
	k, err := m.Kernel(firstOtherName)
	require.NoError(t, err)
	require.NoError(t, k.Launch(o.DefaultStream(), firstOther(4096, 64, 0, 4096)))
	err = o.DefaultStream().Synchronize(device.Forever)
	require.EqualValues(t, resultIllegalAddress, requireCode(t, device.CodeDeviceLost, err).Native)
	_, err = o.Compile(firstOtherText)
	requireCode(t, device.CodeDeviceLost, err)
	_, err = m.Kernel(firstOtherName)
	requireCode(t, device.CodeDeviceLost, err)
	requireCode(t, device.CodeDeviceLost, k.Launch(o.DefaultStream(), firstOther(4096, 64, 0, 4096)))
	require.NoError(t, m.Close())
	require.NoError(t, o.Close())
}

// Several threads compile, launch and close modules, and search memory, at the same time.
func TestKernelsFromManyThreads(t *testing.T) {
	o := open(t, 0)
	var threads sync.WaitGroup
	for i := range 4 {
		threads.Add(1)
		go func() {
			defer threads.Done()
			for range 5 {
				addr, err := o.Alloc(2 * kernelBytes)
				if !check(t, err) {
					return
				}
				check(t, o.FillNow(addr, byte(i), 2*kernelBytes))
				_, other, err := o.FirstOther(addr, byte(i), 2*kernelBytes)
				check(t, err)
				if other {
					t.Error("another thread's bytes")
				}
				m, err := o.Compile(firstOtherText)
				if !check(t, err) {
					return
				}
				k, err := m.Kernel(firstOtherName)
				if !check(t, err) {
					return
				}
				check(t, k.Launch(o.DefaultStream(), firstOther(addr, kernelBytes, uint32(i), addr+kernelBytes)))
				check(t, o.DefaultStream().Synchronize(device.Forever))
				check(t, m.Close())
				check(t, o.Free(addr, 2*kernelBytes))
			}
		}()
	}
	threads.Wait()
	require.NoError(t, o.Close())
	newSimulator(t).clean()
}

func check(t *testing.T, err error) bool {
	if err != nil {
		t.Error(err)
	}
	return err == nil
}
