package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"ferrum_mem/core/device"
)

// mooncakeLine is one line of the Mooncake release. The values are raw, so that a message
// can show them.
type mooncakeLine struct {
	Timestamp    json.RawMessage   `json:"timestamp"`
	InputLength  json.RawMessage   `json:"input_length"`
	OutputLength json.RawMessage   `json:"output_length"`
	HashIDs      []json.RawMessage `json:"hash_ids"`
}

// PrefixTokens is the number of input tokens that one prefix id stands for.
const PrefixTokens = 512

const nsPerMS = int64(1e6)

func (t *Trace) readMooncake(r io.Reader) error {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(make([]byte, 0, 64<<10), MaxLineBytes)
	line := 0
	for scanner.Scan() {
		line++
		text := bytes.TrimSpace(scanner.Bytes())
		if line == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff"))
		}
		if len(text) == 0 {
			continue
		}
		if len(t.Requests) == MaxRequests {
			return t.tooMany()
		}
		request, err := t.mooncakeRequest(line, text)
		if err != nil {
			return err
		}
		t.Requests = append(t.Requests, request)
	}
	switch err := scanner.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, bufio.ErrTooLong):
		return invalid(t.Name, line+1, "the line is longer than %v", device.Size(MaxLineBytes))
	default:
		return readFailed(t.Name, err)
	}
}

func (t *Trace) mooncakeRequest(line int, text []byte) (Request, error) {
	request := Request{Line: uint32(line), prefixStart: uint64(len(t.prefixIDs))}
	var fields mooncakeLine
	if err := json.Unmarshal(text, &fields); err != nil {
		return request, t.jsonError(line, text, err)
	}
	ms, err := t.jsonNumber(line, "timestamp", fields.Timestamp, uint64(MaxTimeNS/nsPerMS))
	if err != nil {
		return request, err
	}
	request.ArrivalNS = int64(ms) * nsPerMS
	input, err := t.jsonNumber(line, "input_length", fields.InputLength, MaxTokens)
	if err != nil {
		return request, err
	}
	output, err := t.jsonNumber(line, "output_length", fields.OutputLength, MaxTokens)
	if err != nil {
		return request, err
	}
	request.InputTokens, request.OutputTokens = uint32(input), uint32(output)
	if most := (input + PrefixTokens - 1) / PrefixTokens; uint64(len(fields.HashIDs)) > most {
		return request, invalid(t.Name, line, "hash_ids has %d ids, but input_length %d has only %s of %d tokens",
			len(fields.HashIDs), input, device.Count(most, "block"), PrefixTokens)
	}
	for _, raw := range fields.HashIDs {
		id, err := t.jsonNumber(line, "hash_ids", raw, 1<<62)
		if err != nil {
			return request, err
		}
		t.prefixIDs = append(t.prefixIDs, id)
	}
	request.prefixCount = uint32(len(fields.HashIDs))
	return request, nil
}

// jsonNumber reads a whole number. It rejects strings, fractions and null.
func (t *Trace) jsonNumber(line int, field string, raw json.RawMessage, limit uint64) (uint64, error) {
	if raw == nil {
		return 0, invalid(t.Name, line, "the field %s is missing", field)
	}
	return t.number(line, field, string(raw), limit)
}

func (t *Trace) jsonError(line int, text []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax) && isCutShort(text):
		return invalid(t.Name, line, "the line is cut short after %s", quoted(tail(text)))
	case errors.As(err, &syntax):
		at := max(syntax.Offset, 1)
		return invalid(t.Name, line, "column %d: this is not JSON: %s", at, quoted(string(text[at-1:])))
	case errors.As(err, &kind) && kind.Field != "":
		return invalid(t.Name, line, "%s is a JSON %s: it must be a list of whole numbers", kind.Field, kind.Value)
	}
	return invalid(t.Name, line, "%s is not a JSON object with the fields of a request", quoted(string(text)))
}

// isCutShort reports whether the JSON would continue after the end of the line. If so,
// the error of the parser moves behind the line when a space is appended.
func isCutShort(text []byte) bool {
	var syntax *json.SyntaxError
	err := json.Unmarshal(append(bytes.Clone(text), ' '), &mooncakeLine{})
	return errors.As(err, &syntax) && syntax.Offset > int64(len(text))
}

func tail(text []byte) string {
	const most = 20
	return string(text[max(0, len(text)-most):])
}
