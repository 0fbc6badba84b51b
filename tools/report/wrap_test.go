package report

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

func TestWrap(t *testing.T) {
	type test struct {
		name, text    string
		width, indent int
		want          string
	}
	testkit.Run(t, []test{
		{"short enough", "a b", 3, 0, "a b"},
		{"empty", "", 3, 0, ""},
		{"between words", "one two three", 7, 2, "one two|  three"},
		{"the blank at the edge goes", "one two", 3, 0, "one|two"},
		{"a name behind its mark", "shop/web-6d4b75cb6d", 9, 0, "shop/web-|6d4b75cb6|d"},
		{"anywhere when there is no mark", "abcdef", 4, 0, "abcd|ef"},
		{"no room", "ab", 0, 5, "a|b"},
		{"blanks at the end go", "ab cd   ", 5, 0, "ab cd"},
		{"blanks at the beginning stay", "    one two", 8, 6, "    one|    two"},
		{"characters, not bytes", "äöü äöü", 3, 0, "äöü|äöü"},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.want, strings.Join(Wrap(c.text, c.width, c.indent), "|"))
	})
}

// A table fits however narrow the terminal is, as long as every column keeps a few characters, and loses nothing with Wrap.
func TestFits(t *testing.T) {
	header := []string{"NAMESPACE", "NAME", "NODE", "MESSAGE"}
	rows := [][]string{{"production-payments", "web-6d4b75cb6d-q6kxd-with-a-long-name", "ip-10-0-0-1.example.com", "0/5 nodes are available: 5 Insufficient cpu."}, {"a", "b", "c", "d"}}
	for width := 60; width < 160; width++ {
		for _, wrap := range []bool{false, true} {
			table, cut := Layout{Width: width, Wrap: wrap}.Columns(header, rows)
			for line := range strings.Lines(table) {
				require.LessOrEqual(t, len([]rune(line))-1, width, table)
			}
			if wrap {
				require.False(t, cut)
				whole, _ := Layout{}.Columns(header, rows)
				letters := func(text string) int {
					return len(strings.Join(strings.Fields(strings.ReplaceAll(text, "MESSAGE", "")), ""))
				}
				require.Equal(t, letters(whole), letters(table), "nothing is lost but a header")
			}
		}
	}
}

// terminal is a writer that is 60 characters wide.
type terminal struct{ strings.Builder }

func (*terminal) Width() int { return 60 }

func TestProgress(t *testing.T) {
	var now time.Time
	clock := func() time.Time { return now }
	at := func(p *Progress, seconds float64, done, total int) {
		now = time.Time{}.Add(time.Duration(seconds * float64(time.Second)))
		p.Step(done, total)
	}
	var file strings.Builder
	p := NewProgress(&file, "failures", "scenarios", clock)
	at(p, 9.9, 10, 100)
	require.Empty(t, file.String())
	at(p, 10, 10, 100)
	at(p, 19, 19, 100)
	at(p, 20, 20, 0)
	p.End()
	require.Equal(t, "failures: 10 of 100 scenarios, 1 a second, 1m30s left\nfailures: 20 scenarios, 1 a second\n", file.String())

	now = time.Time{}
	var screen terminal
	p = NewProgress(&screen, "place", "pods", clock)
	at(p, 0.5, 1, 10)
	require.Empty(t, screen.String(), "quick work shows nothing")
	at(p, 2, 5, 10)
	at(p, 2.1, 6, 10)
	require.Equal(t, "\r\x1b[K[##########..........] 5 of 10 pods, 2 a second, 2s left", screen.String())
	p.End()
	require.True(t, strings.HasSuffix(screen.String(), "\r\x1b[K"), "the bar goes")
	file.Reset()
	NewProgress(&file, "by the clock of the system", "things", nil).Step(1, 2)
	require.Empty(t, file.String())
	(*Progress)(nil).Step(1, 2)
	(*Progress)(nil).End()
}

// A bar has twenty cells. The rate needs something done and some time.
func TestProgressText(t *testing.T) {
	p := &Progress{unit: "pods"}
	for _, c := range []struct {
		done, total int
		took        time.Duration
		want        string
	}{
		{0, 10, time.Second, "0 of 10 pods"}, {1, 10, 0, "1 of 10 pods"}, {1, 0, 0, "1 pods"}, {1, 1, 0, "1 of 1 pods"},
		{1, 0, 1, "1 pods, 1000000000 a second"}, {1, 2, time.Second, "1 of 2 pods, 1 a second, 1s left"}, {2, 2, time.Second, "2 of 2 pods, 2 a second"},
		{4, 6, 8 * time.Second, "4 of 6 pods, 0 a second, 4s left"},
	} {
		require.Equal(t, c.want, p.text(c.done, c.total, c.took))
	}
	for total, want := range map[int]string{0: "1 pods", 1: "[####################] 1 of 1 pods", 2: "[##########..........] 1 of 2 pods"} {
		var out strings.Builder
		p := &Progress{unit: "pods", out: &out, width: 60, now: func() time.Time { return time.Time{} }}
		p.Step(1, total)
		require.Equal(t, "\r\x1b[K"+want, out.String())
	}
}

func TestText(t *testing.T) {
	narrow := Layout{Width: 12, Wrap: true}
	require.Equal(t, "  cause: one two three\n", Layout{}.Text("  cause: ", "one two three"))
	require.Equal(t, "  cause: one\n         two\n", narrow.Text("  cause: ", "one two"))
	require.Equal(t, "one two\n  three four\n", narrow.Text("", "one two three four"))
	require.Equal(t, "one\\a\n", narrow.Text("", "one\a"))
}
