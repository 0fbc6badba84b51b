package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

func TestShortNodes(t *testing.T) {
	type test struct {
		name, note string
		nodes      []string
		want       []string
	}
	testkit.Run(t, []test{
		{"a common ending", "Names of nodes are without .eu-west-1.compute.internal.\n",
			[]string{"ip-10-0-0-1.eu-west-1.compute.internal", "ip-10-0-0-2.eu-west-1.compute.internal", "edge"}, []string{"ip-10-0-0-1", "ip-10-0-0-2", "edge"}},
		{"an ending of one node stays", "", []string{"a.example.com", "b.example.org"}, []string{"a.example.com", "b.example.org"}},
		{"what would be the name of two nodes stays", "Names of nodes are without .x, .y.\n", []string{"a.x", "b.x", "a.y", "c.y"}, []string{"a.x", "b", "a.y", "c"}},
		{"what is the name of another node stays", "Names of nodes are without .x.\n", []string{"a.x", "a", "b.x"}, []string{"a.x", "a", "b"}},
		{"addresses stay", "", []string{"10.0.0.1", "11.0.0.1"}, []string{"10.0.0.1", "11.0.0.1"}},
		{"no points", "", []string{"n1", "n2"}, []string{"n1", "n2"}},
	}, func(t *testing.T, c test) {
		n := ShortNodes(c.nodes)
		require.Equal(t, c.want, n.All(c.nodes), c.name)
		require.Equal(t, c.note, n.Note(), c.name)
	})
	n := ShortNodes([]string{"ip-1.eu.internal", "ip-2.eu.internal"})
	require.Equal(t, "ip-1 is nearest with 1.5 of 4 cpu: not ip-2, ip-10.eu.internal", n.In("ip-1.eu.internal is nearest with 1.5 of 4 cpu: not ip-2.eu.internal, ip-10.eu.internal"))
	require.Equal(t, "a.x", ((*Nodes)(nil)).Of("a.x"))
	require.Equal(t, "a.x", ((*Nodes)(nil)).In("a.x"))
	require.Empty(t, ((*Nodes)(nil)).Note())
}

func TestFew(t *testing.T) {
	require.Equal(t, "-", Few(nil))
	require.Equal(t, "a,b,c", Few([]string{"a", "b", "c"}))
	require.Equal(t, "a,b,c and 2 more", Few([]string{"a", "b", "c", "d", "e"}))
}

func TestShortAmounts(t *testing.T) {
	for text, want := range map[string]string{
		"2062100m": "2062", "99950m": "99.9", "100m": "100m", "1500m": "1500m", "10000m": "10", "12345m": "12.3", "-45100m": "-45.1", "4": "4", "30.5Gi": "30.5Gi",
		"1234567890": "1.1Gi", "many things": "many things", "abcdefm": "abcdefm",
	} {
		require.Equal(t, want, Short(text), text)
	}
}
