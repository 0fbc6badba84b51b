package diagnose

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/taints"
)

// compared is a toleration of the taint sla=95 for which the feature gate of comparing operators must be on.
var compared = v1.Toleration{Key: "sla", Operator: v1.TolerationOpGt, Value: "90"}

// A taint that the profile's filter tolerates keeps nobody off: no change lifts it, and no cause and no opening names it.
func TestComparedTaints(t *testing.T) {
	type test struct {
		name, why string
		compares  bool
		changed   bool // a change is about the taint sla
		cause     string
	}
	testkit.Run(t, []test{
		{"off", "the operator tolerates nothing", false, true, "it tolerates sla Gt 90, and n1 has sla=95:NoSchedule (Gt counts with the feature gate TaintTolerationComparisonOperators); n1 is reserved by team=a too"},
		{"on", "95 is more than 90", true, false, "n1 is reserved by team=a"},
	}, func(t *testing.T, c test) {
		n := testkit.Node("n1").Taint("sla=95:NoSchedule").Taint("team=a:NoSchedule").Capacity("cpu=4,pods=9").Obj()
		pod := testkit.Pod("p").Obj()
		pod.Spec.Tolerations = []v1.Toleration{compared}
		s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{n}})
		require.NoError(t, err)
		o := taints.Options{ComparisonOperators: c.compares}
		profile := placement.PluginArgs{Taints: o}.Profile()
		d, err := Relax(Input{Snapshot: s, Profile: profile}, pod, Options{})
		require.NoError(t, err)
		require.Equal(t, c.changed, slices.ContainsFunc(d.Changes, func(c Change) bool {
			return c.Kind == Untaint && c.From == "sla=95:NoSchedule" || c.Kind == Tolerate && c.To == "sla=95:NoSchedule"
		}))
		plan, err := placement.New(s, profile)
		require.NoError(t, err)
		require.Equal(t, c.cause, CauseOf(plan, s, pod).Text)
		one := n.DeepCopy() // a taint of its own that the law lets nobody tolerate
		one.Spec.Taints = []v1.Taint{{Key: "sla", Value: "95", Effect: v1.TaintEffectNoSchedule}}
		require.Equal(t, c.compares, reflect.ValueOf(OpeningOf(pod, one, Around{Nodes: []*v1.Node{one}, Taints: o})).IsZero())
	})
}

// The cause names the feature gate where it is off alone, and the number that is not enough.
func TestGateOfComparedTaints(t *testing.T) {
	type test struct {
		name, why string
		compares  bool
		value     string // of the toleration
		says      string
	}
	const off = "Gt counts with the feature gate TaintTolerationComparisonOperators"
	testkit.Run(t, []test{
		{"off, and enough", "the gate alone is missing", false, "90", " (" + off + ")"},
		{"off, and too much", "the gate is not enough", false, "98", " (" + off + ", and for numbers above 98 alone, which 95 is not)"},
		{"on, and too much", "the gate is on already", true, "98", " (Gt counts for numbers above 98 alone, which 95 is not)"},
		{"on, and no whole number", "the gate is on already", true, "90.5", " (Gt counts for whole numbers alone, which 90.5 is not)"},
	}, func(t *testing.T, c test) {
		pod := testkit.Pod("p").Obj()
		pod.Spec.Tolerations = []v1.Toleration{{Key: "sla", Operator: v1.TolerationOpGt, Value: c.value}}
		s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Taint("sla=95:NoSchedule").Capacity("cpu=4,pods=9").Obj()}})
		require.NoError(t, err)
		plan, err := placement.New(s, placement.PluginArgs{Taints: taints.Options{ComparisonOperators: c.compares}}.Profile())
		require.NoError(t, err)
		require.Equal(t, "it tolerates sla Gt "+c.value+", and n1 has sla=95:NoSchedule"+c.says, CauseOf(plan, s, pod).Text)
	})
}

// A pod that tolerates a NoExecute taint by comparison leaves when the time of its toleration is over.
func TestEndOfComparedTaint(t *testing.T) {
	n, pod := testkit.Node("n").Obj(), testkit.Pod("p").Obj()
	n.Spec.Taints = []v1.Taint{{Key: "sla", Value: "95", Effect: v1.TaintEffectNoExecute, TimeAdded: &metav1.Time{Time: testkit.Epoch}}}
	tolerates := compared
	tolerates.TolerationSeconds = new(int64(20))
	pod.Spec.Tolerations = []v1.Toleration{tolerates}
	at, why := endOf(pod, n, taints.Options{ComparisonOperators: true}, WakeOptions{})
	require.Equal(t, []any{testkit.Epoch.Add(20 * time.Second), "taint"}, []any{at, why})
	_, why = endOf(pod, n, taints.Options{}, WakeOptions{})
	require.Empty(t, why)
}
