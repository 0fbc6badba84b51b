package drain

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Times of the command line mean what they say, and none is nothing.
func TestTimesOfACommandLine(t *testing.T) {
	parse := func(args string) (options, error) {
		return parseFlags(append([]string{"-f", "x", "n1"}, strings.Fields(args)...), &strings.Builder{})
	}
	o, err := parse("")
	require.NoError(t, err)
	require.Nil(t, o.drain.GracePeriodSeconds)
	require.Zero(t, o.drain.SkipWaitForDelete)
	require.WithinDuration(t, time.Now(), o.at, time.Minute)
	for _, grace := range []string{"0", "1", "30"} {
		o, err = parse("-skip-wait-for-delete-timeout " + grace + " -at 2026-03-02T08:00:00Z -grace-period " + grace)
		require.NoError(t, err)
		require.Equal(t, grace+"s", (time.Duration(*o.drain.GracePeriodSeconds) * time.Second).String())
		require.Equal(t, grace+"s", o.drain.SkipWaitForDelete.String())
		require.Equal(t, time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC), o.at)
	}
	o, err = parse("-grace-period -1")
	require.NoError(t, err)
	require.Nil(t, o.drain.GracePeriodSeconds)
	_, err = parse("-skip-wait-for-delete-timeout -1")
	require.EqualError(t, err, "-skip-wait-for-delete-timeout: Invalid value: -1: must be seconds, not negative")
	for args, want := range map[string]string{
		"-f x -evict a/b -o html": `-o: Unsupported value: "html": does nothing with -evict`,
		"-f x -evict a/b/c":       `-evict: Invalid value: "a/b/c": must be NAMESPACE/NAME`,
		"-f x -evict /b":          `-evict: Invalid value: "/b": must be NAMESPACE/NAME`,
		"-f x -evict a/b n1":      `unexpected argument "n1": -evict is about one pod, not about nodes`,
		"-f x -l a=b no/n1":       `unexpected argument "n1": -l chooses the nodes`,
		"-f x":                    "NODE: Required value: at least one node, or -l",
	} {
		_, err := parseFlags(strings.Fields(args), &strings.Builder{})
		require.EqualError(t, err, want)
	}
}

// terminal is 60 characters wide.
type terminal struct{ strings.Builder }

func (*terminal) Width() int { return 60 }

// Tables are as wide as the terminal.
func TestTerminal(t *testing.T) {
	args := append([]string{"-f", shipped, "node-a1"}, all...)
	var out terminal
	require.Zero(t, Run(t.Context(), args, nil, &out, &strings.Builder{}))
	_, wide, _ := drain("", args...)
	require.NotEqual(t, wide, out.String())
}
