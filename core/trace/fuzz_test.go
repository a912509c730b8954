package trace

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/tests/mutation"
)

// The fuzzers check one promise of each reader. It returns a typed error that names the
// input, or a trace within its bounds. The trace, written out again, reads back as the
// same trace.

func FuzzAzure(f *testing.F) {
	f.Add(azureHeader + azureLine)
	f.Add("x,GeneratedTokens,ContextTokens,TIMESTAMP\r\n1,2,3,2023-11-16T18:17:04Z\r\n")
	f.Add(azureHeader + "\"2023-11-16 18:17:03.9799600\",\"4\n8\",10\n")
	f.Add(azureHeader + azureLine + "2023-11-16 18:17")
	f.Fuzz(mutation.Also(func(t *testing.T, text string) { checkReader(t, Azure, text, writeAzure) }))
}

func FuzzMooncake(f *testing.F) {
	f.Add(mooncakeJSON)
	f.Add(mooncakeJSON + "\n" + mooncakeJSON + `{"timestamp": 5, "input_len`)
	f.Add(`{"timestamp":1e3,"input_length":-1,"output_length":null,"hash_ids":{}}`)
	f.Fuzz(mutation.Also(func(t *testing.T, text string) { checkReader(t, Mooncake, text, writeMooncake) }))
}

func FuzzLifetimes(f *testing.F) {
	f.Add(lifetimeHeader + "a,0,5,1\nb,5,9,100\n")
	f.Add(lifetimeHeader + "a,0,5,1\na,5,9,100\n")
	f.Add(lifetimeHeader + "a,5,0,18446744073709551615\n")
	f.Add("size,upper,id,lower,extra\n7,3,\"a \"\"b\"\"\",1,x\n1,2, c ,0,y\n")
	f.Fuzz(mutation.Also(func(t *testing.T, text string) { checkReader(t, LifetimesCSV, text, writeLifetimes) }))
}

func checkReader(t *testing.T, kind Kind, text string, write func(*Trace) string) {
	tr, err := Read(strings.NewReader(text), ReadOptions{Name: "fuzzed", Kind: kind})
	if err != nil {
		if device.CodeOf(err) != device.CodeInvalidFormat || !strings.Contains(err.Error(), "fuzzed: ") {
			t.Fatalf("not a typed error that names the input: %v", err)
		}
		return
	}
	for i, r := range tr.Requests {
		if r.InputTokens > MaxTokens || r.OutputTokens > MaxTokens || r.ArrivalNS < 0 || r.ArrivalNS > MaxTimeNS ||
			i > 0 && r.ArrivalNS < tr.Requests[i-1].ArrivalNS {
			t.Fatalf("request %d is out of bounds or order: %+v", i, r)
		}
	}
	for i, l := range tr.Lifetimes {
		if l.ID == "" || l.Lower >= l.Upper || l.Lower < 0 || l.SizeBytes == 0 || l.SizeBytes > MaxBlockBytes ||
			i > 0 && l.Lower < tr.Lifetimes[i-1].Lower {
			t.Fatalf("lifetime %d is out of bounds or order: %+v", i, l)
		}
	}
	again, err := Read(strings.NewReader(write(tr)), ReadOptions{Name: "again"})
	if err != nil {
		t.Fatalf("what was read does not read again: %v", err)
	}
	if got, want := describe(again), describe(tr); got != want {
		t.Fatalf("read again:\n%s\nwant:\n%s", got, want)
	}
}

// describe returns everything of a trace except its name and line numbers.
func describe(tr *Trace) string {
	var b strings.Builder
	for _, r := range tr.Requests {
		fmt.Fprintln(&b, r.ArrivalNS, r.InputTokens, r.OutputTokens, tr.PrefixIDs(r))
	}
	for _, l := range tr.Lifetimes {
		fmt.Fprintln(&b, l.ID, l.Lower, l.Upper, l.SizeBytes)
	}
	return b.String()
}

func writeAzure(tr *Trace) string {
	var b strings.Builder
	b.WriteString(azureHeader)
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, r := range tr.Requests {
		when := start.Add(time.Duration(r.ArrivalNS)).Format("2006-01-02 15:04:05.999999999")
		fmt.Fprintf(&b, "%s,%d,%d\n", when, r.InputTokens, r.OutputTokens)
	}
	return b.String()
}

func writeMooncake(tr *Trace) string {
	var b strings.Builder
	for _, r := range tr.Requests {
		ids, err := json.Marshal(tr.PrefixIDs(r))
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, `{"timestamp":%d,"input_length":%d,"output_length":%d,"hash_ids":%s}`+"\n",
			r.ArrivalNS/nsPerMS, r.InputTokens, r.OutputTokens, ids)
	}
	return b.String()
}

func writeLifetimes(tr *Trace) string {
	var b strings.Builder
	b.WriteString(lifetimeHeader)
	for _, l := range tr.Lifetimes {
		// The reader turns \r\n in a field into \n.
		id := strings.NewReplacer(`"`, `""`, "\r\n", "\r\r\n").Replace(l.ID)
		fmt.Fprintf(&b, "\"%s\",%d,%d,%d\n", id, l.Lower, l.Upper, l.SizeBytes)
	}
	return b.String()
}
