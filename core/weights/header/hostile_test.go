package header

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// bomb returns an archive with a member of a given number of zeros. The compressed member has a
// thousandth of that length.
func bomb(t *testing.T, name string, zeros int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	member, err := w.Create(name)
	require.NoError(t, err)
	block := make([]byte, 1<<20)
	for range zeros >> 20 {
		_, err = member.Write(block)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// Files that state large sizes and have few bytes are rejected with a typed error, and cost little
// memory.
func TestRefusingCostsLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it has one thread, and takes half a minute with the race detector")
	}
	count := func(n uint64) string { return string(binary.LittleEndian.AppendUint64(nil, n)) }
	for name, data := range map[string][]byte{
		"zeros instead of an array": bomb(t, "a.npy", 200<<20),
		"a pickle of zeros":         bomb(t, "m/data.pkl", 200<<20),
		"a million tensors of GGUF": []byte("GGUF\x03\x00\x00\x00" + count(1<<20) + count(0)),
		"a list of GGUF":            []byte("GGUF\x03\x00\x00\x00" + count(0) + count(1) + count(1) + "a\x09\x00\x00\x00\x00\x00\x00\x00" + count(1<<62)),
		"a header of 2^63 - 1":      []byte(count(1<<63-1) + `{"a":`),
		"a header of 100 MB":        []byte(count(100_000_000) + `{"a":`),
		"a text of a pickle":        []byte("\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02X\xff\xff\xff\x7fa"),
		"a header of NumPy":         []byte(npyMagic + "\x02\x00\xff\xff\xff\x7f{" + strings.Repeat(" ", 30)),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Read(fromMemory("hostile", data))
		runtime.ReadMemStats(&after)
		var typed *device.Error
		require.ErrorAs(t, err, &typed, name)
		assert.ErrorContains(t, err, "hostile", name)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20), name)
	}
}
