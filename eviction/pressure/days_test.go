package pressure_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/eviction/pressure"
	"github.com/podberth/podberth/internal/nodeday"
)

func TestDays(t *testing.T) {
	text, err := os.ReadFile("testdata/days.txt")
	require.NoError(t, err)
	days, err := nodeday.Parse(string(text))
	require.NoError(t, err)
	require.Greater(t, len(days), 10)
	for _, d := range days {
		t.Run(d.Name, func(t *testing.T) {
			policy, state := compile(t, d.Config, pressure.Options{}), pressure.State{}
			for _, s := range d.Steps {
				next, dec := policy.Observe(state, d.Observation(s, epoch), epoch.Add(s.At))
				require.Equal(t, next.Conditions, dec.Conditions)
				require.Equal(t, s.Want, nodeday.Of(dec).String(), s.Line)
				state = stored(t, next)
			}
		})
	}
}

// stored sends a state through JSON, as a program that keeps it in a file does.
func stored(t *testing.T, s pressure.State) (out pressure.State) {
	t.Helper()
	b, err := json.Marshal(s)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &out))
	return out
}
