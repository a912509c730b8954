package weights

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/weights/header"
)

// toy is a decoder for this format: TOY1, then the number of 16-bit integers, then these integers
// in big-endian order.
type toy struct {
	name    Format
	tensors []header.Tensor
	err     error
}

func (t *toy) Format() Format { return t.name }

func (t *toy) Recognises(start []byte, _ uint64) bool {
	return len(start) >= 5 && string(start[:4]) == "TOY1"
}

func (t *toy) Read(in header.Input) ([]header.Tensor, map[string]string, error) {
	if t.err != nil || t.tensors != nil {
		return t.tensors, nil, t.err
	}
	var start [5]byte
	if _, err := in.Bytes.ReadAt(start[:], 0); err != nil {
		return nil, nil, err
	}
	return []header.Tensor{{Name: "numbers", Type: dtype.I16, Shape: []uint64{uint64(start[4])}, Offset: 5, IsBigEndian: true}},
		map[string]string{"made": "by hand"}, nil
}

func TestDecodersOfFurtherFormats(t *testing.T) {
	data := []byte("TOY1\x03\x00\x01\x02\x03\xff\xfe")
	path := filepath.Join(t.TempDir(), "m.toy")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	decoders := &Decoders{}
	_, err := Open(path, Options{Decoders: decoders})
	require.ErrorIs(t, err, device.CodeUnsupported)
	number, err := decoders.Register(&toy{name: "toy"})
	require.NoError(t, err)
	assert.Equal(t, map[uint32]Format{number: "toy"}, decoders.Formats())
	s, err := Open(path, Options{Decoders: decoders})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	m := s.Metadata()
	assert.Equal(t, Format("toy"), m.Format)
	assert.Equal(t, map[string][]uint64{"numbers": {3}}, m.Tensors)
	assert.Equal(t, "by hand", m.Extra.Texts["made"])
	p, err := planOf(&s.tensors[0], nil)
	require.NoError(t, err)
	out := make([]byte, 6)
	require.NoError(t, (&transfer{jobs: []*job{{plan: p, host: out}}}).run(context.Background()))
	assert.Equal(t, []uint16{1, 0x203, 0xFFFE}, []uint16{binary.LittleEndian.Uint16(out), binary.LittleEndian.Uint16(out[2:]), binary.LittleEndian.Uint16(out[4:])})

	known, err := OpenMemory("m", one, Options{Decoders: decoders})
	require.NoError(t, err, "the library tries its own formats first")
	assert.Equal(t, header.Safetensors, known.Format)
	_, err = decoders.Register(&toy{name: "toy"})
	require.ErrorIs(t, err, device.CodeAlreadyExists)
	_, err = decoders.Register(&toy{name: header.GGUF})
	require.ErrorIs(t, err, device.CodeAlreadyExists)
	_, err = decoders.Register(&toy{})
	require.ErrorIs(t, err, device.CodeInvalidArgument)
	require.NoError(t, decoders.Remove(number))
	require.ErrorIs(t, decoders.Remove(number), device.CodeNotFound)
	_, err = Open(path, Options{Decoders: decoders})
	require.ErrorIs(t, err, device.CodeUnsupported)
}

// The description of a decoder is compared with the file like any header.
func TestDecodersAreNotTrusted(t *testing.T) {
	of := func(t header.Tensor) []header.Tensor { return []header.Tensor{t} }
	for says, decoder := range map[string]*toy{
		"go beyond the file":              {tensors: of(header.Tensor{Name: "a", Type: dtype.F32, Shape: []uint64{2}, Offset: 4})},
		"beyond the file":                 {tensors: of(header.Tensor{Name: "a", Type: dtype.F32, Offset: 1 << 63})},
		"is empty":                        {tensors: of(header.Tensor{Type: dtype.F32})},
		"its type 9999 is not known":      {tensors: of(header.Tensor{Name: "a", Type: 9999})},
		"has 17 dimensions":               {tensors: of(header.Tensor{Name: "a", Shape: make([]uint64, 17)})},
		"listed twice":                    {tensors: []header.Tensor{{Name: "a", Type: dtype.U8}, {Name: "a", Type: dtype.U8}}},
		"more elements than 64":           {tensors: of(header.Tensor{Name: "a", Shape: []uint64{1 << 40, 1 << 40}})},
		"are not a whole number of bytes": {tensors: of(header.Tensor{Name: "a", Type: dtype.I4, Shape: []uint64{3}})},
		"the header makes no sense":       {err: errors.New("the header makes no sense")},
	} {
		decoder.name = "toy"
		decoders := &Decoders{}
		_, err := decoders.Register(decoder)
		require.NoError(t, err)
		_, err = OpenMemory("the file", []byte("TOY1\x03 "), Options{Decoders: decoders})
		var typed *device.Error
		require.ErrorAs(t, err, &typed, says)
		assert.ErrorContains(t, err, says)
		assert.ErrorContains(t, err, "the file: ")
	}
}
