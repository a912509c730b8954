package mappedfiles

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"ferrum_mem/core/weights/diskfile"
)

// The handler before ours is that of the Go runtime, as in the library. Each check runs in a process of
// its own: this program, started again with the name of the check. tests/cache/test_mapped.c has the
// handlers of C programs.
const checkVariable = "FERRUM_TEST_CHECK"

var checks = map[string]func(){
	"lost page":           func() { whileWatched(loseWatchedPage) },
	"other page":          loseOtherPage,
	"other page, after":   func() { whileWatched(loseWatchedPage); loseOtherPage() },
	"sent":                sendToSelf,
	"sent, after":         func() { whileWatched(loseWatchedPage); sendToSelf() },
	"no memory":           readNothing,
	"no memory, after":    func() { whileWatched(loseWatchedPage); readNothing() },
	"panics":              faultsArePanics,
	"panics, after":       func() { whileWatched(loseWatchedPage); faultsArePanics() },
	"the file comes back": func() { whileWatched(fileComesBack) },
}

func TestMain(m *testing.M) {
	if check := checks[os.Getenv(checkVariable)]; check != nil {
		check()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// outcome is the end of a check: a status and, if it did not end well, the reason.
type outcome struct {
	status string
	reason string
}

func run(t *testing.T, check string) outcome {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), checkVariable+"="+check, "TMPDIR="+t.TempDir())
	cmd.Stderr = &said
	err = cmd.Run()
	if err == nil {
		return outcome{status: "well"}
	}
	// The first word of a line with an address is enough.
	line, _, _ := strings.Cut(said.String(), "\n")
	reason, _, _ := strings.Cut(line, " 0x")
	return outcome{err.Error(), reason}
}

func TestLostPagesAreZeros(t *testing.T) {
	assert.Equal(t, "well", run(t, "lost page").status)
	assert.Equal(t, "well", run(t, "the file comes back").status)
}

// Everything else ends as it does without a watched mapping.
func TestOtherFaultsStayAsTheyWere(t *testing.T) {
	for check, status := range map[string]string{
		"other page": "exit status 2", "sent": "exit status 2", "no memory": "exit status 2", "panics": "well",
	} {
		without := run(t, check)
		assert.Equal(t, status, without.status, without.reason)
		assert.Equal(t, without, run(t, check+", after"))
	}
}

// --- what the other processes do

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func whileWatched(check func()) {
	diskfile.OnMap(Watch)
	check()
	diskfile.OnMap(nil)
}

const (
	page  = 4096
	pages = 16
)

// mapFile maps a file of sevens.
func mapFile() (*os.File, *diskfile.Mapping) {
	file := must(os.Create(filepath.Join(os.TempDir(), "file")))
	must(file.Write(bytes.Repeat([]byte{7}, pages*page)))
	return file, must(diskfile.Map(file, pages*page))
}

func expect(is bool, what string) {
	if !is {
		panic(what)
	}
}

func shorten(file *os.File, size int64) {
	if err := file.Truncate(size); err != nil {
		panic(err)
	}
}

func loseWatchedPage() {
	file, mapping := mapFile()
	shorten(file, 3*page+1)
	expect(mapping.Bytes()[3*page] == 7 && !mapping.IsDamaged() && mapping.IsShorter(), "the part that is left")
	expect(mapping.Bytes()[4*page] == 0 && mapping.IsDamaged(), "the part that is gone")
	expect(bytes.Count(mapping.Bytes(), []byte{7}) == 3*page+1, "all bytes")
	// The system reads pages too.
	out := must(os.Create(filepath.Join(os.TempDir(), "copy")))
	must(out.Write(mapping.Bytes()))
	if err := mapping.Close(); err != nil {
		panic(err)
	}
	expect(!mapping.IsDamaged(), "a closed mapping")
}

// fileComesBack: the mark stays when the file is as long as before.
func fileComesBack() {
	file, mapping := mapFile()
	shorten(file, 0)
	expect(mapping.Bytes()[page] == 0, "the page is gone")
	must(file.WriteAt(bytes.Repeat([]byte{7}, pages*page), 0))
	expect(!mapping.IsShorter() && mapping.IsDamaged(), "the mark")
	// The next mapping may have the same entry, and the same addresses.
	if err := mapping.Close(); err != nil {
		panic(err)
	}
	next := must(diskfile.Map(file, pages*page))
	expect(!next.IsDamaged() && bytes.Count(next.Bytes(), []byte{7}) == pages*page, "the next mapping")
}

func loseOtherPage() {
	file, mapping := mapFile()
	shorten(file, page)
	os.Exit(int(mapping.Bytes()[4*page]))
}

func sendToSelf() {
	if err := unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGBUS); err != nil {
		panic(err)
	}
	select {}
}

var nothing *int

func readNothing() {
	debug.SetPanicOnFault(false)
	os.Exit(*nothing)
}

func faultsArePanics() {
	caught := func(f func()) (value any) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer func() { value = recover() }()
		f()
		return nil
	}
	expect(caught(func() { os.Exit(*nothing + 3) }) != nil, "nil")
	expect(caught(loseOtherPage) != nil, "a page that is gone")
}
