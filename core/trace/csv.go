package trace

import (
	"encoding/csv"
	"errors"
	"io"
	"strings"
	"time"

	"ferrum_mem/core/device"
)

var (
	azureColumns    = []string{"TIMESTAMP", "ContextTokens", "GeneratedTokens"}
	lifetimeColumns = []string{"id", "lower", "upper", "size"}
)

// table reads CSV records by column name. The columns may be in any order, and there may
// be further ones.
type table struct {
	trace   *Trace
	reader  *csv.Reader
	source  *boundedReader
	columns []int // the position in a record of each wanted column
	record  []string
	line    int // the line where record begins; 0 before the header
}

func (t *Trace) openTable(r io.Reader, wanted []string) (*table, error) {
	source := &boundedReader{source: r, left: MaxLineBytes}
	reader := csv.NewReader(source)
	reader.ReuseRecord = true
	reader.TrimLeadingSpace = true
	tab := &table{trace: t, reader: reader, source: source}
	if err := tab.next(); err != nil {
		return nil, err
	}
	if len(tab.record) > 0 {
		tab.record[0] = strings.TrimPrefix(tab.record[0], "\ufeff")
	}
	for _, name := range wanted {
		place := -1
		for i, have := range tab.record {
			if strings.TrimSpace(have) != name {
				continue
			}
			if place >= 0 {
				return nil, invalid(t.Name, tab.line, "the header has the column %s twice", name)
			}
			place = i
		}
		if place < 0 {
			return nil, invalid(t.Name, tab.line, "the header %s lacks the column %s", quoted(strings.Join(tab.record, ",")), name)
		}
		tab.columns = append(tab.columns, place)
	}
	return tab, nil
}

// next reads a record. At the end of the input it returns io.EOF.
func (tab *table) next() error {
	tab.source.left = MaxLineBytes
	record, err := tab.reader.Read()
	if err == nil {
		tab.record = record
		tab.line, _ = tab.reader.FieldPos(0)
		return nil
	}
	if err == io.EOF {
		return io.EOF
	}
	name := tab.trace.Name
	var parse *csv.ParseError
	switch {
	case errors.Is(err, errLineTooLong):
		return invalid(name, tab.line+1, "the record is longer than %v, or a quote is never closed", device.Size(MaxLineBytes))
	case errors.Is(err, csv.ErrFieldCount) && errors.As(err, &parse):
		return invalid(name, parse.Line, "%s (%s) where the header has %d: the line is cut short or has a comma too many",
			device.Count(len(record), "field"), quoted(strings.Join(record, ",")), tab.reader.FieldsPerRecord)
	case errors.As(err, &parse):
		return invalid(name, parse.StartLine, "column %d: a quote stands inside a field, or is not closed", parse.Column)
	}
	return readFailed(name, err)
}

// field returns the present record's value of the i-th wanted column.
func (tab *table) field(i int) string { return strings.TrimSpace(tab.record[tab.columns[i]]) }

var errLineTooLong = errors.New("line too long")

// boundedReader bounds the length of one record. The CSV reader keeps a whole record in
// memory, and a quoted field may span lines.
type boundedReader struct {
	source io.Reader
	left   int
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLineTooLong
	}
	n, err := b.source.Read(p)
	b.left -= n
	return n, err
}

// timeLayouts are the formats of a time in the releases of the Azure data set. A fraction
// of a second may follow in each.
var timeLayouts = []string{"2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00", time.RFC3339, "2006-01-02T15:04:05"}

func (t *Trace) readAzure(r io.Reader) error {
	tab, err := t.openTable(r, azureColumns)
	if err != nil {
		return headerError(t, err)
	}
	for {
		switch err := tab.next(); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if len(t.Requests) == MaxRequests {
			return t.tooMany()
		}
		request := Request{Line: uint32(tab.line)}
		if request.ArrivalNS, err = t.timestamp(tab.line, tab.field(0)); err != nil {
			return err
		}
		for i, tokens := range []*uint32{&request.InputTokens, &request.OutputTokens} {
			value, err := t.number(tab.line, azureColumns[i+1], tab.field(i+1), MaxTokens)
			if err != nil {
				return err
			}
			*tokens = uint32(value)
		}
		t.Requests = append(t.Requests, request)
	}
}

// timestamp returns nanoseconds since 1970.
func (t *Trace) timestamp(line int, text string) (int64, error) {
	for _, layout := range timeLayouts {
		when, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		if when.Year() < 1970 || when.Year() > 2200 {
			return 0, invalid(t.Name, line, "TIMESTAMP is %s: the year must be from 1970 to 2200", quoted(text))
		}
		return when.UnixNano(), nil
	}
	return 0, invalid(t.Name, line, "TIMESTAMP is %s: want a time such as 2023-11-16 18:17:03.9799600", quoted(text))
}

func (t *Trace) readLifetimes(r io.Reader) error {
	tab, err := t.openTable(r, lifetimeColumns)
	if err != nil {
		return headerError(t, err)
	}
	lines := make(map[string]int)
	for {
		switch err := tab.next(); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if len(t.Lifetimes) == MaxRequests {
			return t.tooMany()
		}
		life, err := t.lifetime(tab)
		if err != nil {
			return err
		}
		if earlier, ok := lines[life.ID]; ok {
			return invalid(t.Name, tab.line, "id %s is on line %d already", quoted(life.ID), earlier)
		}
		lines[life.ID] = tab.line
		t.Lifetimes = append(t.Lifetimes, life)
	}
}

// lifetime checks and converts one record.
func (t *Trace) lifetime(tab *table) (Lifetime, error) {
	line := tab.line
	life := Lifetime{ID: strings.Clone(tab.field(0)), Line: uint32(line)}
	if life.ID == "" {
		return life, invalid(t.Name, line, "id is empty")
	}
	lower, err := t.number(line, "lower", tab.field(1), uint64(MaxTimeNS))
	if err != nil {
		return life, err
	}
	upper, err := t.number(line, "upper", tab.field(2), uint64(MaxTimeNS))
	if err != nil {
		return life, err
	}
	if lower >= upper {
		return life, invalid(t.Name, line, "lower is %d and upper is %d: a buffer must live from lower to a later upper", lower, upper)
	}
	life.Lower, life.Upper = int64(lower), int64(upper)
	life.SizeBytes, err = t.number(line, "size", tab.field(3), MaxBlockBytes)
	if err == nil && life.SizeBytes == 0 {
		err = invalid(t.Name, line, "size is 0: a buffer must have at least 1 byte")
	}
	return life, err
}

// headerError converts the end of the input before a header to an error message.
func headerError(t *Trace, err error) error {
	if err == io.EOF {
		return invalid(t.Name, 0, "the file is empty")
	}
	return err
}
