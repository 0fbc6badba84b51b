package command_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// fence is a block of a page: the word behind its first quotes, and its lines.
var fence = regexp.MustCompile("(?m)^```([a-z]*)\n((?s:.*?))^```$")

// Every command line of README.md and docs/ runs. In a console block "$ " begins a command, and the lines behind it are what it
// prints. A page may write … in place of some of these lines. In other blocks a command runs when all of its files exist. If it needs a
// cluster, or a file that the reader makes, the test checks only its flags.
func TestCommandsOfDocuments(t *testing.T) {
	t.Chdir("../../..")
	pages := []string{"README.md"}
	require.NoError(t, filepath.WalkDir("docs", func(path string, d fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			pages = append(pages, path)
		}
		return err
	}))
	printed, ran, read := 0, 0, 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		got := fence.ReplaceAllStringFunc(string(text), func(block string) string {
			m := fence.FindStringSubmatch(block)
			if m[1] == "console" {
				printed++
				return "```console\n" + transcript(t, page, m[2]) + "```"
			}
			for line := range strings.Lines(m[2]) {
				switch args := arguments(line); {
				case args == nil:
				case runs(args):
					ran++
					code, _, errs := podberth(t, "", args...)
					require.NotEqual(t, 2, code, "%s: %s: %s", page, line, errs)
				default:
					read++
					code, _, errs := podberth(t, "", append(args, "--help")...)
					require.Zero(t, code, "%s: %s: %s", page, line, errs)
				}
			}
			return block
		})
		testkit.Golden(t, page, got)
	}
	require.Positive(t, printed)
	require.Greater(t, ran, 5)
	require.Greater(t, read, 3)
}

var spoken = regexp.MustCompile(`^\s*(?:\$ )?(?:go run \./cmd/podberth|go run \./cmd/kubectl-podberth|kubectl podberth|podberth) (.*)`)

// arguments returns the arguments of a command line of podberth, without redirections and what a pipe does next; nil for another line.
func arguments(line string) []string {
	m := spoken.FindStringSubmatch(line)
	if m == nil || strings.Contains(m[1], "...") {
		return nil
	}
	command, _, _ := strings.Cut(m[1], " #")
	for _, end := range []string{" > ", " | ", " && ", " <"} {
		command, _, _ = strings.Cut(command, end)
	}
	return strings.Fields(command)
}

// runs reports whether a command names the files that it reads, which are in the repository, and writes none.
func runs(args []string) bool {
	if args[0] == "mcp" || args[0] == "snapshot" {
		return false
	}
	for i, a := range args {
		if a == "-f" && i+1 < len(args) {
			_, err := os.Stat(args[i+1])
			return err == nil && !strings.Contains(strings.Join(args, " "), "/tmp/")
		}
	}
	return false
}

// transcript returns a console block with what the commands print now, with as many lines before and behind a line … as the page has.
func transcript(t *testing.T, page, block string) string {
	var out strings.Builder
	for _, part := range regexp.MustCompile(`(?m)^\$ `).Split(block, -1)[1:] {
		line, want, _ := strings.Cut(part, "\n")
		args := arguments("$ " + line)
		require.NotNil(t, args, "%s: %s", page, line)
		_, got, errs := podberth(t, "", append(args, "--width", "80")...)
		got = errs + timeless(got)
		if head, tail, cut := strings.Cut(want, "…\n"); cut {
			lines, first, last := strings.SplitAfter(got, "\n"), strings.Count(head, "\n"), strings.Count(tail, "\n")
			require.Greater(t, len(lines)-1, first+last, "%s: %s: … stands for nothing", page, line)
			got = strings.Join(lines[:first], "") + "…\n" + strings.Join(lines[len(lines)-1-last:], "")
		}
		out.WriteString("$ " + line + "\n" + got)
	}
	return out.String()
}
