package config

import (
	"testing"

	"github.com/stretchr/testify/require"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// What extenders manage is ignored in every profile, and each has a list of its own.
func TestIgnoredResourcesOfTwoProfiles(t *testing.T) {
	c, err := Load([]byte(head + `extenders: [{urlPrefix: "http://x", managedResources: [{name: a.b/x, ignoredByScheduler: true}]}]
profiles: [{schedulerName: one}, {schedulerName: two}]
`))
	require.NoError(t, err)
	fit := func(k int) *configv1.NodeResourcesFitArgs {
		return args[*configv1.NodeResourcesFitArgs](&c.Document.Profiles[k], fitPlugin)
	}
	fit(0).IgnoredResources[0] = "changed"
	require.Equal(t, []string{"a.b/x"}, fit(1).IgnoredResources)
}
