package lint

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/cluster"
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

// What lets a gang begin that needs four pods where there are two: pods of their own, or replicas.
func TestMinimumFix(t *testing.T) {
	require.Equal(t, "minCount 2 in the PodGroup or more pods", minimumFix(&work{kind: "Pod", replicas: 1}, 4, 2))
	require.Equal(t, "minCount 2 in the PodGroup or replicas: 4", minimumFix(&work{kind: "Deployment", replicas: 2}, 4, 2))
}

// A workload whose pods name a node by its hostname cannot use one node more.
func TestTakesTwin(t *testing.T) {
	w := newWorld()
	for _, n := range w.objs.Nodes {
		n.Labels[host] = n.Name
	}
	all := checkerOf(t, w)
	require.True(t, all.takesTwin(all.works[0]))
	w.pod.NodeSelector = map[string]string{host: "n1"}
	all = checkerOf(t, w)
	require.False(t, all.takesTwin(all.works[0]))
	require.Equal(t, "n1", w.objs.Nodes[0].Labels[host])
}

// What the caller gave stays as it is: an amount that no int64 holds, and a list of errors.
func TestGivenStays(t *testing.T) {
	w := newWorld()
	all := checkerOf(t, w)
	all.works[0].pod.Spec.Overhead = v1.ResourceList{"cpu": resource.MustParse("1")}
	huge := resource.MustParse("123456789012345678901")
	all.withAmount(all.works[0], "cpu", huge)
	require.Zero(t, huge.Cmp(resource.MustParse("123456789012345678901")))

	errs := field.ErrorList{nil, field.Required(field.NewPath("spec"), ""), nil}
	all.rule = &Rule{}
	all.refusals(errs)
	require.Nil(t, errs[0])
	require.Equal(t, "spec", errs[1].Field)
}

// New pods get the defaults of the LimitRanges of the manifests. A manifest's StorageClass stands for that of the cluster with its name.
func TestManifestsCount(t *testing.T) {
	named := metav1.ObjectMeta{Namespace: "default", Name: "fast"}
	c := &checker{in: Input{
		LimitRanges:    []*v1.LimitRange{{ObjectMeta: named}},
		StorageClasses: []*storagev1.StorageClass{{ObjectMeta: named, Provisioner: "new"}},
		Cluster:        &cluster.Objects{StorageClasses: []*storagev1.StorageClass{{ObjectMeta: named, Provisioner: "old"}}},
	}}
	require.Equal(t, c.in.LimitRanges, c.admission().LimitRanges)
	list := c.storageClasses()
	require.Len(t, list, 1)
	require.Equal(t, "new", list[0].Provisioner)
}
