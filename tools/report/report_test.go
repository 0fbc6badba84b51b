package report

import (
	"flag"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFlag(t *testing.T) {
	var form string
	f := flag.NewFlagSet("x", flag.ContinueOnError)
	Flag(f, &form, "wide")
	require.NoError(t, f.Parse(nil))
	require.Equal(t, "table", form, "unless it is given")
	require.NoError(t, f.Parse([]string{"-o", "wide"}))
	require.NoError(t, Check(form, "wide"))
	require.EqualError(t, Check(form), `-o: Unsupported value: "wide": supported values: table, json, yaml`)
}

func TestQuantities(t *testing.T) {
	require.Equal(t, "9223372036854775808", Amount("cpu", new(big.Int).Lsh(big.NewInt(1), 63)), "beyond int64")
	require.Equal(t, "2", Amount("example.com/gpu", big.NewInt(2)))
	require.Equal(t, "no quantity", Short("no quantity"))
}

func TestRender(t *testing.T) {
	type answer struct {
		Pod string `json:"pod"`
	}
	table := func(out *strings.Builder) {
		out.WriteString(Columns([]string{"POD", "NODE"}, [][]string{{"default/web", ""}, {"db", "n1"}}))
	}
	for form, want := range map[string]string{
		"table": "POD           NODE\ndefault/web\ndb            n1\n",
		"json":  "{\n  \"pod\": \"a\"\n}\n",
		"yaml":  "pod: a\n",
	} {
		got, err := Render(form, answer{"a"}, table)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	_, err := Render("json", func() {}, table)
	require.Error(t, err, "what JSON cannot hold")
}

func TestPrint(t *testing.T) {
	var out, errs strings.Builder
	var two Warnings
	two.Add("one")
	two.Add("two")
	require.NoError(t, Print([]byte("result\n"), two, &out, &errs))
	require.Equal(t, "result\n", out.String())
	require.Equal(t, "warning: one\nwarning: two\n", errs.String())
}

// Warnings about objects that the answer is not about come after it.
func TestPrintAside(t *testing.T) {
	var both strings.Builder
	var w Warnings
	w.Aside("%d pods do not fit", "pod a does not fit")
	w.Add("one")
	w.Aside("%d pods do not fit", "pod b does not fit")
	require.NoError(t, Print([]byte("result\n"), w, &both, &both))
	require.Equal(t, "warning: one\nresult\nwarning: 2 pods do not fit; the first: pod a does not fit (-v lists them)\n", both.String())
	require.Equal(t, []string{"pod a does not fit", "one", "pod b does not fit"}, w.Texts())
}

// Warnings are counted by group, and there are at most twenty lines.
func TestWarningsAreGrouped(t *testing.T) {
	var w Warnings
	w.Group("%d pods on n1 exceed its cpu", "pod web is too large")
	w.Add("alone")
	w.Group("%d pods on n2 exceed its cpu", "pod gpu is too large")
	w.Group("%d pods on n1 exceed its cpu", "pod db is too large")
	require.Equal(t, []string{"2 pods on n1 exceed its cpu; the first: pod web is too large (-v lists them)", "alone", "pod gpu is too large"}, w.Lines())
	all := w
	all.All = true
	require.Equal(t, []string{"pod web is too large", "alone", "pod gpu is too large", "pod db is too large"}, all.Lines())

	var many, twenty Warnings
	for i := range 20 {
		twenty.Add(fmt.Sprint("x", i))
	}
	twenty.Add("x7")
	require.Equal(t, twenty.Texts(), twenty.Lines(), "as many lines as there may be")
	many.Append(twenty)
	many.Add("y")
	require.Len(t, many.Lines(), 20)
	require.Equal(t, "2 more lines are left out; -v prints all 21 warnings", many.Lines()[19])
}

// Warnings that are a value of their own keep those before and All, and what is added to one does not come to the other.
func TestClippedWarnings(t *testing.T) {
	w := Warnings{All: true}
	for _, text := range []string{"a", "b", "c"} { // an array of four
		w.Add(text)
	}
	own := w.Clip()
	own.Add("own")
	w.Add("other")
	require.True(t, own.All)
	require.Equal(t, []string{"a", "b", "c", "own"}, own.Lines())
	require.Equal(t, []string{"a", "b", "c", "other"}, w.Lines())
}
