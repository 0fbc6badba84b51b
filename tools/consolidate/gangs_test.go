package consolidate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// What cannot be asked about domains and gangs is named.
func TestBadGangs(t *testing.T) {
	type test struct {
		name, why string
		args      []string
		want      string
	}
	testkit.Run(t, []test{
		{"no label", "no node has it", []string{"-free-domains", "rack"}, `-free-domains: Not found: "rack": no node has the label`},
		{"two objectives", "there is one cost", []string{"-free-domains", "example.com/rack", "-defragment", "cpu"}, "-free-domains: Forbidden: with -price-label, -types, -defragment or -why"},
		{"no group", "its object says how many a gang needs", []string{"-gang", "podgroup/gone"}, `-gang: Not found: "podgroup/default/gone": no PodGroup of the input`},
		{"another namespace", "the name has it", []string{"-gang", "podgroup/other/train"}, `-gang: Not found: "podgroup/other/train": no PodGroup of the input`},
		{"no groups", "the gate is off", []string{"-gang", "train", "-feature-gates", "GenericWorkload=false"}, "-gang: Forbidden: without the feature gate GenericWorkload there are no groups"},
		{"why", "the answer is about one node", []string{"-gang", "train", "-why", "n1"}, "-gang: Forbidden: with -why"},
	}, func(t *testing.T, c test) {
		code, out, errs := planning("", append([]string{"-f", "testdata/racks.yaml"}, c.args...)...)
		require.Equal(t, 2, code)
		require.Empty(t, out)
		require.Contains(t, errs, c.want)
	})
}
