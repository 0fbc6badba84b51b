package placement

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/key"
)

// The parts of a key are the key, one after the other.
func TestKeyParts(t *testing.T) {
	found := map[string]int{}
	for _, w := range DefaultProfile().Scores {
		p := w.Plugin
		parts := p.keyParts.of(p)
		for _, x := range parts {
			found[x.Name]++
		}
		for name, pod := range keyPods() {
			var joined []byte
			for _, x := range parts {
				joined = x.Append(joined, pod)
			}
			if parts != nil {
				require.Equal(t, p.AppendKey(nil, pod), joined, "%s of %s", p.Name, name)
			}
		}
		changed := *p
		changed.AppendKey = key.Labels
		require.Nil(t, changed.keyParts.of(&changed), "the plugin has another key now")
	}
	require.Equal(t, map[string]int{"labels": 2, "constraints": 1, "terms": 1, "node affinity": 1, "tolerations": 1}, found)
}
