package resources

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHuman(t *testing.T) {
	for _, c := range []struct {
		resource    string
		n           int64
		human, more string
	}{
		{"cpu", 0, "0", "0"},
		{"cpu", 7820, "7820m", "7820m"},
		{"cpu", -2000, "-2", "-2"},
		{"cpu", 5000000, "5000", "5k"},
		{"memory", 2000, "1.95Ki", "2000"},
		{"memory", 1023, "1023", "1023"},
		{"memory", -1023, "-1023", "-1023"},
		{"memory", -1024, "-1Ki", "-1Ki"},
		{"memory", -1025, "-1Ki", "-1025"},
		{"memory", 1023 << 10, "1023Ki", "1023Ki"},
		{"memory", -1023 << 10, "-1023Ki", "-1023Ki"},
		{"memory", -1024 << 10, "-1Mi", "-1Mi"},
		{"storage", 1 << 30, "1Gi", "1Gi"},
		{"memory", math.MinInt64, "-8Ei", "-9223372036854775808"},
		{"memory", 1024, "1Ki", "1Ki"},
		{"memory", 51539607552, "48Gi", "48Gi"},
		{"memory", 7247757312, "6.75Gi", "6912Mi"},
		{"memory", 32749125123, "30.49Gi", "32749125123"},
		{"memory", 1<<30 + 1<<20*11, "1.01Gi", "1035Mi"},
		{"memory", 1<<30 + 1<<20*10, "1Gi", "1034Mi"},
		{"memory", 1<<30 + 1<<19*21, "1.01Gi", "1059328Ki"},
		{"memory", -3 << 29, "-1.5Gi", "-1536Mi"},
		{"ephemeral-storage", math.MaxInt64, "7.99Ei", "9223372036854775807"},
		{"hugepages-2Mi", 64 << 20, "64Mi", "64Mi"},
		{"example.com/gpu", 4096, "4096", "4096"},
	} {
		require.Equal(t, c.human, Human(c.resource, c.n), "%d of %s", c.n, c.resource)
		require.Equal(t, c.more, Exact(c.resource, c.n), "%d of %s", c.n, c.resource)
	}
}
