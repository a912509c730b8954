package cuda

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ferrum_mem/core/device"
)

// Launch needs the sizes of a kernel's arguments, which older vendor drivers do not report.
// The text of a module states them in the heads of its entries. The vendor driver reports
// errors elsewhere in the text.

const (
	// mostTextBytes is the maximum length of the text of a module.
	mostTextBytes = 64 << 20
	// mostArgumentBytes is the maximum size of all arguments of a kernel that any vendor
	// driver accepts.
	mostArgumentBytes = 32764
)

// readEntries returns the entries of PTX and the sizes of their arguments.
func readEntries(text string) (map[string][]int, error) {
	code := withoutComments(text)
	if first := strings.Fields(code); len(first) < 2 || first[0] != ".version" {
		return nil, errors.New("the text is not PTX: it does not begin with a .version")
	}
	entries := make(map[string][]int)
	for {
		_, rest, found := strings.Cut(code, ".entry")
		if !found {
			return entries, nil
		}
		rest = strings.TrimLeft(rest, blanks)
		end := strings.IndexFunc(rest, func(r rune) bool { return !isNamePart(r) })
		if end <= 0 {
			return nil, errors.New("an .entry of the text has no name that ends")
		}
		name, list := rest[:end], ""
		code = strings.TrimLeft(rest[end:], blanks)
		if after, has := strings.CutPrefix(code, "("); has {
			if list, code, found = strings.Cut(after, ")"); !found {
				return nil, fmt.Errorf("kernel %s: its arguments have no end", name)
			}
		}
		sizes, err := readArguments(list)
		if err != nil {
			return nil, fmt.Errorf("kernel %s: %w", name, err)
		}
		entries[name] = sizes
	}
}

// readTarget returns the number of the target of a PTX text: 90 for sm_90. 0: it has no
// target.
func readTarget(text string) int {
	_, rest, _ := strings.Cut(withoutComments(text), ".target")
	name, is := strings.CutPrefix(strings.TrimLeft(rest, blanks), "sm_")
	if end := strings.IndexFunc(name, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		name = name[:end]
	}
	number, err := strconv.Atoi(name)
	if !is || err != nil {
		return 0
	}
	return number
}

const blanks = " \t\r\n\v\f"

func isNamePart(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_$%", r)
}

// withoutComments replaces each comment by a blank.
func withoutComments(text string) string {
	var code strings.Builder
	code.Grow(len(text))
	for {
		at := strings.IndexByte(text, '/')
		if at < 0 || at+1 >= len(text) {
			code.WriteString(text)
			return code.String()
		}
		end := "\n"
		switch text[at+1] {
		case '/':
		case '*':
			end = "*/"
		default:
			code.WriteString(text[:at+1])
			text = text[at+1:]
			continue
		}
		code.WriteString(text[:at])
		code.WriteByte(' ')
		_, rest, found := strings.Cut(text[at+2:], end)
		if !found {
			return code.String()
		}
		if end == "\n" {
			code.WriteByte('\n')
		}
		text = rest
	}
}

// readArguments reads the text between the brackets of an entry.
func readArguments(list string) ([]int, error) {
	if strings.Trim(list, blanks) == "" {
		return nil, nil
	}
	total := 0
	declarations := strings.Split(list, ",")
	sizes := make([]int, len(declarations))
	for i, declaration := range declarations {
		size, err := argumentBytes(strings.Trim(declaration, blanks))
		if err != nil {
			return nil, fmt.Errorf("argument %d: %w", i, err)
		}
		sizes[i] = size
		total += size
		if total > mostArgumentBytes {
			return nil, fmt.Errorf("argument %d: the arguments have more than %v", i, device.Size(mostArgumentBytes))
		}
	}
	return sizes, nil
}

// argumentBytes reads a declaration such as `.param .align 8 .b8 name[24]`.
func argumentBytes(declaration string) (int, error) {
	words := strings.Fields(declaration)
	if len(words) == 0 || words[0] != ".param" {
		return 0, fmt.Errorf("%q is not a declaration of an argument", declaration)
	}
	at := slices.IndexFunc(words, func(word string) bool { return typeBytes(word) > 0 })
	if at < 0 {
		return 0, fmt.Errorf("%q: has no type that is known", declaration)
	}
	size := typeBytes(words[at])
	_, dimensions, has := strings.Cut(declaration, "[")
	for has {
		var dimension string
		dimension, dimensions, _ = strings.Cut(dimensions, "]")
		count, err := strconv.Atoi(strings.Trim(dimension, blanks))
		if err != nil || count < 1 || count > mostArgumentBytes/size {
			return 0, fmt.Errorf("%q: has no size that an argument can have", declaration)
		}
		size *= count
		_, dimensions, has = strings.Cut(dimensions, "[")
	}
	return size, nil
}

// typeBytes returns the size of a type such as .u64, or 0 for any other word.
func typeBytes(word string) int {
	if len(word) < 3 || word[0] != '.' || !strings.ContainsRune("busf", rune(word[1])) {
		return 0
	}
	switch word[2:] {
	case "8", "16", "32", "64", "128":
		bits, _ := strconv.Atoi(word[2:])
		return bits / 8
	}
	return 0
}
