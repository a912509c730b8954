package header

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// gguf writes headers for tests.
type gguf struct {
	keys, tensors         bytes.Buffer
	keyCount, tensorCount uint64
	data                  int
}

func (g *gguf) text(to *bytes.Buffer, text string) {
	_ = binary.Write(to, binary.LittleEndian, uint64(len(text)))
	to.WriteString(text)
}

func (g *gguf) bits(key string, kind uint32, value any) *gguf {
	g.keyCount++
	g.text(&g.keys, key)
	_ = binary.Write(&g.keys, binary.LittleEndian, kind)
	_ = binary.Write(&g.keys, binary.LittleEndian, value)
	return g
}

func (g *gguf) set(key string, value any) *gguf {
	switch v := value.(type) {
	case int:
		return g.bits(key, ggufUint32, uint32(v))
	case float64:
		return g.bits(key, ggufFloat32, float32(v))
	case string:
		g.bits(key, ggufString, []byte{})
		g.text(&g.keys, v)
	case []int:
		g.bits(key, ggufList, uint32(ggufInt32))
		_ = binary.Write(&g.keys, binary.LittleEndian, uint64(len(v)))
		for _, n := range v {
			_ = binary.Write(&g.keys, binary.LittleEndian, int32(n))
		}
	}
	return g
}

func (g *gguf) tensor(name string, kind uint32, at uint64, sides ...uint64) *gguf {
	g.tensorCount++
	g.text(&g.tensors, name)
	_ = binary.Write(&g.tensors, binary.LittleEndian, uint32(len(sides)))
	_ = binary.Write(&g.tensors, binary.LittleEndian, sides)
	_ = binary.Write(&g.tensors, binary.LittleEndian, kind)
	_ = binary.Write(&g.tensors, binary.LittleEndian, at)
	return g
}

func (g *gguf) bytes() []byte {
	var all bytes.Buffer
	all.WriteString("GGUF")
	_ = binary.Write(&all, binary.LittleEndian, uint32(3))
	_ = binary.Write(&all, binary.LittleEndian, g.tensorCount)
	_ = binary.Write(&all, binary.LittleEndian, g.keyCount)
	all.Write(g.keys.Bytes())
	all.Write(g.tensors.Bytes())
	all.Write(make([]byte, (32-all.Len()%32)%32+g.data))
	return all.Bytes()
}

func readGGUFTest(text []byte) (*Header, error) { return Read(fromMemory("m.gguf", text)) }

func TestGGUFErrorsNameThePlace(t *testing.T) {
	good := new(gguf).set("general.architecture", "llama").tensor("w", 0, 0, 4, 2)
	good.data = 32
	_, err := readGGUFTest(good.bytes())
	require.NoError(t, err)
	with := func(change func(*gguf)) []byte {
		g := new(gguf)
		g.data = 64
		change(g)
		return g.bytes()
	}
	for says, text := range map[string][]byte{
		"the file of 30 bytes ends inside its header":                         good.bytes()[:30],
		`"a": the key occurs twice`:                                           with(func(g *gguf) { g.set("a", 1).set("a", 2) }),
		`"a": 99 is not a kind of value`:                                      with(func(g *gguf) { g.bits("a", 99, []byte{}) }),
		"a key before byte 32 is empty":                                       with(func(g *gguf) { g.set("", 1) }),
		"general.alignment: is not a multiple of 8":                           with(func(g *gguf) { g.set("general.alignment", 12) }),
		`"w": the tensor is listed twice`:                                     with(func(g *gguf) { g.tensor("w", 0, 0, 1).tensor("w", 0, 32, 1) }),
		`"w": has 5 dimensions: want at most 4`:                               with(func(g *gguf) { g.tensor("w", 0, 0, 1, 1, 1, 1, 1) }),
		`"w": rows of 40 elements are not whole blocks of 32, which Q4_0 has`: with(func(g *gguf) { g.tensor("w", 2, 0, 40, 4) }),
		`"w": begins at 8, no multiple of the alignment of 32`:                with(func(g *gguf) { g.tensor("w", 0, 8, 1) }),
		`"w": begins at 0, inside the tensor before it, which ends at 4`:      with(func(g *gguf) { g.tensor("v", 0, 0, 1).tensor("w", 0, 0, 2) }),
		`"w": 68 bytes at 0 go beyond the 64 bytes of data`:                   with(func(g *gguf) { g.tensor("w", 0, 0, 17) }),
		"the name of tensor 0 is empty":                                       with(func(g *gguf) { g.tensor("", 0, 0, 1) }),
		`m.gguf: "a": lists are nested deeper than 4 levels`: with(func(g *gguf) {
			g.bits("a", ggufList, uint32(ggufList))
			for range 8 {
				_ = binary.Write(&g.keys, binary.LittleEndian, uint64(1))
				_ = binary.Write(&g.keys, binary.LittleEndian, uint32(ggufList))
			}
			g.keys.Write(make([]byte, 64))
		}),
	} {
		_, err := readGGUFTest(text)
		assert.Equal(t, device.CodeInvalidFormat, device.CodeOf(err), "%s: %v", says, err)
		assert.ErrorContains(t, err, "m.gguf: ")
		assert.ErrorContains(t, err, says)
	}
	for says, text := range map[string][]byte{
		"version 1 of the format":                append([]byte("GGUF\x01\x00\x00\x00"), make([]byte, 64)...),
		"the highest byte of a number first":     append([]byte("GGUF\x00\x00\x00\x03"), make([]byte, 64)...),
		`"w": type 9 of the format is not known`: with(func(g *gguf) { g.tensor("w", 9, 0, 32) }),
	} {
		_, err := readGGUFTest(text)
		assert.Equal(t, device.CodeUnsupported, device.CodeOf(err))
		assert.ErrorContains(t, err, says)
	}
	_, err = readGGUFTest(with(func(g *gguf) { g.tensor("w", 0, 0, 1<<40, 1<<40) }))
	assert.Equal(t, device.CodeOverflow, device.CodeOf(err))
}

