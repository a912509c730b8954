package diskfile

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// onDisk returns a file whose pages are written to the disk and are not in the page cache.
func onDisk(t *testing.T, size int) (*os.File, []byte) {
	t.Helper()
	data := make([]byte, size)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(data)
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	_, err = file.Write(data)
	require.NoError(t, err)
	require.NoError(t, file.Sync())
	require.NoError(t, unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED))
	return file, data
}

func openTest(t *testing.T, file *os.File, size int) *File {
	t.Helper()
	f := Open(file, int64(size))
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

// resident returns how many pages of the file the cache has.
func resident(t *testing.T, file *os.File, size int) (pages int) {
	t.Helper()
	v := openMappedView(file, int64(size))
	defer v.close()
	require.NotNil(t, v.mapping)
	for at := 0; at < size; at += 4096 {
		if v.holds(int64(at), int64(min(4096, size-at))) {
			pages++
		}
	}
	return pages
}

// aligned returns memory that begins a given number of bytes behind a multiple of a block.
func aligned(size, behind int) []byte {
	buffer := make([]byte, size+2*Block)
	skip := (Block-int(uintptr(unsafe.Pointer(unsafe.SliceData(buffer)))%Block))%Block + behind
	return buffer[skip : skip+size]
}

const testBytes = 5<<20 + 777

// A read of a file that is not in the page cache leaves the file out of the cache.
func TestColdReadsLeaveNoPages(t *testing.T) {
	file, data := onDisk(t, testBytes)
	if resident(t, file, testBytes) != 0 {
		t.Skip("this file system keeps its files in the page cache")
	}
	f := openTest(t, file, testBytes)
	for _, behind := range []int{0, 1, 64} {
		out := aligned(testBytes, behind)
		n, err := f.ReadAt(out, 0)
		require.NoError(t, err)
		require.Equal(t, testBytes, n)
		require.True(t, bytes.Equal(data, out))
	}
	assert.Zero(t, resident(t, file, testBytes))
	assert.Equal(t, uint64(3*testBytes), f.Counts().Direct+f.Counts().Through)
}

// A file that is in the page cache is read from there and stays there.
func TestCachedReadsKeepPages(t *testing.T) {
	file, data := onDisk(t, testBytes)
	_, err := io.Copy(io.Discard, io.NewSectionReader(file, 0, testBytes))
	require.NoError(t, err)
	before := resident(t, file, testBytes)
	if before != (testBytes+4095)/4096 {
		t.Skip("the page cache did not keep the file")
	}
	f := openTest(t, file, testBytes)
	out := make([]byte, testBytes)
	_, err = f.ReadAt(out, 0)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, out))
	assert.Equal(t, before, resident(t, file, testBytes))
	assert.Equal(t, Counts{Cached: testBytes}, f.Counts())
}

// Any part, read into any memory, has the bytes that a plain read returns.
func TestPartsAreThoseOfPlainReads(t *testing.T) {
	file, data := onDisk(t, testBytes)
	f := openTest(t, file, testBytes)
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		offset := random.IntN(testBytes)
		size := random.IntN(min(testBytes-offset, 1<<random.IntN(23)) + 1)
		out := aligned(size, random.IntN(2)*random.IntN(Block))
		if random.IntN(2) == 0 {
			out = aligned(size, offset%Block)
		}
		n, err := f.ReadAt(out, int64(offset))
		require.NoError(t, err)
		require.Equal(t, size, n)
		require.True(t, bytes.Equal(data[offset:offset+size], out), "%d bytes at %d", size, offset)
		if random.IntN(8) == 0 { // some windows are cached, some are not
			_, err = file.ReadAt(make([]byte, 1), int64(random.IntN(testBytes)))
			require.NoError(t, err)
		}
	}
}

// A read of a file that became shorter returns the end of the file and causes no fault.
func TestShorterFiles(t *testing.T) {
	for _, left := range []int64{0, 100, 4096, 3<<20 + 5} {
		file, _ := onDisk(t, testBytes)
		f := openTest(t, file, testBytes)
		require.NoError(t, file.Truncate(left))
		for _, behind := range []int{0, 3} {
			n, err := f.ReadAt(aligned(testBytes, behind), 0)
			require.ErrorIs(t, err, io.EOF)
			assert.Equal(t, int(left), n)
		}
	}
}

