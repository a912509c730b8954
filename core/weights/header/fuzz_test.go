package header

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/tests/mutation"
)

// FuzzRead, in read_test.go, fuzzes the headers of all formats.

// Any index names only files beside it.
func FuzzIndex(f *testing.F) {
	f.Add(`{"metadata":{"total_size":1},"weight_map":{"a":"one.safetensors","b":"two.safetensors"}}`)
	f.Add(`{"weight_map":{"a":"../one.safetensors"}}`)
	f.Add(`{"weight_map":{"a":1,"a":2}}`)
	f.Add(`{"weight_map":{"\u0061":"b","a":"b\u0000"}}`)
	f.Fuzz(mutation.Also(func(t *testing.T, text string) {
		index, err := ReadIndex(fromMemory("fuzzed", []byte(text)))
		if err != nil {
			require.ErrorIs(t, err, device.CodeInvalidFormat)
			require.ErrorContains(t, err, "fuzzed: ")
			return
		}
		require.NotEmpty(t, index.Files)
		require.LessOrEqual(t, len(index.Files), len(index.FileOf))
		for _, name := range index.Files {
			require.False(t, name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00"), "%q", name)
		}
	}))
}

// Any pickle is read as plain values, or with a typed error.
func FuzzPickle(f *testing.F) {
	for _, text := range []string{
		"\x80\x02}q\x00X\x01\x00\x00\x00aq\x01K\x01s.", "(lp0\nI1\naF1.5\na.", "\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00]\x94(K\x01K\x02e.",
		"cposix\nsystem\n(S'true'\ntR.", "ccollections\nOrderedDict\n)R.", "(((((((((", "\x8a\xff" + strings.Repeat("\xff", 255) + ".",
		"]q\x00h\x00a.", "ctorch._utils\n_rebuild_tensor_v2\n.", "X\xff\xff\xff\xffa", "\x80\x02(K\x01K\x02t\x85\x86\x87.",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(mutation.Also(func(t *testing.T, data []byte) {
		m := machine{in: fromMemory("fuzzed", data), data: data, storage: func(any) (any, error) { return nil, nil }}
		if _, err := m.run(); err != nil {
			var typed *device.Error
			require.ErrorAs(t, err, &typed)
			require.ErrorContains(t, err, "fuzzed: ")
		}
	}))
}
