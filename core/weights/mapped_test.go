package weights_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/weights"
	"ferrum_mem/core/weights/diskfile"
)

func TestMapsTensorsWithoutCopies(t *testing.T) {
	m := newModel(t, 9<<20, 1, 300, 5<<20)
	s := m.open(t)
	read := weights.CountBytes(s)
	specs := all(t, s)
	from := uint64(100)
	specs = append(specs, weights.Spec{Name: "part", Tensor: m.order[2], Transformations: []weights.Transformation{
		{Kind: weights.Slice, Start: &from}, {Kind: weights.Reshape, Shape: []uint64{10, 20}},
	}})
	set, err := s.Map(specs)
	require.NoError(t, err)
	assert.Zero(t, read())
	require.NoError(t, s.Close(), "the set does not need its source")
	for _, of := range set.Tensors[:4] {
		assert.Equal(t, m.bytes[of.Name], bytesOf(of))
		assert.Equal(t, "cpu:0", of.Device.String())
	}
	assert.Equal(t, m.bytes[m.order[2]][100:], bytesOf(set.Tensors[4]))
	assert.Equal(t, []uint64{10, 20}, set.Tensors[4].Shape)
	assert.Equal(t, set.Tensors[2].Addr+100, set.Tensors[4].Addr)
	assert.Zero(t, set.Bytes(), "nothing is allocated")
	require.NoError(t, set.CheckMapped())
	require.NoError(t, set.Free())
	require.NoError(t, set.Free())
}

func TestTensorsThatCannotBeMapped(t *testing.T) {
	folder := sharded(t)
	s, err := weights.Open(folder, weights.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	to := uint64(16)
	for says, of := range map[string][]weights.Transformation{
		"the elements do not follow each other": {{Kind: weights.Transpose, Dim1: 1}},
		"the elements do not follow each":       {{Kind: weights.Slice, Dim0: 1, End: &to}},
		"the transformations change":            {{Kind: weights.Cast, Type: dtype.F32}},
	} {
		_, err := s.Map([]weights.Spec{{Name: "o", Transformations: of}})
		require.ErrorIs(t, err, device.CodeUnsupported)
		assert.ErrorContains(t, err, says)
		assert.ErrorContains(t, err, folder)
	}
	m := newModel(t, 10)
	data, err := os.ReadFile(m.path)
	require.NoError(t, err)
	memory, err := weights.OpenMemory("memory", data, weights.Options{})
	require.NoError(t, err)
	_, err = memory.Map([]weights.Spec{{Name: m.order[0]}})
	require.ErrorIs(t, err, device.CodeUnsupported)
	assert.ErrorContains(t, err, "the source is memory")
}

// A file becomes shorter while it is mapped. The set reports it. Go code that has called
// debug.SetPanicOnFault gets a panic when it uses a lost page, and the process continues.
func TestAMappedFileBecomesShorter(t *testing.T) {
	m := newModel(t, 9<<20, 9<<20)
	s := m.open(t)
	set, err := s.Map(all(t, s))
	require.NoError(t, err)
	defer func() { require.NoError(t, set.Free()) }()
	require.NoError(t, os.Truncate(m.path, 10<<20))
	require.ErrorIs(t, set.CheckMapped(), device.CodeIO)
	assert.ErrorContains(t, set.CheckMapped(), m.path)
	assert.Equal(t, m.bytes[set.Tensors[0].Name][:4<<20], bytesOf(set.Tensors[0])[:4<<20], "the remaining pages are readable")
	last := bytesOf(set.Tensors[1])
	assert.Panics(t, func() {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		_ = last[len(last)-1] + 1
		t.Log(last[len(last)-1])
	})
	_, err = s.Map(all(t, s))
	require.ErrorIs(t, err, device.CodeIO, "a file that is too short already")
}

// fakeWatch is the Watch of a process that handles the signal.
type fakeWatch struct{ damaged, ended bool }

func (w *fakeWatch) IsDamaged() bool { return w.damaged }
func (w *fakeWatch) End()            { w.ended = true }

func TestLostPagesOfAWatchedFile(t *testing.T) {
	t.Cleanup(func() { diskfile.OnMap(nil) })
	m := newModel(t, 9<<20, 1)
	s := m.open(t)
	var watch *fakeWatch
	diskfile.OnMap(func(mapping []byte, fd int) (diskfile.Watch, error) {
		require.Nil(t, watch, "a file is mapped once")
		var stat unix.Stat_t
		require.NoError(t, unix.Fstat(fd, &stat))
		assert.EqualValues(t, stat.Size, len(mapping))
		watch = &fakeWatch{}
		return watch, nil
	})
	set, err := s.Map(all(t, s))
	require.NoError(t, err)
	require.NoError(t, set.CheckMapped())
	watch.damaged = true
	require.ErrorIs(t, set.CheckMapped(), device.CodeIO)
	assert.ErrorContains(t, set.CheckMapped(), m.path+": pages of the mapped file could not be read")
	assert.False(t, watch.ended)
	require.NoError(t, set.Free())
	assert.True(t, watch.ended)
	require.NoError(t, set.CheckMapped())

	diskfile.OnMap(func([]byte, int) (diskfile.Watch, error) { return nil, unix.ENOMEM })
	files, mappings := openFiles(t), mappingsOf(t, m.path)
	_, err = s.Map(all(t, s))
	require.ErrorIs(t, err, device.CodeResourceExhausted)
	assert.ErrorContains(t, err, m.path)
	assert.Equal(t, files, openFiles(t))
	assert.Equal(t, mappings, mappingsOf(t, m.path))
}

// openFiles returns how many descriptors the process has.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

// mappingsOf returns how many mappings of a file the process has.
func mappingsOf(t *testing.T, path string) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	return strings.Count(string(maps), path)
}

