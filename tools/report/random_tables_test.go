package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// Random tables in terminals of every width are in testdata/tables.txt.
func TestRandomTables(t *testing.T) {
	words := strings.Fields("a n1 web db-0 default kube-system shop/web-6d4b75cb6d-q6kxd 0/3 nodes are available: Insufficient cpu. node(s) had (untolerated) äöü€ gpu.example.com/h100=8 p=1;q=2")
	var out strings.Builder
	for seed := range uint64(48) {
		b := testkit.NewBytes(testkit.RandomBytes(seed, 500))
		text := func(most int) string {
			var cell []string
			for range b.Below(most + 1) {
				cell = append(cell, testkit.Pick(b, words...))
			}
			return strings.Join(cell, " ")
		}
		columns := 1 + b.Below(6)
		header := make([]string, columns)
		for k := range header {
			header[k] = strings.ToUpper(testkit.Pick(b, words...))
		}
		rows := make([][]string, 1+b.Below(3))
		for n := range rows {
			for k := range columns - b.Below(2)*b.Below(2) {
				rows[n] = append(rows[n], text(testkit.Pick(b, 1, 1, 3)*(1+k/max(1, columns-1)*testkit.Pick(b, 0, 1, 4))))
			}
		}
		l := Layout{NoHeaders: b.OneIn(4), Width: 8 + b.Below(90), Wrap: b.OneIn(2)}
		table, cut := l.Columns(header, rows)
		fmt.Fprintf(&out, "%d characters, wrapped %v, cut %v\n%s\n", l.Width, l.Wrap, cut, table)
	}
	testkit.Golden(t, "testdata/tables.txt", out.String())
}

// A section has its title and is apart from what stands above it.
func TestSection(t *testing.T) {
	var out strings.Builder
	Layout{}.Section(&out, "none", []string{"A"}, nil)
	require.Empty(t, out.String())
	Layout{}.Section(&out, "", []string{"A"}, [][]string{{"1"}})
	Layout{NoHeaders: true}.Section(&out, "second", []string{"B"}, [][]string{{"2"}})
	require.Equal(t, "A\n1\n\nsecond\n2\n", out.String())
	out.Reset()
	out.WriteString("\n")
	Layout{}.Section(&out, "below an empty line", []string{"C"}, [][]string{{"3"}})
	require.Equal(t, "\n\nbelow an empty line\nC\n3\n", out.String())
}

// A text is broken into as many characters as there is room for: at a blank, else behind a mark in the last two thirds.
func TestBreaks(t *testing.T) {
	for _, c := range []struct {
		text   string
		room   int
		before string
	}{
		{"abc def", 3, "abc"}, {"abc def", 4, "abc"}, {"abcdef ghi", 5, "abcde"}, {"a/cdef", 3, "a/"}, {"ab/def", 3, "ab/"}, {"a/cdefghi", 6, "a/cdef"}, {"ab/defghi", 6, "ab/"}, {"abc/efghi", 6, "abc/"},
		{"abcde/ghi", 6, "abcde/"}, {"abcdef/hi", 6, "abcdef"}, {"  abc", 2, "  "}, {"  abc de", 5, "  abc"}, {" abcdef", 3, " ab"}, {"ab", 0, "a"}, {"   ", 2, "  "}, {"a b", 1, "a"},
	} {
		require.Equal(t, c.before, c.text[:breakAt([]rune(c.text), c.room)], "%q in %d", c.text, c.room)
	}
	require.Equal(t, []string{"abcd", "  ef", "  gh", "  i"}, Wrap("abcdefghi", 4, 9), "half of the width is text")
	require.Equal(t, []string{"abcd", "efgh"}, Wrap("abcdefgh", 4, -1))
}

// A bar is full when the work is done and has no cells when nobody knows how much there is. It is no longer than the terminal.
func TestBars(t *testing.T) {
	now := time.Time{}
	step := func(done, total, width int) string {
		screen := &someWidth{width: width}
		now = time.Time{}
		p := NewProgress(screen, "place", "pods", func() time.Time { return now })
		now = now.Add(time.Second)
		p.Step(done, total)
		return strings.TrimPrefix(screen.String(), "\r\x1b[K")
	}
	require.Equal(t, "[....................] 0 of 40 pods", step(0, 40, 80))
	require.Equal(t, "[....................] 1 of 40 pods, 1 a second, 39s left", step(1, 40, 80))
	require.Equal(t, "[#...................] 2 of 40 pods, 2 a second, 19s left", step(2, 40, 80))
	require.Equal(t, "[####################] 40 of 40 pods, 40 a second", step(40, 40, 80))
	require.Equal(t, "[####################] 50 of 40 pods, 50 a second", step(50, 40, 80))
	require.Equal(t, "7 pods, 7 a second", step(7, 0, 80))
	require.Equal(t, "[##########..........] 1 ", step(1, 2, 26))
	now = time.Time{}
	screen := &someWidth{width: 80}
	p := NewProgress(screen, "place", "pods", func() time.Time { return now })
	p.Step(1, 2)
	p.End()
	require.Empty(t, screen.String(), "nothing was drawn")
	now = now.Add(time.Second)
	p.Step(1, 2)
	drawn := screen.Len()
	now = now.Add(frames - 1)
	p.Step(2, 2)
	require.Equal(t, drawn, screen.Len())
	now = now.Add(1)
	p.Step(2, 2)
	require.Greater(t, screen.Len(), drawn)
	p.End()
	p.End()
	require.Equal(t, 3, strings.Count(screen.String(), "\r\x1b[K"), "two bars, and one end")
	require.Equal(t, "5 of 9 x", (&Progress{unit: "x"}).text(5, 9, 0))
}

// someWidth is a terminal of some width.
type someWidth struct {
	strings.Builder
	width int
}

func (s *someWidth) Width() int { return s.width }

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

var errBroken = fmt.Errorf("the pipe is broken")

func TestPrintFails(t *testing.T) {
	require.ErrorIs(t, Print([]byte("x"), Warnings{}, broken{}, broken{}), errBroken)
}

// Texts of more than eight characters are rounded to tenths.
func TestShort(t *testing.T) {
	for text, want := range map[string]string{"12345678": "12345678", "123456789": "0.1Gi", "1073741824": "1Gi", "1610612736": "1.5Gi", "107374182400": "100Gi", "longer than a quantity": "longer than a quantity"} {
		require.Equal(t, want, Short(text))
	}
}
