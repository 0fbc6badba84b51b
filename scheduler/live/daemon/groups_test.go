package daemon

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/scheduler/live/feed"
)

// deploy/groups.yaml allows what groups need, and nothing else.
func TestRulesOfGroups(t *testing.T) {
	text, err := os.ReadFile("../deploy/groups.yaml")
	require.NoError(t, err)
	role := &rbacv1.ClusterRole{}
	first, _, _ := bytes.Cut(text, []byte("\n---\n"))
	require.NoError(t, yaml.UnmarshalStrict(first, role))
	var allowed []string
	for _, rule := range role.Rules {
		for _, resource := range rule.Resources {
			name, sub, _ := strings.Cut(resource, "/")
			for _, verb := range rule.Verbs {
				allowed = append(allowed, strings.TrimSuffix(verb+" "+name+"."+rule.APIGroups[0]+"/"+sub, "/"))
			}
		}
	}
	without := sentences(needs(nil, nil, nil))
	needed := slices.DeleteFunc(sentences(needs(nil, feed.GroupKinds(&podgroup.Gates{Composites: true}), nil)), func(s string) bool { return slices.Contains(without, s) })
	require.ElementsMatch(t, needed, allowed)
}
