package trace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

const (
	azureHeader    = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
	lifetimeHeader = "id,lower,upper,size\n"
	azureLine      = "2023-11-16 18:17:03.9799600,4808,10\n"
	mooncakeJSON   = `{"timestamp": 5, "input_length": 1000, "output_length": 6, "hash_ids": [7, 8]}` + "\n"
)

func read(text string) (*Trace, error) {
	return Read(strings.NewReader(text), ReadOptions{Name: "f"})
}

func TestReadAzure(t *testing.T) {
	for _, text := range []string{
		azureHeader + azureLine + "2023-11-16 18:17:04.0319600,3180,8",
		strings.ReplaceAll(azureHeader+azureLine+"\n2023-11-16 18:17:04.0319600,3180,8\n", "\n", "\r\n"),
		"\ufeffTIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:04.03196+00:00,3180,8\n2023-11-16T18:17:03.97996Z,\"4808\",10",
		"extra,GeneratedTokens, ContextTokens ,TIMESTAMP\nx,10,4808,2023-11-16 18:17:03.97996\ny,8,3180, 2023-11-16T18:17:04.03196\n",
	} {
		tr, err := read(text)
		require.NoError(t, err, text)
		assert.Equal(t, Azure, tr.Kind)
		require.Equal(t, 2, tr.Len())
		first, second := tr.Requests[0], tr.Requests[1]
		assert.Equal(t, []any{int64(0), uint32(4808), uint32(10)}, []any{first.ArrivalNS, first.InputTokens, first.OutputTokens})
		assert.Equal(t, []any{int64(52_000_000), uint32(3180), uint32(8)}, []any{second.ArrivalNS, second.InputTokens, second.OutputTokens})
		assert.Empty(t, tr.PrefixIDs(first))
	}
}

func TestReadMooncake(t *testing.T) {
	tr, err := read(mooncakeJSON + "\n" + `{"hash_ids":[],"timestamp":3,"input_length":1,"output_length":0,"other":null}`)
	require.NoError(t, err)
	assert.Equal(t, Mooncake, tr.Kind)
	require.Len(t, tr.Requests, 2)
	assert.Equal(t, uint32(3), tr.Requests[0].Line, "sorted by arrival")
	assert.Equal(t, int64(2_000_000), tr.Requests[1].ArrivalNS, "counted from the first arrival")
	assert.Equal(t, []uint64{7, 8}, tr.PrefixIDs(tr.Requests[1]))
	assert.Empty(t, tr.PrefixIDs(tr.Requests[0]))
}

func TestReadLifetimes(t *testing.T) {
	tr, err := read(lifetimeHeader + "b,5,9,100\na,0,5,1\nc,5,6,7\n")
	require.NoError(t, err)
	assert.Equal(t, LifetimesCSV, tr.Kind)
	assert.Equal(t, []Lifetime{
		{ID: "a", Lower: 0, Upper: 5, SizeBytes: 1, Line: 3},
		{ID: "b", Lower: 5, Upper: 9, SizeBytes: 100, Line: 2},
		{ID: "c", Lower: 5, Upper: 6, SizeBytes: 7, Line: 4},
	}, tr.Lifetimes, "sorted by lower, ties as in the file")
	tr, err = read("size,other, upper ,id,lower\n8,x,3,\"a,b\",1\n")
	require.NoError(t, err)
	assert.Equal(t, []Lifetime{{ID: "a,b", Lower: 1, Upper: 3, SizeBytes: 8, Line: 2}}, tr.Lifetimes, "columns in any order")
}

