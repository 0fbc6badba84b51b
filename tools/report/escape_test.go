package report

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEscape(t *testing.T) {
	for name, c := range map[string]struct{ in, out, because string }{
		"plain":         {"web-0 (95%)", "web-0 (95%)", "what prints stays"},
		"letters":       {"naïve 日本 é", "naïve 日本 é", "letters of all scripts print"},
		"empty":         {"", "", "there is nothing to do"},
		"line":          {"a\nb\r\t", `a\nb\r\t`, "no field ends a line or a cell"},
		"escape":        {"\x1b[31mred", `\x1b[31mred`, "no field gives colour"},
		"eight bits":    {"\u009b31m", `\u009b31m`, "a terminal may take it for an escape sequence"},
		"direction":     {"a\u202eb\u2066", `a\u202eb\u2066`, "no field turns the text that follows"},
		"without width": {"a\u200bb", `a\u200bb`, "two names that look the same are told apart"},
		"no UTF-8":      {"a\xffb", "a\ufffdb", "a terminal may read the byte in its own way"},
		"backslash":     {`a\nb`, `a\nb`, "a backslash prints"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.out, Escape(c.in), c.because) })
	}
}

type word string

func TestTextf(t *testing.T) {
	var b strings.Builder
	Textf(&b, "%s\n%v %d %5s|%v\n", "a\nb", errors.New("c\n"), 1, word("\n"), []int{1})
	require.Equal(t, "a\\nb\nc\\n 1    \\n|[1]\n", b.String())
}

func TestEscaped(t *testing.T) {
	type inner struct{ Text string }
	type outer struct {
		List  []inner
		Map   map[string]*inner
		Array [1]string
		Any   any
		kept  string
	}
	in := outer{[]inner{{"\n"}}, map[string]*inner{"\r": {"\t"}}, [1]string{"\n"}, "\n", "\n"}
	require.Equal(t, outer{[]inner{{`\n`}}, map[string]*inner{`\r`: {`\t`}}, [1]string{`\n`}, `\n`, "\n"}, Escaped(in))
	require.Equal(t, "\n", in.List[0].Text, "the value itself stays as it is")
}
