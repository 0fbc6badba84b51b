package testkit

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	type test struct {
		name, why string
		cases     []struct{ name, why string }
		want      string
	}
	ran := 0
	Run(t, []test{
		{"good", "every case has a name of its own and a reason", []struct{ name, why string }{{"a", "x"}, {"b", "x"}}, ""},
		{"empty", "a table without cases tests nothing", nil, "the table has no cases"},
		{"no name", "a failure must say which case it is", []struct{ name, why string }{{"", "x"}}, "a case has no name"},
		{"twice", "tables of rules name a test by its case", []struct{ name, why string }{{"a", "x"}, {"a", "y"}}, "two cases are called a"},
		{"no reason", "a reader must know why the answer is right", []struct{ name, why string }{{"a", ""}}, "case a has no reason"},
	}, func(t *testing.T, c test) {
		ran++
		_, _, got := labels(c.cases)
		require.Equal(t, c.want, got)
	})
	require.Equal(t, 5, ran)
	_, _, got := labels([]struct{ name string }{{"a"}})
	require.Equal(t, "a case is a struct with the string fields name and why", got)
}
