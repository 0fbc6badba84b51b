package pressure_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/eviction/pressure"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/testkit/nodeday"
)

func TestDays(t *testing.T) {
	text, err := os.ReadFile("testdata/days.txt")
	require.NoError(t, err)
	days, err := nodeday.Parse(string(text))
	require.NoError(t, err)
	require.Greater(t, len(days), 10)
	for _, d := range days {
		t.Run(d.Name, func(t *testing.T) {
			policy, state := compiled(t, d.Config), pressure.State{}
			for _, s := range d.Steps {
				next, dec := policy.Observe(state, d.Observation(s, testkit.Epoch), testkit.Epoch.Add(s.At))
				require.Equal(t, next.Conditions, dec.Conditions)
				require.Equal(t, s.Want, nodeday.Of(dec).String(), s.Line)
				state = restored(t, next)
			}
		})
	}
}

func compiled(t *testing.T, c pressure.Config) *pressure.Policy {
	t.Helper()
	p, err := pressure.Compile(c, pressure.Options{})
	require.NoError(t, err)
	return p
}

// restored converts a state to JSON and back, as a program does that keeps the state in a file.
func restored(t *testing.T, s pressure.State) (out pressure.State) {
	t.Helper()
	b, err := json.Marshal(s)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &out))
	return out
}