// Mapping a file of 64 GiB needs little memory and time: the file is sparse.
func TestFilesLargerThanMemory(t *testing.T) {
	const tensors, each = 1000, 64 << 30 / 1000 / 4096 * 4096
	var text strings.Builder
	text.WriteString("{")
	for n := range uint64(tensors) {
		if n > 0 {
			text.WriteString(",")
		}
		fmt.Fprintf(&text, `"t%d":{"dtype":"F32","shape":[%d],"data_offsets":[%d,%d]}`, n, uint64(each/4), n*each, (n+1)*each)
	}
	text.WriteString("}")
	path := filepath.Join(t.TempDir(), "large.safetensors")
	header := text.String() + strings.Repeat(" ", (8-text.Len()%8)%8)
	file, err := os.Create(path)
	require.NoError(t, err)
	_, err = file.Write(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...))
	require.NoError(t, err)
	end := int64(8+len(header)) + tensors*each
	require.NoError(t, file.Truncate(end))
	_, err = file.WriteAt([]byte{7}, end-1)
	require.NoError(t, err)
	require.NoError(t, file.Close())

	s, err := weights.Open(path, weights.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	set, err := s.Map([]weights.Spec{{Name: "t0"}, {Name: "t999"}})
	require.NoError(t, err)
	last := bytesOf(set.Tensors[1])
	assert.Equal(t, byte(7), last[len(last)-1])
	assert.Zero(t, bytesOf(set.Tensors[0])[0])
	require.NoError(t, set.Free())

	from := uint64(each/4 - 2)
	loaded, err := s.Load(context.Background(), []weights.Spec{{Name: "t999", Transformations: []weights.Transformation{{Kind: weights.Slice, Start: &from}}}},
		weights.LoadOptions{Memory: weights.InPool(newPool(t, newHost(t)), "")})
	require.NoError(t, err)
	assert.Equal(t, []byte{0, 0, 0, 0, 0, 0, 0, 7}, bytesOf(loaded.Tensors[0]))
	require.NoError(t, loaded.Free())
}

func TestVerifies(t *testing.T) {
	m := newModel(t, 3<<20, 5)
	s := m.open(t)
	data, err := os.ReadFile(m.path)
	require.NoError(t, err)
	digest := sha256.Sum256(data)
	want := hex.EncodeToString(digest[:])
	last := uint64(0)
	sums, err := s.Sums(context.Background(), func(done, _ uint64) { last = done })
	require.NoError(t, err)
	assert.Equal(t, []weights.Sum{{File: m.path, SizeBytes: uint64(len(data)), SHA256: want}}, sums)
	assert.EqualValues(t, len(data), last)
	background := context.Background()
	list, err := weights.ReadSums("list", strings.NewReader(want+"  folder/model.safetensors\n"+strings.Repeat("1", 64)+" *other\n"))
	require.NoError(t, err)
	verified, err := s.Verify(background, list, nil)
	require.NoError(t, err, "a list may have more files")
	assert.Equal(t, sums, verified)
	verified, err = s.Verify(background, map[string]string{"model.safetensors": strings.Repeat("0", 64)}, nil)
	require.ErrorIs(t, err, device.CodeCorrupted)
	assert.Equal(t, sums, verified, "the sums that were computed")
	_, err = s.Verify(background, map[string]string{"other": want}, nil)
	require.ErrorIs(t, err, device.CodeNotFound)
	assert.ErrorContains(t, err, m.path+": the list of sums does not have the file")
	cancelled, cancel := context.WithCancel(background)
	cancel()
	_, err = s.Verify(cancelled, list, nil)
	require.ErrorIs(t, err, device.CodeCancelled)
	require.NoError(t, os.Truncate(m.path, 1<<20))
	_, err = s.Verify(background, list, nil)
	require.ErrorIs(t, err, device.CodeIO)
}

func TestReadsListsOfSums(t *testing.T) {
	one, two := strings.Repeat("1", 64), strings.Repeat("2", 64)
	list, err := weights.ReadSums("list", strings.NewReader(one+"  a\n"+two+" *b/c d\n"+one+"  e/a\n"))
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"a": one, "c d": two}, list)
	for text, says := range map[string]string{
		one[:63] + "  a\n":                "list: line 1: is not a SHA-256",
		one + "  a\n\n":                   "list: line 2: is not a SHA-256",
		strings.Repeat("A", 64) + "  a\n": "list: line 1: is not a SHA-256",
		one + " -a\n":                     "list: line 1: is not a SHA-256",
		one + "  a\n" + two + "  b/a\n":   "list: line 2: the file a has another sum",
		strings.Repeat("x", 1<<20):        "list: line 1: is too long",
	} {
		_, err := weights.ReadSums("list", strings.NewReader(text))
		require.ErrorIs(t, err, device.CodeInvalidFormat)
		assert.ErrorContains(t, err, says)
	}
	_, err = weights.ReadSums("list", iotest.ErrReader(os.ErrClosed))
	require.ErrorIs(t, err, device.CodeIO)
}
