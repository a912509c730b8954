package weights

import (
	"encoding/json"
	"strconv"
)

// MetadataJSON returns the JSON text of Metadata, with the tensors in the order of the source. It takes a
// fifth of the time of encoding/json, which first needs two maps of all tensors, and sorts them.
func (s *Source) MetadataJSON() ([]byte, error) {
	m := s.summary()
	size := 1024
	for i := range s.tensors {
		size += 2*len(s.tensors[i].Name) + entryTextBytes
	}
	out := append(make([]byte, 0, size), '{')
	var err error
	for _, field := range []struct {
		key   string
		value any
	}{{"format", m.Format}, {"total_size_bytes", m.TotalSizeBytes}, {"dtypes", m.DTypes}} {
		if out, err = appendField(out, field.key, field.value); err != nil {
			return nil, err
		}
		out = append(out, ',')
	}
	out = append(out, `"tensors":{`...)
	for i := range s.tensors {
		out = appendKey(out, i, s.tensors[i].Name)
		out = append(out, '[')
		for side, length := range s.tensors[i].Shape {
			if side > 0 {
				out = append(out, ',')
			}
			out = strconv.AppendUint(out, length, 10)
		}
		out = append(out, ']')
	}
	out = append(out, `},"extra":{"tensors":{`...)
	for i := range s.tensors {
		out = s.tensors[i].appendPlace(appendKey(out, i, s.tensors[i].Name))
	}
	if out, err = appendField(append(out, "},"...), "files", m.Extra.Files); err == nil {
		out, err = appendField(append(out, ','), "texts", m.Extra.Texts)
	}
	return append(out, "}}"...), err
}

// entryTextBytes is about the length of the texts of a tensor, without its name.
const entryTextBytes = 140

// appendPlace appends the JSON text of the Place of a tensor.
func (t *Tensor) appendPlace(out []byte) []byte {
	p := t.place()
	out = append(append(append(out, `{"dtype":"`...), p.DType...), `","stored_as":`...)
	out = append(appendText(out, p.StoredAs), `,"file":`...)
	out = strconv.AppendInt(out, int64(p.File), 10)
	out = strconv.AppendUint(append(out, `,"offset_bytes":`...), p.OffsetBytes, 10)
	out = strconv.AppendUint(append(out, `,"size_bytes":`...), p.SizeBytes, 10)
	out = strconv.AppendUint(append(out, `,"elements":`...), p.Elements, 10)
	if p.IsCompressed {
		out = append(out, `,"is_compressed":true`...)
	}
	return append(out, '}')
}

// appendKey appends the key of the member of an object with a number.
func appendKey(out []byte, number int, key string) []byte {
	if number > 0 {
		out = append(out, ',')
	}
	return append(appendText(out, key), ':')
}

func appendField(out []byte, key string, value any) ([]byte, error) {
	text, err := json.Marshal(value)
	return append(append(appendText(out, key), ':'), text...), err
}

// appendText appends a JSON string.
func appendText(out []byte, text string) []byte {
	for i := range len(text) {
		if b := text[i]; b < ' ' || b > '~' || b == '"' || b == '\\' || b == '<' || b == '>' || b == '&' {
			escaped, _ := json.Marshal(text) // it has no error for a string
			return append(out, escaped...)
		}
	}
	return append(append(append(out, '"'), text...), '"')
}
