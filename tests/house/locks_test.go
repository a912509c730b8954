package house

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lockSentence is the sentence with which a function names the locks that its caller holds.
const lockSentence = "The caller holds "

// otherLockForms matches other sentences with that meaning in the comment of a function.
var otherLockForms = regexp.MustCompile(`(?i)\b(mu|locks?|mutex) (of [\w ]+ )?(is|are|must be|has to be) (already )?held\b|` +
	`\bcallers? (must|has to|have to|needs to) hold\b|\b(for|of) (a|the|any) caller (that|who) holds\b|` +
	`\b(is|are) called (with|under) (the |its )?(mu|lock|locks)\b|` +
	`\b(is|be) (locked|holding the lock) by the caller\b|\bcaller'?s? (is )?holding\b`)

// itsOwn matches sentences about locks that a function itself takes, or holds when it
// returns.
var itsOwn = regexp.MustCompile(`\bheld (from|while|until)\b|\breturns? (with|without)\b|\bthe lock is not held\b|\b[Nn]o lock\b|\bneither\b`)

// otherLockForm returns the sentence of a comment that states in another form that the
// caller holds a lock, or "".
func otherLockForm(comment string) string {
	text := strings.Join(strings.Fields(comment), " ")
	for _, sentence := range regexp.MustCompile(`[^.;]+(?:\.\w[^.;]*)*[.;]?`).FindAllString(text, -1) {
		if otherLockForms.MatchString(sentence) && !itsOwn.MatchString(sentence) {
			return strings.TrimSpace(sentence)
		}
	}
	return ""
}

// A function that needs a held lock documents it in one form. A name may end in Locked only
// if the package also has a function with the same name without Locked, which takes the
// lock.
func TestTheCallerHoldsTheLockIsSaidInOneWay(t *testing.T) {
	said := 0
	for _, p := range packagesOf(t) {
		functions := map[string]string{}
		for _, path := range p.files(false) {
			files, file := parse(t, path)
			for _, declaration := range file.Decls {
				function, ok := declaration.(*ast.FuncDecl)
				if !ok {
					continue
				}
				name, doc := function.Name.Name, strings.Join(strings.Fields(function.Doc.Text()), " ")
				functions[strings.ToLower(name)] = files.Position(function.Pos()).String()
				said += strings.Count(doc, lockSentence)
				assert.Empty(t, otherLockForm(doc), "%s: say %q", files.Position(function.Pos()), lockSentence+"mu.")
				if strings.HasSuffix(name, "Locked") {
					assert.Contains(t, doc, lockSentence, "%s", files.Position(function.Pos()))
				}
			}
		}
		for name, at := range functions {
			if plain, locked := strings.CutSuffix(name, "locked"); locked && plain != "" {
				_, pair := functions[plain]
				assert.True(t, pair, "%s: there is no %s that takes the lock: drop the ending of the name", at, plain)
			}
		}
	}
	require.Greater(t, said, 200)
}

func TestOtherFormsOfHoldingALockAreFound(t *testing.T) {
	for _, form := range []string{
		"x does; mu is held.", "x does. p.mu is held.", "x does, and the lock must be held.", "The caller must hold mu.",
		"x is y for a caller that holds mu.", "x is called with the lock.", "Callers have to hold p.mu.", "The locks of both are held.",
	} {
		assert.NotEmpty(t, otherLockForm(form), form)
	}
	for _, form := range []string{
		"x does. The caller holds mu.", "fn is called with no lock held.", "x returns with the lock held.",
		"The lock of b is held from the check until it has moved.", "The caller holds layout and mu, which it lets go of.", "No lock is held while it waits.",
	} {
		assert.Empty(t, otherLockForm(form), form)
	}
}
