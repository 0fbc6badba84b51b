package profile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/profile"
)

const head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "scheduler.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// The first profile of a file decides, about every node and with a compiler of selectors. The rest becomes warnings.
func TestOfFile(t *testing.T) {
	file := write(t, head+`percentageOfNodesToScore: 5
extenders: [{urlPrefix: "http://x"}, {urlPrefix: "http://y"}]
profiles:
- {schedulerName: packing, plugins: {score: {disabled: [{name: ImageLocality}, {name: Gone}]}}}
- {schedulerName: second}
- {schedulerName: third}
`)
	p, warnings, err := profile.Of(file, placement.PluginArgs{}, dump.Options{})
	require.NoError(t, err)
	require.Equal(t, "packing", p.SchedulerName)
	require.Equal(t, placement.AllNodes(), p.Sampling)
	require.Equal(t, []string{
		`profile packing: plugins.score.disabled[1].name: Invalid value: "Gone": there is no such plugin, so nothing is disabled`,
		"profile second: is left out: the first profile decides", "profile third: is left out: the first profile decides",
		fmt.Sprintf("2 extenders of %s are not asked", file),
	}, warnings)
	same(t, p, func(name string) bool { return name == "ImageLocality" })
	file = write(t, head+"extenders: [{urlPrefix: 'http://x'}]\n")
	_, warnings, err = profile.Of(file, placement.PluginArgs{}, dump.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{fmt.Sprintf("1 extenders of %s are not asked", file)}, warnings)
	p, warnings, err = profile.Of(write(t, head), placement.PluginArgs{}, dump.Options{})
	require.NoError(t, err)
	require.Empty(t, warnings)
	same(t, p, func(string) bool { return false })
}

// same checks that a profile has the plugins of the default profile, but some scores, and that claims have CEL selectors.
func same(t *testing.T, p placement.Profile, without func(name string) bool) {
	t.Helper()
	var filters, scores, want []string
	compilers := 0
	for _, f := range p.Filters {
		filters = append(filters, f.Name)
		if o, ok := f.Args.(tracker.Options); ok && o.Compiler != nil {
			compilers++
		}
	}
	for _, s := range p.Scores {
		scores = append(scores, s.Name)
		if o, ok := s.Args.(tracker.Options); ok && o.Compiler != nil {
			compilers++
		}
	}
	inScores := 0
	for _, f := range placement.DefaultProfile().Filters {
		want = append(want, f.Name)
	}
	require.Equal(t, want, filters)
	want = nil
	for _, s := range placement.DefaultProfile().Scores {
		if without(s.Name) {
			continue
		}
		want = append(want, s.Name)
		if s.Name == "DynamicResources" {
			inScores++
		}
	}
	require.Equal(t, want, scores)
	require.Equal(t, 1+inScores, compilers)
}

// The error of a file that cannot be read has the flag, that of its contents the file.
func TestFilesThatAreRefused(t *testing.T) {
	_, _, err := profile.Of(filepath.Join(t.TempDir(), "none"), placement.PluginArgs{}, dump.Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "-config: ")
	file := write(t, head+"parallelism: 0\n")
	_, _, err = profile.Of(file, placement.PluginArgs{}, dump.Options{})
	require.EqualError(t, err, file+": parallelism: Invalid value: 0: should be an integer value greater than zero")
}
