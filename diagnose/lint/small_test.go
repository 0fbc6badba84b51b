package lint

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// A proposed amount is in the units that people write: thousandths of a CPU, mebibytes of memory and of storage, bytes below one mebibyte, and
// the number of everything else.
func TestRounded(t *testing.T) {
	for _, c := range []struct {
		of    v1.ResourceName
		units int64 // with three digits behind the point
		want  string
	}{
		{"cpu", 1500, "1500m"}, {"memory", (3<<20 + 1) * 1000, "3Mi"}, {"ephemeral-storage", (5<<30 + 1) * 1000, "5Gi"}, {"memory", 1025 * 1000, "1025"},
		{"example.com/gpu", (3<<20 + 1) * 1000, "3145729"},
	} {
		q := rounded(c.of, c.units)
		require.Equal(t, c.want, q.String(), c.of)
	}
}

// Pods without a controller are known by their namespace, all of them.
func TestOrphans(t *testing.T) {
	w := newWorld()
	for _, name := range []string{"a", "b", "other/c"} {
		w.objs.Pods = append(w.objs.Pods, testkit.Pod(name).On("n1").Obj())
	}
	m := newMaking(checkerOf(t, w))
	require.Equal(t, map[string][]*v1.Pod{"default": w.objs.Pods[:2], "other": w.objs.Pods[2:]}, m.orphans)
}

// A term that wants one node by two names meets no node, because of one requirement too many. The manifest keeps both.
func TestOneTooManyKeepsTheTerm(t *testing.T) {
	named := func(name string) v1.NodeSelectorRequirement {
		return v1.NodeSelectorRequirement{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{name}}
	}
	term := v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{named("n1"), named("n2")}}
	before := term.DeepCopy()
	require.True(t, oneTooMany(nil, term))
	require.Equal(t, *before, term)
}

// The pod that a rollout makes is one as the server stores it, not as the manifest writes it.
func TestNextPod(t *testing.T) {
	stored := testkit.Pod("p").Request("cpu=1").Priority(7).Obj()
	pod := next(&work{pod: stored, given: testkit.Pod("p").Obj()})
	require.Equal(t, stored.Spec, pod.Spec)
	require.Equal(t, "p-rollout", pod.Name)
	require.Equal(t, "p", stored.Name)
}

// The claim of an ephemeral volume is one that the pods need.
func TestEphemeralClaimNeedsAClass(t *testing.T) {
	w, class := newWorld(), "gone"
	w.pod.Volumes = []v1.Volume{{Name: "scratch", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{
		VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{Spec: v1.PersistentVolumeClaimSpec{StorageClassName: &class}},
	}}}}
	all := checkerOf(t, w)
	asked := all.askedOf(all.works[0])
	require.Len(t, asked, 1)
	require.Equal(t, "scratch", asked[0].name)
	require.Equal(t, "spec.template.spec.volumes[0].ephemeral.volumeClaimTemplate.spec", asked[0].path)
	require.Equal(t, class, *asked[0].spec.StorageClassName)
}
