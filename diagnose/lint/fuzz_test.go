package lint

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// FuzzCheck holds over random worlds that the manifests do not change, that a second call finds the same, and that with a finding
// of severity error not all replicas get nodes.
func FuzzCheck(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(testkit.RandomBytes(seed, 40))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w := random(testkit.NewBytes(data))
		var all []Finding
		testkit.Unchanged(t, func() {
			var err error
			all, err = Check(w.in)
			require.NoError(t, err)
		}, w.web)
		again, err := Check(w.in)
		require.NoError(t, err)
		require.Equal(t, all, again)
		for _, found := range all {
			if found.Severity == Error && found.Rule != "api-refuses" && !later[found.Rule] && *w.web.Spec.Replicas > 0 && found.Object == "Deployment default/web" {
				require.False(t, placed(t, w), "%s: %s", found.Rule, found.Explanation)
			}
		}
	})
}

// placed reports whether all replicas of web get nodes, one after the other.
func placed(t *testing.T, w *world) bool {
	s, err := cluster.New(*w.objs)
	require.NoError(t, err)
	placer, err := placement.NewPlacer(s, placement.DefaultProfile())
	require.NoError(t, err)
	for i := range *w.web.Spec.Replicas {
		p := &v1.Pod{ObjectMeta: w.web.Spec.Template.ObjectMeta, Spec: w.web.Spec.Template.Spec}
		p = p.DeepCopy()
		p.Namespace, p.Name = "default", "web-"+string(rune('a'+i))
		d := placer.Decide(p, placement.Options{})
		if !d.Placed() {
			return false
		}
		require.NoError(t, placer.Assume(p, d))
	}
	return true
}

func random(b *testkit.Bytes) *world {
	w := newWorld()
	w.objs.Nodes = w.objs.Nodes[:1+b.Below(5)]
	for _, n := range w.objs.Nodes {
		if b.OneIn(4) {
			n.Spec.Taints = testkit.Taints(testkit.Pick(b, "gpu:NoSchedule", "old:NoExecute"))
		}
		n.Spec.Unschedulable = b.OneIn(6)
		if b.OneIn(5) {
			delete(n.Labels, zone)
		}
	}
	w.replicas(int32(b.Below(9)))
	key := func() string { return testkit.Pick(b, zone, host, "rack") }
	if b.OneIn(3) {
		w.pod.NodeSelector = map[string]string{zone: testkit.Pick(b, "a", "b", "d")}
	}
	if b.OneIn(3) {
		w.require(term(zone, testkit.Pick(b, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn), testkit.Pick(b, "a", "b", "d")))
	}
	if b.OneIn(3) {
		w.with(key(), testkit.Pick(b, "web", "db"))
	}
	if b.OneIn(3) {
		w.apart(key(), testkit.Pick(b, "web", "db"))
	}
	for range b.Below(3) {
		t := w.spread(int32(1+b.Below(2)), key(), testkit.Pick(b, v1.DoNotSchedule, v1.ScheduleAnyway), testkit.Pick(b, "web", "db"))
		if b.OneIn(3) {
			t.NodeTaintsPolicy = ptr(v1.NodeInclusionPolicyHonor)
		}
		if b.OneIn(3) {
			t.NodeAffinityPolicy = ptr(v1.NodeInclusionPolicyIgnore)
		}
		if b.OneIn(3) && t.WhenUnsatisfiable == v1.DoNotSchedule {
			t.MinDomains = ptr(int32(1 + b.Below(5)))
		}
	}
	if b.OneIn(4) {
		w.request("cpu", testkit.Pick(b, "1", "3", "5"))
	}
	if b.OneIn(6) {
		w.port(80)
	}
	if b.OneIn(6) {
		w.mount("data")
		if b.OneIn(2) {
			w.claim("data", v1.ReadWriteOncePod)
		}
	}
	if b.OneIn(5) {
		w.request("example.com/gpu", "1")
		if b.OneIn(2) {
			w.offer("example.com/gpu", testkit.Pick(b, "0", "2"))
		}
	}
	return w
}
