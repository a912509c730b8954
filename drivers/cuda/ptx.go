package cuda

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// What Launch needs to know of a kernel and older drivers do not tell: the sizes of its
// arguments. The text of a module says them in the heads of its entries.

// mostTextBytes bounds the text of a module.
const mostTextBytes = 64 << 20

// mostArgumentBytes bounds one argument, and all of a kernel: what any driver takes.
const mostArgumentBytes = 32764

var (
	ptxVersion = regexp.MustCompile(`(?m)^\s*\.version\s+\d+\.\d+\s*$`)
	ptxComment = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/`)
	ptxEntry   = regexp.MustCompile(`\.entry\s+([A-Za-z_$%][\w$]*)\s*(\(([^)]*)\))?`)
	ptxArray   = regexp.MustCompile(`\[\s*(\d+)\s*\]`)
	ptxType    = regexp.MustCompile(`^\.[busf](8|16|32|64|128)$`)
)

// readEntries finds the entries of PTX and the sizes of their arguments.
func readEntries(text string) (map[string][]int, error) {
	code := ptxComment.ReplaceAllString(text, " ")
	if !ptxVersion.MatchString(code) {
		return nil, fmt.Errorf("the text is no PTX: it has no line with a .version")
	}
	entries := make(map[string][]int)
	for _, found := range ptxEntry.FindAllStringSubmatch(code, -1) {
		sizes, err := readArguments(found[3])
		if err != nil {
			return nil, fmt.Errorf("kernel %s: %w", found[1], err)
		}
		entries[found[1]] = sizes
	}
	return entries, nil
}

// readArguments reads what is between the brackets of an entry.
func readArguments(list string) ([]int, error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	total := 0
	declarations := strings.Split(list, ",")
	sizes := make([]int, len(declarations))
	for i, declaration := range declarations {
		size, err := argumentBytes(declaration)
		if err != nil {
			return nil, fmt.Errorf("argument %d: %w", i, err)
		}
		sizes[i] = size
		total += size
		if total > mostArgumentBytes {
			return nil, fmt.Errorf("argument %d: the arguments have more than %d bytes", i, mostArgumentBytes)
		}
	}
	return sizes, nil
}

// argumentBytes reads a declaration such as `.param .align 8 .b8 name[24]`.
func argumentBytes(declaration string) (int, error) {
	declaration = strings.TrimSpace(declaration)
	words := strings.Fields(declaration)
	if len(words) == 0 || words[0] != ".param" {
		return 0, fmt.Errorf("%q is no declaration of an argument", declaration)
	}
	for _, word := range words {
		bits := ptxType.FindStringSubmatch(word)
		if bits == nil {
			continue
		}
		size, _ := strconv.Atoi(bits[1])
		size /= 8
		for _, array := range ptxArray.FindAllStringSubmatch(declaration, -1) {
			count, err := strconv.Atoi(array[1])
			if err != nil || count < 1 || count > mostArgumentBytes/size {
				return 0, fmt.Errorf("%q: has no size that an argument can have", declaration)
			}
			size *= count
		}
		return size, nil
	}
	return 0, fmt.Errorf("%q: has no type that is known", declaration)
}
