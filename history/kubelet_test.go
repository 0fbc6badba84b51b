package history_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/history"
)

func TestReplacedKubeletFlags(t *testing.T) {
	flags := history.ReplacedKubeletFlags()
	require.Len(t, flags, 5)
	require.True(t, strings.HasPrefix(flags["--image-gc-high-threshold"], "--eviction-hard or --eviction-soft: "))
	require.True(t, strings.HasPrefix(flags["--image-gc-low-threshold"], "--eviction-minimum-reclaim: "))
	for _, flag := range []string{"--maximum-dead-containers", "--maximum-dead-containers-per-container", "--minimum-container-ttl-duration"} {
		require.Contains(t, flags[flag], "no replacement")
	}
}

func ExampleReplacedKubeletFlags() {
	flags := history.ReplacedKubeletFlags()
	for _, flag := range slices.Sorted(maps.Keys(flags))[:2] {
		replacement, _, _ := strings.Cut(flags[flag], ":")
		fmt.Println(flag, "is now", replacement)
	}
	// Output:
	// --image-gc-high-threshold is now --eviction-hard or --eviction-soft
	// --image-gc-low-threshold is now --eviction-minimum-reclaim
}
