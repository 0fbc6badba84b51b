package testkit

import (
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// CommentRuns fails unless the code in the comment of the package stands in a file of examples, so that it compiles and runs. The code
// of the comment is its indented lines that hold a statement (":=", "=" or "{"); formulas are not. Spaces, line ends and comments do
// not count.
func CommentRuns(t *testing.T, packageFile, exampleFile string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), packageFile, nil, parser.ParseComments|parser.PackageClauseOnly)
	require.NoError(t, err)
	example, err := os.ReadFile(exampleFile)
	require.NoError(t, err)
	all := tokens(string(example))
	blocks := codeBlocks(f.Doc.Text())
	require.NotEmpty(t, blocks, "%s has no code in its comment", packageFile)
	for _, block := range blocks {
		if code := tokens(block); !containsRun(all, code) {
			t.Errorf("%s: the comment has code that %s does not have:\n%s", packageFile, exampleFile, block)
		}
	}
}

// codeBlocks returns the indented parts of a comment that have statements.
func codeBlocks(text string) (blocks []string) {
	var block []string
	flush := func() {
		if code := strings.Join(block, "\n"); strings.ContainsAny(code, "={") {
			blocks = append(blocks, code)
		}
		block = nil
	}
	for line := range strings.Lines(text + "\n") {
		switch {
		case strings.HasPrefix(line, "\t"):
			block = append(block, strings.TrimRight(line, "\n"))
		case strings.TrimSpace(line) != "":
			flush()
		}
	}
	flush()
	return blocks
}

// tokens returns the tokens of Go code without comments and semicolons.
func tokens(code string) (out []string) {
	var s scanner.Scanner
	set := token.NewFileSet()
	s.Init(set.AddFile("", set.Base(), len(code)), []byte(code), nil, 0)
	for {
		_, kind, text := s.Scan()
		switch {
		case kind == token.EOF:
			return out
		case kind == token.SEMICOLON:
		case text == "":
			out = append(out, kind.String())
		default:
			out = append(out, text)
		}
	}
}

func containsRun(all, part []string) bool {
	for k := range len(all) - len(part) + 1 {
		if slices.Equal(all[k:k+len(part)], part) {
			return true
		}
	}
	return false
}
