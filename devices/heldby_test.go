package devices

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestText(t *testing.T) {
	claims := []string{"ml/a", "ml/b in flight", "ml/c", "ml/d", "ml/e"}
	require.Empty(t, holderText(nil))
	require.Equal(t, " (held by claim ml/a)", holderText(claims[:1]))
	require.Equal(t, " (held by claims ml/a, ml/b in flight, ml/c)", holderText(claims[:3]))
	require.Equal(t, " (held by claims ml/a, ml/b in flight, ml/c and 1 more)", holderText(claims[:4]))
	require.Equal(t, " (held by claims ml/a, ml/b in flight, ml/c and 2 more)", holderText(claims))
}

// Without takes out every text and leaves other parentheses.
func TestWithout(t *testing.T) {
	one, many := holderText([]string{"ml/a"}), holderText([]string{"ml/a", "ml/b", "ml/c", "ml/d"})
	require.Equal(t, "2 fail; 1 fails (later)", WithoutHolders("2 fail"+many+"; 1 fails"+one+" (later)"))
	for _, text := range []string{"", "2 fail", "2 fail (held by nobody)", "2 fail (held by claims", "2 fail (held by claims of others"} {
		require.Equal(t, text, WithoutHolders(text))
	}
}