// The reader allocates nothing for a stated count or length until it has found the data in
// the file.
func TestGGUFCountsAreNotTrusted(t *testing.T) {
	header := func(tensors, keys uint64) []byte {
		text := append([]byte("GGUF"), 3, 0, 0, 0)
		text = binary.LittleEndian.AppendUint64(text, tensors)
		return binary.LittleEndian.AppendUint64(text, keys)
	}
	list := func(kind uint32, count uint64) []byte {
		g := new(gguf).bits("a", ggufList, kind)
		_ = binary.Write(&g.keys, binary.LittleEndian, count)
		return g.bytes()
	}
	for says, text := range map[string][]byte{
		"18446744073709551615 tensors are more than": header(math.MaxUint64, 0),
		"18446744073709551615 keys are more than":    header(0, math.MaxUint64),
		"ends inside its header":                     append(header(0, 1), bytes.Repeat([]byte{255}, 2)...),
		"a key at byte 32 has":                       append(header(0, 1), bytes.Repeat([]byte{255}, 8)...),
	} {
		_, err := readGGUFTest(text)
		assert.ErrorContains(t, err, says)
	}
	for _, kind := range []uint32{ggufUint8, ggufString, ggufFloat64, ggufList, ggufInt32} {
		for _, count := range []uint64{1 << 20, 1 << 40, math.MaxUint64} {
			_, err := readGGUFTest(list(kind, count))
			assert.ErrorContains(t, err, "ends inside its header", "%d of kind %d", count, kind)
		}
	}
	// This file of 1 TiB is only simulated by a reader and takes no memory.
	huge := sparse(binary.LittleEndian.Uint64([]byte("GGUF\x03\x00\x00\x00")))
	h, err := Read(Input{Name: "m.gguf", Bytes: huge, Size: 1 << 40})
	require.NoError(t, err)
	assert.Empty(t, h.Tensors)
	_, err = Read(Input{Name: "m.gguf", Bytes: broken{}, Size: 100})
	assert.Equal(t, device.CodeIO, device.CodeOf(err))
	long := new(gguf).bits("a", ggufString, []byte{})
	_ = binary.Write(&long.keys, binary.LittleEndian, uint64(200_000_000))
	_, err = Read(Input{Name: "m.gguf", Bytes: bytes.NewReader(long.bytes()), Size: 1 << 40})
	assert.ErrorContains(t, err, "the header is longer than 95.37 MiB (100000000 bytes)")
}

// sparse is a file whose first 8 bytes are its value, followed by zeros.
type sparse uint64

func (s sparse) ReadAt(p []byte, at int64) (int, error) {
	clear(p)
	if at == 0 {
		copy(p, binary.LittleEndian.AppendUint64(nil, uint64(s)))
	}
	return len(p), nil
}

type broken struct{}

func (broken) ReadAt([]byte, int64) (int, error) { return 0, os.ErrClosed }
