package house

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tree lists the files of the project that git tracks. Without git or its data, as in an
// unpacked archive, it lists the files of the folder.
func tree(t *testing.T, root string) []string {
	t.Helper()
	command := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	command.Dir = root
	if output, err := command.Output(); err == nil {
		return strings.Split(strings.Trim(string(output), "\x00"), "\x00")
	}
	var files []string
	require.NoError(t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && (name == "build" || name == "target" || name == ".git") {
			return filepath.SkipDir
		}
		if entry.Type().IsRegular() {
			relative, err := filepath.Rel(root, path)
			files = append(files, relative)
			return err
		}
		return nil
	}))
	return files
}

// The words are split, so that this file does not match.
var leftovers = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b|unimple` + `mented!|todo` + `!\(`)

// Folders of people and of build machines. A path in a text must be valid for everyone.
var machinePaths = regexp.MustCompile(`(?:^|[^\w.~-])/(?:root|work|home/\w+|Users/\w+|bash_jobs)/`)

func TestNothingIsLeftBehind(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	paths := []string{root + string(filepath.Separator)}
	if home, err := os.UserHomeDir(); err == nil && len(home) > 1 {
		paths = append(paths, home+string(filepath.Separator))
	}
	files := tree(t, root)
	require.NotEmpty(t, files)
	for _, name := range files {
		content, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) || bytes.IndexByte(content, 0) >= 0 {
			continue
		}
		require.NoError(t, err)
		for i, line := range strings.Split(string(content), "\n") {
			assert.NotRegexp(t, leftovers, line, "%s:%d", name, i+1)
			assert.NotRegexp(t, machinePaths, line, "%s:%d", name, i+1)
			for _, path := range paths {
				assert.NotContains(t, line, path, "%s:%d", name, i+1)
			}
		}
	}
}

func TestLeftoversAreRecognised(t *testing.T) {
	assert.Regexp(t, leftovers, "// TO"+"DO: later")
	assert.NotRegexp(t, leftovers, "todos is a word")
	assert.Regexp(t, machinePaths, `see "/ro`+`ot/build/x"`)
	assert.NotRegexp(t, machinePaths, "https://example.org/ro"+"ot/x and ../wo"+"rk/y")
}
