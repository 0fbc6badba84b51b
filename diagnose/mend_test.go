package diagnose

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// What a pod most likely means by a label that no node has. The mended pod is placed, and only the requirement with the mistake changes.
func TestMend(t *testing.T) {
	requires := func(key, value string) *v1.Pod {
		p := testkit.Pod("p").Owner("apps/v1", "StatefulSet", "db").Obj()
		p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{
			{MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}}}}}}}}
		return p
	}
	const first = "StatefulSet default/db: did you mean topology.kubernetes.io/zone=a? (spec.template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0] has failure-domain.beta.kubernetes.io/zone=a)"
	type test struct {
		name, why string
		pod       *v1.Pod
		want      string // the first relaxation; "" for none that mends
	}
	testkit.Run(t, []test{
		{"value", "capitals differ", testkit.Pod("p").NodeSelector("disk=SSD").Obj(), "Pod default/p, made again: did you mean disk=ssd? (spec.nodeSelector[disk] has disk=SSD)"},
		{"nearest value", "one letter is nearer than two", testkit.Pod("p").NodeSelector("size=largge").Obj(), "Pod default/p, made again: did you mean size=large? (spec.nodeSelector[size] has size=largge)"},
		{"key", "the same but for a mark", testkit.Pod("p").NodeSelector("si-ze=large").Obj(), "Pod default/p, made again: did you mean size=large? (spec.nodeSelector[si-ze] has si-ze=large)"},
		{"key and value", "both look alike", testkit.Pod("p").NodeSelector("si-ze=LARGE").Obj(), "Pod default/p, made again: did you mean size=large? (spec.nodeSelector[si-ze] has si-ze=LARGE)"},
		{"empty", "true is not the empty value", testkit.Pod("p").NodeSelector("gpu=").Obj(), "Pod default/p, made again: did you mean gpu=true? (spec.nodeSelector[gpu] has gpu=\"\")"},
		{"renamed", "a label with a new name, in node affinity", requires(v1.LabelFailureDomainBetaZone, "a"), first},
		{"another value", "nothing looks like it", testkit.Pod("p").NodeSelector("disk=tape").Obj(), ""},
		{"another key", "nothing looks like it", testkit.Pod("p").NodeSelector("colour=blue").Obj(), ""},
		{"a label that a node has", "no mistake is known", testkit.Pod("p").NodeSelector("disk=ssd").Request("cpu=9").Obj(), ""},
		{"the key is taken", "the pod wants both keys: mending one would drop the other wish", testkit.Pod("p").NodeSelector("si-ze=large").NodeSelector("size=large").Obj(), ""},
	}, func(t *testing.T, c test) {
		s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{
			testkit.Node("n1").Zone("a").Label("disk", "ssd").Label("size", "larger").Label("gpu", "true").Capacity("cpu=4").Obj(),
			testkit.Node("n2").Zone("b").Label("disk", "hdd").Label("size", "large").Capacity("cpu=4").Obj(),
		}})
		require.NoError(t, err)
		d, err := Relax(Input{Snapshot: s}, c.pod, Options{})
		require.NoError(t, err)
		if c.want == "" {
			for _, x := range d.Changes {
				require.NotEqual(t, Mend, x.Kind, x.Text())
			}
			return
		}
		require.NotEmpty(t, d.Relaxations)
		r := d.Relaxations[0]
		require.Equal(t, c.want, r.Text())
		changed, err := Apply(s.Fork(), c.pod, r.Changes...)
		require.NoError(t, err)
		changed.Spec.NodeName = ""
		again, err := Relax(Input{Snapshot: s}, changed, Options{})
		require.NoError(t, err)
		require.Equal(t, r.Node, again.Node)
	})
}

// A toleration that is nearly right says for which pool the pod is meant.
func TestNearlyTolerates(t *testing.T) {
	taint := v1.Taint{Key: "team", Value: "search", Effect: v1.TaintEffectNoExecute}
	for toleration, want := range map[v1.Toleration]bool{
		{Key: "team", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}:                 true,
		{Key: "team", Operator: v1.TolerationOpEqual, Value: "search", Effect: v1.TaintEffectNoSchedule}: true,
		{Key: "team", Value: "Search"}:                              true,
		{Key: "team", Value: "billing"}:                             false,
		{Key: "crew", Value: "search"}:                              false,
		{Key: "", Operator: v1.TolerationOpExists}:                  false,
		{Key: "team", Operator: v1.TolerationOpGt, Value: "search"}: false,
	} {
		require.Equal(t, want, nearlyTolerates(toleration, taint), "%+v", toleration)
	}
}
