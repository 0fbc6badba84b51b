package spread

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

func TestWouldHelp(t *testing.T) {
	running := func(labels string) *v1.Pod {
		p := podOf("running", labels)
		p.Spec.NodeName = "n"
		return p
	}
	with := func(p *v1.Pod, f func(*v1.Pod)) *v1.Pod { f(p); return p }
	self := func(labels string) *v1.Pod { return podOf("mypod", labels) }
	pod := constrained("foo=bar", by("zone", 1, hard), by("rack", 1, hard))
	taints := constrained("foo=bar", by("zone", 1, hard, honourTaints))
	soft := constrained("foo=bar", by("zone", 1, soft))
	node := func(labels string) *v1.Node { return nodeOf("n", labels) }
	taintedNode := tainted("k=v:NoSchedule", withZoneC()).nodes[4]
	taintedAt := func(taint string, hour int) *v1.Node {
		n := node("zone=a,rack=1")
		key, value, _ := strings.Cut(taint, "=")
		at := metav1.Date(2026, time.January, 1, hour, 0, 0, 0, time.UTC)
		n.Spec.Taints = []v1.Taint{{Key: key, Value: value, Effect: v1.TaintEffectNoSchedule, TimeAdded: &at}}
		return n
	}
	evicting := func(n *v1.Node) *v1.Node { n.Spec.Taints[0].Effect = v1.TaintEffectNoExecute; return n }
	type test struct {
		name, why string
		pod       *v1.Pod
		old, new  any
		want      bool
	}
	tests := []test{
		{"assigned pod added", "it matches a selector", pod, nil, running("foo=bar"), true},
		{"nominated pod added", "nominated counts as assigned", pod, nil, with(podOf("q", "foo=bar"), func(p *v1.Pod) { p.Status.NominatedNodeName = "n" }), true},
		{"pending pod added", "not assigned", pod, nil, podOf("q", "foo=bar"), false},
		{"unrelated pod added", "no selector matches", pod, nil, running("x=y"), false},
		{"other namespace", "does not count", pod, nil, with(running("foo=bar"), func(p *v1.Pod) { p.Namespace = "other" }), false},
		{"assigned pod deleted", "its domain has one pod less", pod, running("foo=bar"), nil, true},
		{"unrelated pod deleted", "no selector matches", pod, running("x=y"), nil, false},
		{"pod added for an empty selector", "the empty selector matches", constrained("foo=bar", by("zone", 1, hard, emptySelector)), nil, running("x=y"), true},
		{"pod added for a nil selector", "matches nothing", constrained("foo=bar", by("zone", 1, hard, noSelector)), nil, running("foo=bar"), false},
		{"pod starts to match", "the match flipped", pod, running("x=y"), running("foo=bar"), true},
		{"pod stops matching", "the match flipped", pod, running("foo=bar"), running("x=y"), true},
		{"pod gets its node and starts to match", "the pod after the event counts", pod, podOf("q", "x=y"), running("foo=bar"), true},
		{"pod loses its node and starts to match", "the pod after the event does not count", pod, running("x=y"), podOf("q", "foo=bar"), false},
		{"itself without a new toleration", "nothing changed", taints, self("foo=bar"), self("foo=bar"), false},
		{"labels unchanged", "nothing changed", pod, running("foo=bar"), running("foo=bar"), false},
		{"other label changed", "still matches", pod, running("foo=bar"), running("foo=bar,x=y"), false},
		{"itself relabelled", "its self-match flipped", pod, self("x=y"), self("foo=bar"), true},
		{"itself tolerates and honours taints", "more nodes may count", taints, self("foo=bar"), tolerating(self("foo=bar")), true},
		{"itself tolerates and ignores taints", "inclusion does not look at taints", pod, self("foo=bar"), tolerating(self("foo=bar")), false},
		{"another pod tolerates", "not this pod", taints, running("foo=bar"), tolerating(running("foo=bar")), false},
		{"soft constraints only", "there is no hard constraint", soft, nil, running("foo=bar"), false},
		{"node with all keys added", "a new domain or an empty node", pod, nil, node("zone=a,rack=1"), true},
		{"node lacking a key added", "it does not count", pod, nil, node("zone=a"), false},
		{"node with all keys deleted", "its domain may go", pod, node("zone=a,rack=1"), nil, true},
		{"node lacking a key deleted", "it did not count", pod, node("zone=a"), nil, false},
		{"node gains the last key", "it counts now", pod, node("zone=a"), node("zone=a,rack=1"), true},
		{"node loses a key", "it counts no more", pod, node("zone=a,rack=1"), node("zone=a"), true},
		{"node changes zone", "a topology value changed", pod, node("zone=a,rack=1"), node("zone=b,rack=1"), true},
		{"node changes another label", "no topology value changed", pod, node("zone=a,rack=1"), node("zone=a,rack=1,x=y"), false},
		{"node lacking a key changes", "it did and does not count", pod, node("zone=a"), node("zone=b"), false},
		{"taints change", "whatever the policy", constrained("foo=bar", by("zone", 1, hard)), nodeOf("node5", "zone=zoneC,node=node5"), taintedNode, true},
		{"taint gets another value", "a taint changed", pod, taintedAt("k=v", 1), taintedAt("k=w", 1), true},
		{"taint gets another effect", "a taint changed", pod, taintedAt("k=v", 1), evicting(taintedAt("k=v", 1)), true},
		{"taint is added again", "at another time", pod, taintedAt("k=v", 1), taintedAt("k=v", 2), true},
		{"taints stay", "nothing changed", pod, taintedAt("k=v", 1), taintedAt("k=v", 1), false},
	}
	testkit.Run(t, tests, func(t *testing.T, tc test) {
		got, err := Hint(Options{})(tc.pod, tc.old, tc.new)
		require.NoError(t, err)
		assert.Equal(t, tc.want, got)
	})
	t.Run("default constraints count", func(t *testing.T) {
		o := Options{Owners: service("foo=bar"), Defaults: Defaults{ListDefaulting, []v1.TopologySpreadConstraint{by("zone", 1, hard, noSelector)}}}
		got, err := Hint(o)(podOf("mypod", "foo=bar"), nil, running("foo=bar"))
		require.NoError(t, err)
		assert.True(t, got)
	})
	t.Run("typed nil", func(t *testing.T) {
		got, err := Hint(Options{})(pod, (*v1.Pod)(nil), running("foo=bar"))
		require.NoError(t, err)
		assert.True(t, got)
		got, err = Hint(Options{})(pod, node("zone=a,rack=1"), (*v1.Node)(nil))
		require.NoError(t, err)
		assert.True(t, got)
	})
	t.Run("errors", func(t *testing.T) {
		for _, pair := range [][2]any{{nil, nil}, {pod, node("")}, {"x", nil}, {(*v1.Pod)(nil), nil}} {
			got, err := Hint(Options{})(pod, pair[0], pair[1])
			assert.Error(t, err)
			assert.False(t, got)
		}
		bad := constrained("", by("zone", 1, hard, func(c *v1.TopologySpreadConstraint) {
			c.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Bogus"}}}
		}))
		const text = `obtaining pod's hard topology spread constraints: "Bogus" is not a valid label selector operator`
		got, err := Hint(Options{})(bad, nil, running("foo=bar"))
		assert.EqualError(t, err, text)
		assert.False(t, got)
		got, err = Hint(Options{})(bad, nil, node("zone=a"))
		assert.EqualError(t, err, text)
		assert.False(t, got)
		got, err = Hint(Options{})(bad, nil, podOf("other", "foo=bar"))
		assert.NoError(t, err, "the other pod has no node")
		assert.False(t, got)
	})
}

// A pod that is nominated to a node and has none counts in the hint since v1.36.
func TestHintOfReleases(t *testing.T) {
	pod := podOf("mypod", "foo=bar")
	pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{by("zone", 1, hard)}
	nominated := podOf("q", "foo=bar")
	nominated.Status.NominatedNodeName = "n"
	for _, v := range release.Versions() {
		got, err := Hint(Options{Release: v})(pod, nil, nominated)
		assert.NoError(t, err)
		assert.Equal(t, v.AtLeast(release.V1_36), got, v.String())
	}
}
