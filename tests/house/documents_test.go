package house

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// documentWidth is the maximum length of a line of a document, in characters.
const documentWidth = 120

// isDocument states whether the file is a document for users or contributors.
func isDocument(name string) bool {
	if !strings.HasSuffix(name, ".md") {
		return false
	}
	return name == "README.md" || name == "CHANGELOG.md" || strings.HasPrefix(name, "docs/") ||
		strings.HasPrefix(name, "bindings/")
}

// markdown returns the lines of a document. Lines of code blocks are empty, so that the
// line numbers stay correct.
func markdown(t *testing.T, file string) []string {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	return withoutCode(strings.Split(string(content), "\n"))
}

// withoutCode empties the lines of code blocks.
func withoutCode(lines []string) []string {
	inCode := false
	for i, line := range lines {
		isFence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if isFence || inCode {
			lines[i] = ""
		}
		if isFence {
			inCode = !inCode
		}
	}
	return lines
}

var (
	linkTarget = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading    = regexp.MustCompile(`^#{1,6} +(.*)$`)
	// A line that consists of one link cannot be broken.
	onlyLink = regexp.MustCompile(`^\s*(?:[-*] )?!?\[[^\]]*\]\([^)]*\)\S*$`)
	// Code and comments name a page, and optionally a heading, by its path from the root.
	pageInCode = regexp.MustCompile(`docs/[a-z_]+\.md(?:#[a-z0-9_-]+)?`)
)

// isTooLong states whether a line is longer than documentWidth. Tables and lines with a
// single link are exempt.
func isTooLong(line string) bool {
	return utf8.RuneCountInString(line) > documentWidth && !strings.HasPrefix(strings.TrimSpace(line), "|") &&
		!onlyLink.MatchString(line)
}

// anchorOf returns the anchor that a Markdown renderer gives to a heading.
func anchorOf(title string) string {
	var anchor strings.Builder
	for _, r := range strings.ToLower(linkText(title)) {
		switch {
		case r == ' ' || r == '-':
			anchor.WriteRune('-')
		case r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 127 && r != '÷' && r != '–' && r != '…':
			anchor.WriteRune(r)
		}
	}
	return anchor.String()
}

// linkText returns a heading without link targets and without code marks.
func linkText(title string) string {
	return strings.ReplaceAll(linkTarget.ReplaceAllString(title, "]"), "`", "")
}

// anchorsOf lists the anchors of a document.
func anchorsOf(t *testing.T, file string) map[string]bool {
	found := map[string]bool{}
	for _, line := range markdown(t, file) {
		if match := heading.FindStringSubmatch(line); match != nil {
			found[anchorOf(match[1])] = true
		}
	}
	return found
}

func TestDocumentsHaveNoLongLines(t *testing.T) {
	root := filepath.Join("..", "..")
	checked := 0
	for _, name := range tree(t, root) {
		if !isDocument(name) {
			continue
		}
		checked++
		for i, line := range markdown(t, filepath.Join(root, name)) {
			assert.False(t, isTooLong(line), "%s:%d has more than %d characters", name, i+1, documentWidth)
		}
	}
	assert.Greater(t, checked, 20)
}

// Every link of a document leads to an existing file and, if the link names a heading, to
// an existing heading. The same is true for every page that code or a comment names.
func TestLinksLeadSomewhere(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, name := range tree(t, root) {
		file := filepath.Join(root, name)
		switch {
		case isDocument(name):
			for i, line := range markdown(t, file) {
				for _, match := range linkTarget.FindAllStringSubmatch(line, -1) {
					checkLink(t, root, name, i+1, path.Dir(name), match[1])
				}
			}
		case mayNamePages(name):
			content, err := os.ReadFile(file)
			if os.IsNotExist(err) {
				continue
			}
			require.NoError(t, err)
			for i, line := range strings.Split(string(content), "\n") {
				for _, target := range pageInCode.FindAllString(line, -1) {
					checkLink(t, root, name, i+1, ".", target)
				}
			}
		}
	}
}

// mayNamePages states whether the file is source code whose page names are checked.
func mayNamePages(name string) bool {
	switch name {
	case "bindings/python/hatch_build.py", "scripts/test_consumers.sh":
		return false // They name pages of trees that they create.
	}
	if strings.HasPrefix(name, "tests/generator/") || strings.HasPrefix(name, "tests/house/") {
		return false // These tests name pages of trees that they create.
	}
	switch path.Ext(name) {
	case ".go", ".h", ".hpp", ".c", ".cpp", ".py", ".rs", ".sh", ".toml":
		return true
	}
	return path.Base(name) == "Makefile"
}

func checkLink(t *testing.T, root, name string, line int, folder, target string) {
	t.Helper()
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return
	}
	file, anchor, hasAnchor := strings.Cut(target, "#")
	linked := filepath.Join(root, name)
	if file != "" {
		linked = filepath.Join(root, folder, file)
	}
	_, err := os.Stat(linked)
	if !assert.NoError(t, err, "%s:%d links to %s, which does not exist", name, line, target) || !hasAnchor {
		return
	}
	if strings.HasSuffix(linked, ".md") {
		assert.True(t, anchorsOf(t, linked)[anchor], "%s:%d links to %s, a heading that does not exist", name, line, target)
	}
}

func TestLongLinesAndAnchorsAreRecognised(t *testing.T) {
	long := strings.Repeat("word ", 30)
	assert.True(t, isTooLong(long))
	assert.False(t, isTooLong("| "+long+" |"))
	assert.False(t, isTooLong("- [text]("+strings.Repeat("a", 130)+")"))
	assert.True(t, isTooLong("text ["+long+"](a.md)"))
	assert.False(t, isTooLong(strings.Repeat("ä", 120)))
	assert.Equal(t, []string{"a", "", "", "", "b"}, withoutCode([]string{"a", "```c", long, "```", "b"}))
	assert.Equal(t, "the-c-abi-ferrum_pool-and-more", anchorOf("The C ABI: `ferrum_pool` and [more](x.md)"))
	assert.Equal(t, "100000-live--1000-live", anchorOf("100,000 live ÷ 1000 live"))
}