// If mincore does not report the truth, a read with RWF_NOWAIT does.
func TestReadsThatMustNotWaitTell(t *testing.T) {
	file, data := onDisk(t, testBytes)
	f := openTest(t, file, testBytes)
	f.view.close()
	out := aligned(testBytes, 0)
	_, err := f.ReadAt(out, 0)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, out))
	_, err = io.Copy(io.Discard, io.NewSectionReader(file, 0, testBytes))
	require.NoError(t, err)
	before := f.Counts().Cached
	_, err = f.ReadAt(out, 0)
	require.NoError(t, err)
	assert.Equal(t, before+testBytes, f.Counts().Cached)
}

// cachestat and mincore report the same, also of a file that is partly in the page cache.
func TestBothViewsTellTheSame(t *testing.T) {
	file, _ := onDisk(t, testBytes)
	if resident(t, file, testBytes) != 0 {
		t.Skip("this file system keeps its files in the page cache")
	}
	counted := openView(file, testBytes)
	defer counted.close()
	if !counted.counts {
		t.Skip("this system has no cachestat")
	}
	mapped := openMappedView(file, testBytes)
	defer mapped.close()
	require.NoError(t, unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_RANDOM))
	out := make([]byte, 3*4096)
	for _, at := range []int64{0, 1 << 20, testBytes - 100} {
		_, err := file.ReadAt(out[:min(len(out), int(testBytes-at))], at)
		require.NoError(t, err)
	}
	both := [2]int{}
	for at := int64(0); at < testBytes; at += 4096 {
		for _, size := range []int64{1, 4096, 3 * 4096} {
			size = min(size, testBytes-at)
			is := mapped.holds(at, size)
			require.Equal(t, is, counted.holds(at, size), "%d bytes at %d", size, at)
			if is {
				both[1]++
			} else {
				both[0]++
			}
		}
	}
	assert.NotZero(t, both[0])
	assert.NotZero(t, both[1])
}

// A part anywhere in the file is read to memory anywhere, and nothing beside that memory changes.
func TestDirectReadsOfAnyPlaceToAnyPlace(t *testing.T) {
	file, data := onDisk(t, testBytes)
	f := openTest(t, file, testBytes)
	if f.direct == nil {
		t.Skip("this file system has no direct reads")
	}
	random := rand.New(rand.NewPCG(1, 2))
	reported := f.memoryAlign
	for round := range 1000 {
		f.memoryAlign = []int{reported, Block}[round%2]
		size := 1 + random.IntN([]int{16, 5000, 20000, 1 << 20}[random.IntN(4)])
		offset := random.IntN(testBytes)
		if random.IntN(4) == 0 {
			offset = offset / Block * Block
		}
		behind := random.IntN(Block)
		if random.IntN(2) == 0 { // where nothing has to be moved
			behind = (offset + random.IntN(Block)*f.memoryAlign) % Block
		}
		memory := bytes.Repeat([]byte{0xEE}, size+4*Block)
		start := Block - int(uintptr(unsafe.Pointer(unsafe.SliceData(memory)))%Block) + behind
		n, err := f.readDirect(memory[start:start+size], int64(offset))
		want := data[offset:min(offset+size, testBytes)]
		require.Equal(t, len(want), n, "%d bytes at %d", size, offset)
		if n == size {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, io.EOF)
		}
		require.True(t, bytes.Equal(want, memory[start:start+n]), "%d bytes at %d, to %d", size, offset, behind)
		beside := append(bytes.Clone(memory[:start]), memory[start+size:]...)
		require.Equal(t, len(beside), bytes.Count(beside, []byte{0xEE}), "%d bytes at %d, to %d", size, offset, behind)
	}
}

// Windows cover a read without gaps. A read of more than the slack has no window of less.
func TestWindowsAreNeitherLongNorShort(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 10_000 {
		first := random.Int64N(3 * windowBytes)
		last := first + 1 + random.Int64N(1<<random.IntN(25))
		for at := first; at < last; {
			end := windowEnd(at, last)
			require.Greater(t, end, at)
			require.LessOrEqual(t, end-at, int64(windowBytes+2*slackBytes))
			require.GreaterOrEqual(t, end-at, min(last-first, slackBytes))
			if end < last {
				require.Zero(t, end%windowBytes)
			} else {
				require.Equal(t, last, end)
			}
			at = end
		}
	}
}
