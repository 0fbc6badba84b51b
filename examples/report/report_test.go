package report

import (
	"flag"
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
	require.NoError(t, Print([]byte("result\n"), []string{"one", "two"}, &out, &errs))
	require.Equal(t, "result\n", out.String())
	require.Equal(t, "warning: one\nwarning: two\n", errs.String())
}