// Every kind of damage has a message of its own, which names the place and the value.
func TestReadRejectsDamage(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"empty file", "", "f: the file is empty"},
		{"blank file", " \r\n\n", "f: the file is empty"},
		{"unknown header", "time,tokens\n1,2\n", `f: line 1: "time,tokens" is not the start of a known trace`},
		{"binary", "\x7fELF\x02\x01", `is not the start of a known trace`},
		{"only a header", azureHeader, "f: the file has no records"},
		{"missing column", "TIMESTAMP,ContextTokens\n", `f: line 1: the header "TIMESTAMP,ContextTokens" lacks the column GeneratedTokens`},
		{"column twice", "id,lower,upper,size,size\n", "the header has the column size twice"},
		{"truncated line", azureHeader + azureLine + "2023-11-16 18:17:04.03,31", `f: line 3: 2 fields ("2023-11-16 18:17:04.03,31") where the header has 3`},
		{"too many fields", azureHeader + "2023-11-16 18:17:04.03,31,5,6\n", "f: line 2: 4 fields"},
		{"negative", azureHeader + "2023-11-16 18:17:04.03,-31,5\n", "f: line 2: ContextTokens is -31: it must not be negative"},
		{"negative output", azureHeader + azureLine + "2023-11-16 18:17:04.03,31,-5\n", "f: line 3: GeneratedTokens is -5: it must not be negative"},
		{"not a number", azureHeader + "2023-11-16 18:17:04.03,many,5\n", `ContextTokens is "many": it must be a whole number`},
		{"fraction", azureHeader + "2023-11-16 18:17:04.03,1.5,5\n", `ContextTokens is "1.5": it must be a whole number`},
		{"empty field", azureHeader + "2023-11-16 18:17:04.03,,5\n", `ContextTokens is "": it must be a whole number`},
		{"too large", azureHeader + "2023-11-16 18:17:04.03,16777217,5\n", `ContextTokens is "16777217": the largest that is read is 16777216`},
		{"beyond 64 bits", azureHeader + "2023-11-16 18:17:04.03,99999999999999999999,5\n", `ContextTokens is "99999999999999999999": the largest`},
		{"malformed time", azureHeader + "2023-11-16 25:17:04.03,31,5\n", `f: line 2: TIMESTAMP is "2023-11-16 25:17:04.03": want a time`},
		{"absurd year", azureHeader + "9999-11-16 15:17:04,31,5\n", "the year must be from 1970 to 2200"},
		{"too far apart", azureHeader + "1971-11-16 15:17:04,31,5\n2199-11-16 15:17:04,31,5\n", "f: line 3: this request arrives more than 100 years after the one on line 2"},
		{"bare quote", azureHeader + "2023-11-16 18:17:04.03,3\"1,5\n", `f: line 2: column`},
		{"open quote", azureHeader + azureLine + "\"2023-11-16 18:17:04.03,31,5\n", "f: line 3: column"},
		{"endless record", azureHeader + azureLine + "\"" + strings.Repeat("a\n", MaxLineBytes), "f: line 3: the record is longer than 4 MiB, or a quote is never closed"},
		{"lower = upper", lifetimeHeader + "a,5,5,8\n", "f: line 2: lower is 5 and upper is 5"},
		{"lower > upper", lifetimeHeader + "a,6,5,8\n", "lower is 6 and upper is 5"},
		{"negative lower", lifetimeHeader + "a,-6,5,8\n", "lower is -6: it must not be negative"},
		{"negative size", lifetimeHeader + "a,1,5,-8\n", "size is -8: it must not be negative"},
		{"size 0", lifetimeHeader + "a,1,5,0\n", "size is 0: a buffer must have at least 1 byte"},
		{"size too large", lifetimeHeader + "a,1,5,18446744073709551615\n", `size is "18446744073709551615": the largest that is read is 281474976710656`},
		{"id twice", lifetimeHeader + "a,1,5,8\nb,1,5,8\na,2,3,4\n", `f: line 4: id "a" is on line 2 already`},
		{"no id", lifetimeHeader + ",1,5,8\n", "f: line 2: id is empty"},
		{"json field missing", `{"timestamp": 5, "input_length": 1000}`, "f: line 1: the field output_length is missing"},
		{"json negative", mooncakeJSON + `{"timestamp": -5, "input_length": 1, "output_length": 1}`, "f: line 2: timestamp is -5: it must not be negative"},
		{"json string", `{"timestamp": 5, "input_length": "1", "output_length": 1}`, `input_length is "\"1\"": it must be a whole number`},
		{"json null", `{"timestamp": 5, "input_length": null, "output_length": 1}`, `input_length is "null": it must be a whole number`},
		{"json cut short", mooncakeJSON + `{"timestamp": 5, "input_len`, "f: line 2: the line is cut short after"},
		{"json damaged", `{"timestamp" 5}`, "f: line 1: column 14"},
		{"json not an object", mooncakeJSON + "[1]", `f: line 2: "[1]" is not a JSON object`},
		{"json ids no list", `{"timestamp":0,"input_length":1,"output_length":1,"hash_ids":3}`, "hash_ids is a JSON number: it must be a list"},
		{"json negative id", `{"timestamp":0,"input_length":1,"output_length":1,"hash_ids":[-3]}`, "hash_ids is -3: it must not be negative"},
		{"json too many ids", `{"timestamp":0,"input_length":512,"output_length":1,"hash_ids":[3,4]}`, "hash_ids has 2 ids, but input_length 512 has only 1 block"},
		{"json long line", mooncakeJSON + "{" + strings.Repeat(" ", MaxLineBytes), "f: line 2: the line is longer than 4 MiB"},
	}
	seen := map[string]string{}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tr, err := read(c.text)
			require.Error(t, err)
			assert.Nil(t, tr)
			assert.ErrorIs(t, err, device.CodeInvalidFormat)
			assert.Contains(t, err.Error(), c.want)
			assert.Less(t, len(err.Error()), 400)
			if other, ok := seen[err.Error()]; ok && c.name != "blank file" {
				t.Errorf("same message as %s", other)
			}
			seen[err.Error()] = c.name
		})
	}
}

