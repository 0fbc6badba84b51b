package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// hostile are texts with which a dump could leave a word or a comment.
var hostile = []string{
	"", "n1", "-h", "--", "a b", "a\tb", "a\nb", "a\r\nb", "n2; touch made #", "$(touch made)", "`touch made`", "a'b", "'; touch made; '", `a"b`, `a\b`, `\`,
	"a\\\nb", "*", "?", "[a-z]*", "~", "~root", "{a,b}", "a=b", "!!", "#", "&", "a|b", ">made", "<made", "$HOME", "${HOME}", "\x1b[2J", "\u2028touch made", "\u0085touch made", "\x80\nb",
	"ü", "\a", "\x7f", strings.Repeat("'", 300), "\n#\ntouch made",
}

// run gives a script to sh in a directory of its own. It fails when the script writes to stderr or makes a file.
func run(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{{"-n"}, {}} {
		c := exec.Command("sh", args...)
		c.Dir, c.Stdin = dir, strings.NewReader(script)
		var errs strings.Builder
		c.Stderr = &errs
		out, err := c.Output()
		require.NoError(t, err, "%q", script)
		require.Empty(t, errs.String(), "%q", script)
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, files, "%q", script)
		if len(args) == 0 {
			return string(out)
		}
	}
	return ""
}

// A shell gives each word to the program as it is.
func TestWords(t *testing.T) {
	require.Empty(t, Words())
	require.Equal(t, "n1 node-a.b_c/d:e", Words("n1", "node-a.b_c/d:e"), "names stay readable")
	require.Equal(t, `'' 'a b' 'it'\''s'`, Words("", "a b", "it's"))
	require.Equal(t, "ab", Words("a\x00b"))
	for _, w := range hostile {
		require.Equal(t, "<"+w+">", run(t, "printf '<%s>' "+Words(w)), "%q", w)
	}
	require.Equal(t, "<"+strings.Join(hostile, "><")+">", run(t, "printf '<%s>' "+Words(hostile...)))
}

// A shell runs nothing of a comment, and what stands behind its line.
func TestComment(t *testing.T) {
	require.Equal(t, `# a\nb ü`, Comment("a\nb ü"))
	for _, text := range hostile {
		c := Comment(text)
		require.NotContains(t, c, "\n", "%q", text)
		require.Equal(t, "end\n", run(t, c+"\necho end\n"), "%q", text)
	}
}

func FuzzShell(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(string(testkit.RandomBytes(seed, 30)))
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ReplaceAll(text, "\x00", "")
		require.Equal(t, "<"+text+">", run(t, Comment(text)+"\nprintf '<%s>' "+Words(text)))
	})
}

// command is a string with a command of kubectl and a verb of fmt in it, or a template of JavaScript with a value.
var command = regexp.MustCompile("\"[^\"]*\\bkubectl (annotate|cordon|create|delete|describe|drain|get|label|patch|podberth|taint|uncordon)\\b[^\"]*%[^\"]*\"|`[^`]*\\bkubectl [^`]*[$][{]")

// No text of the programs and of the library has a command with a name that nothing quotes.
func TestCommandsAreMadeOfWords(t *testing.T) {
	for _, root := range []string{"../../examples", "../../cmd", "../../diagnose", "../../planning", "../../eviction"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			ending := filepath.Ext(path)
			if err != nil || d.IsDir() || ending != ".go" && ending != ".js" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for n, line := range strings.Split(string(text), "\n") {
				if command.MatchString(line) && !strings.Contains(line, "shell.Words(") && !strings.Contains(line, "${shellWord(") {
					t.Errorf("%s:%d: a command with a name that package shell does not quote: %s", path, n+1, strings.TrimSpace(line))
				}
			}
			return nil
		}))
	}
}
