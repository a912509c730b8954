package trace

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"slices"
	"strings"

	"ferrum_mem/core/device"
)

// ReadOptions states how to read a trace.
type ReadOptions struct {
	// Name is the name of the input in error messages; "" means "trace".
	Name string
	// Kind is the kind of the input; Unknown means that the first line decides.
	Kind Kind
}

// detectBytes is the number of bytes of the input that are read to find its kind.
const detectBytes = 64 << 10

// Read reads a whole trace. Records may be in any order. They are sorted by time; records
// with equal times keep their order. Malformed input returns CodeInvalidFormat, and the
// message has the line, the column and the value. A failing reader returns CodeIO.
func Read(r io.Reader, o ReadOptions) (*Trace, error) {
	if o.Name == "" {
		o.Name = "trace"
	}
	buffered := bufio.NewReaderSize(r, detectBytes)
	head, err := buffered.Peek(detectBytes)
	if err != nil && err != io.EOF {
		return nil, readFailed(o.Name, err)
	}
	kind, err := chooseKind(o, head)
	if err != nil {
		return nil, err
	}
	t := &Trace{Name: o.Name, Kind: kind}
	switch kind {
	case Azure:
		err = t.readAzure(buffered)
	case Mooncake:
		err = t.readMooncake(buffered)
	default:
		err = t.readLifetimes(buffered)
	}
	if err != nil {
		return nil, err
	}
	if t.Len() == 0 {
		return nil, invalid(o.Name, 0, "the file has no records")
	}
	if err := t.order(); err != nil {
		return nil, err
	}
	return t, nil
}

// chooseKind finds the kind from the start of the input. A header with some columns of a
// kind decides for that kind, so that the reader of that kind can name the missing
// columns.
func chooseKind(o ReadOptions, head []byte) (Kind, error) {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	if len(text) == 0 {
		return Unknown, invalid(o.Name, 0, "the file is empty")
	}
	switch o.Kind {
	case Azure, Mooncake, LifetimesCSV:
		return o.Kind, nil
	case Unknown:
	default:
		return Unknown, device.Errorf(device.CodeInvalidArgument, "trace.read", "trace kind %d is not one of azure, mooncake, lifetimes", o.Kind)
	}
	if text[0] == '{' {
		return Mooncake, nil
	}
	header, _, _ := bytes.Cut(text, []byte("\n"))
	for name := range strings.SplitSeq(string(header), ",") {
		name = strings.Trim(name, " \t\r\"")
		if slices.Contains(azureColumns, name) {
			return Azure, nil
		}
		if slices.Contains(lifetimeColumns, name) {
			return LifetimesCSV, nil
		}
	}
	return Unknown, invalid(o.Name, 1,
		"%s is not the start of a known trace: want the header %s, the header %s, or a JSON object a line",
		quoted(string(header)), strings.Join(azureColumns, ","), strings.Join(lifetimeColumns, ","))
}

// order sorts by time and makes the first arrival time 0.
func (t *Trace) order() error {
	slices.SortStableFunc(t.Lifetimes, func(a, b Lifetime) int { return cmp.Compare(a.Lower, b.Lower) })
	slices.SortStableFunc(t.Requests, func(a, b Request) int { return cmp.Compare(a.ArrivalNS, b.ArrivalNS) })
	if len(t.Requests) == 0 {
		return nil
	}
	first, last := t.Requests[0], t.Requests[len(t.Requests)-1]
	// The readers accept only times from 1970 to 2200, so this cannot overflow.
	if last.ArrivalNS-first.ArrivalNS > MaxTimeNS {
		return invalid(t.Name, int(last.Line), "this request arrives more than 100 years after the one on line %d", first.Line)
	}
	for i := range t.Requests {
		t.Requests[i].ArrivalNS -= first.ArrivalNS
	}
	return nil
}