func TestReadGivenKind(t *testing.T) {
	_, err := Read(strings.NewReader(mooncakeJSON), ReadOptions{Kind: Azure})
	assert.ErrorIs(t, err, device.CodeInvalidFormat)
	_, err = Read(strings.NewReader(azureHeader+azureLine), ReadOptions{Kind: Mooncake})
	assert.ErrorIs(t, err, device.CodeInvalidFormat)
	_, err = Read(strings.NewReader(azureHeader+azureLine), ReadOptions{Kind: 9})
	assert.ErrorIs(t, err, device.CodeInvalidArgument)
	tr, err := Read(strings.NewReader(lifetimeHeader+"a,1,2,3"), ReadOptions{Kind: LifetimesCSV})
	require.NoError(t, err)
	assert.Equal(t, 1, tr.Len())
}

// A reader that fails at any position gives a reading error, never a format error or a
// shorter trace.
func TestReadReportsReaderErrors(t *testing.T) {
	broken := errors.New("the disk is gone")
	for _, text := range []string{azureHeader + azureLine, mooncakeJSON, lifetimeHeader + "a,1,2,3\n"} {
		for cut := range len(text) + 1 {
			r := io.MultiReader(strings.NewReader(text[:cut]), iotest.ErrReader(broken))
			tr, err := Read(r, ReadOptions{Name: "f"})
			require.Error(t, err, "cut at %d", cut)
			assert.Nil(t, tr)
			assert.ErrorIs(t, err, device.CodeIO)
			assert.ErrorIs(t, err, broken)
		}
	}
	tr, err := Read(iotest.OneByteReader(strings.NewReader(mooncakeJSON+mooncakeJSON)), ReadOptions{})
	require.NoError(t, err)
	assert.Equal(t, 2, tr.Len())
}

// recordedTrace opens one of the recorded traces, which are beside the checkout and not
// in it, or skips the test.
func recordedTrace(t *testing.T, name string) *Trace {
	folder := os.Getenv("FERRUM_TRACES_DIR")
	if folder == "" {
		folder = filepath.Join("..", "..", "..", "shared", "traces")
	}
	file, err := os.Open(filepath.Join(folder, name))
	if err != nil {
		t.Skipf("recorded trace %s is not here (set FERRUM_TRACES_DIR to their folder): %v", name, err)
	}
	defer file.Close()
	tr, err := Read(file, ReadOptions{Name: name})
	require.NoError(t, err)
	return tr
}

func TestReadRecorded(t *testing.T) {
	file, err := os.Open("../../examples/traces/azure_llm_code_2023.csv")
	require.NoError(t, err)
	defer file.Close()
	tr, err := Read(file, ReadOptions{Name: "azure"})
	require.NoError(t, err)
	assert.Equal(t, 8819, tr.Len())
	assert.Equal(t, 3993, recordedTrace(t, "mooncake_synthetic_fast25.jsonl").Len())
	for i, want := range []int{154, 170, 203, 213, 215, 296} {
		assert.Equal(t, want, recordedTrace(t, fmt.Sprintf("minimalloc_%c.csv", 'A'+i)).Len())
	}
}
