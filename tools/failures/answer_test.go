package failures

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/tools/program"
)

// Every scenario is played once, whatever the number of workers, and the progress counts them over all calls.
func TestParallel(t *testing.T) {
	for _, workers := range []int{0, 1, 2, 7} {
		for _, n := range []int{0, 1, 5} {
			played := make([]atomic.Int32, n)
			w := newWorkers(workers, nil)
			w.each(n, func(i int) { played[i].Add(1) })
			w.each(1, func(int) {})
			require.EqualValues(t, n+1, w.done.Load())
			for i := range played {
				require.EqualValues(t, 1, played[i].Load())
			}
		}
	}
}

// Of many scenarios those without harm are counted in one line; few are all in the table.
func TestHarmlessScenarios(t *testing.T) {
	for _, n := range []int{fewScenarios, fewScenarios + 1} {
		a := &failureReport{}
		for k := range n {
			a.Scenarios = append(a.Scenarios, scenario{})
			a.Scenarios[k].Name = fmt.Sprint("s", k)
		}
		a.Scenarios[0].Pending, a.Scenarios[1].Waiting, a.Scenarios[2].Displaced = 1, 1, 1
		var out strings.Builder
		a.table(&out, program.Tables{})
		rows := strings.Count(out.String(), "\ns")
		if n == fewScenarios {
			require.Equal(t, n, rows)
			require.NotContains(t, out.String(), "more scenario")
		} else {
			require.Equal(t, 3, rows)
			require.Contains(t, out.String(), fmt.Sprintf("%d more scenarios, in which no pod stays pending or is displaced\n", n-3))
		}
	}
	require.Equal(t, []string{"", "a", ""}, []string{namespaceOf("x"), namespaceOf("a/b/c"), namespaceOf("")})
}

// terminal is 60 characters wide.
type terminal struct{ strings.Builder }

func (*terminal) Width() int { return 60 }

// The tables fit the terminal.
func TestTerminal(t *testing.T) {
	var out terminal
	require.Zero(t, Run(t.Context(), []string{"-f", shipped}, nil, &out, &strings.Builder{}))
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, len([]rune(line))-1, 100)
	}
	var wide strings.Builder
	require.Zero(t, Run(t.Context(), []string{"-f", shipped}, nil, &wide, &strings.Builder{}))
	require.NotEqual(t, wide.String(), out.String())
}
