package backend

import (
	"encoding/json"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
)

// DTypes is a list of data types, which JSON has by name.
type DTypes []dtype.DType

// Devices is a list of devices, which JSON has as texts such as "cpu:0".
type Devices []device.ID

// MarshalJSON returns the names of the types.
func (l DTypes) MarshalJSON() ([]byte, error) { return textsOf(l) }

// MarshalJSON returns the texts of the devices.
func (l Devices) MarshalJSON() ([]byte, error) { return textsOf(l) }

func textsOf[T interface{ String() string }](list []T) ([]byte, error) {
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = item.String()
	}
	return json.Marshal(texts)
}

// UnmarshalJSON reads a list of names.
func (l *DTypes) UnmarshalJSON(text []byte) error {
	return readList(text, (*[]dtype.DType)(l), parseDType)
}

// UnmarshalJSON reads a list of texts.
func (l *Devices) UnmarshalJSON(text []byte) error {
	return readList(text, (*[]device.ID)(l), device.ParseID)
}

func readList[T any](text []byte, to *[]T, parse func(string) (T, error)) error {
	var texts []string
	if err := json.Unmarshal(text, &texts); err != nil {
		return err
	}
	*to = make([]T, len(texts))
	for i, one := range texts {
		var err error
		if (*to)[i], err = parse(one); err != nil {
			return err
		}
	}
	return nil
}

// parseDType returns the type with a name, also a block type of GGUF such as "q8_0".
func parseDType(name string) (dtype.DType, error) {
	for number := range uint32(mostGGUFTypes) {
		if t, isKnown := dtype.GGUF(number); isKnown && t.String() == name {
			return t, nil
		}
	}
	return dtype.Parse(name)
}

// mostGGUFTypes is above the numbers of types in GGUF files.
const mostGGUFTypes = 64
