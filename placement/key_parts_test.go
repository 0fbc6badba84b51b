package placement

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The parts of a key are the key, one after the other.
func TestKeyParts(t *testing.T) {
	found := map[string]int{}
	for _, w := range DefaultProfile().Scores {
		p := w.Plugin
		for _, x := range p.KeyParts {
			found[x.Name]++
		}
		for name, pod := range keyPods() {
			var joined []byte
			for _, x := range p.KeyParts {
				joined = x.Append(joined, pod)
			}
			if p.KeyParts != nil {
				require.Equal(t, p.AppendKey(nil, pod), joined, "%s of %s", p.Name, name)
			}
		}
	}
	require.Equal(t, map[string]int{"labels": 2, "constraints": 1, "terms": 1, "node affinity": 1, "tolerations": 1}, found)
}
