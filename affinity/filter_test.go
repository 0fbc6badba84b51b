package affinity_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// tableWorld has n1{zone=a,rack=r1,h=n1} n2{zone=a,rack=r2,h=n2} n3{zone=b,rack=r3,h=n3} n4{} and namespaces d and o.
func tableWorld() *world {
	return newWorld(node("n1", "zone=a,rack=r1,h=n1"), node("n2", "zone=a,rack=r2,h=n2"),
		node("n3", "zone=b,rack=r3,h=n3"), node("n4", "")).namespace("d", "").namespace("o", "")
}

func terminating(p *v1.Pod) *v1.Pod {
	p.DeletionTimestamp = &metav1.Time{}
	return p
}

// The terms that select a pod: required affinity and required anti-affinity each by their own number; preferred terms are neither.
func TestSelected(t *testing.T) {
	e, err := affinity.CompileFull(pod("d", "", "aff zone app=x", "anti zone app=y", "anti zone app=z", "panti 5 zone app=z"), affinity.PodOptions{})
	require.NoError(t, err)
	type test struct {
		name, why      string
		pod            *v1.Pod
		affinity, anti []int
	}
	testkit.Run(t, []test{
		{"near", "the affinity selects it", pod("d", "app=x"), []int{0}, nil},
		{"apart", "the second anti-affinity selects it", pod("d", "app=z"), nil, []int{1}},
		{"neither", "no term selects it", pod("d", "app=w"), nil, nil},
		{"elsewhere", "the terms mean the pod's own namespace", pod("o", "app=x"), nil, nil},
	}, func(t *testing.T, c test) {
		near, apart := e.Counted(tableWorld()).Selected(c.pod)
		require.Equal(t, c.affinity, near, c.why)
		require.Equal(t, c.anti, apart, c.why)
	})
}

func TestPodAffinityFilter(t *testing.T) {
	const (
		allAffinity = "n1:affinity n2:affinity n3:affinity n4:affinity"
		firstPod    = "n1:ok n2:ok n3:ok n4:affinity"
		allOK       = "n1:ok n2:ok n3:ok n4:ok"
	)
	x := func() *v1.Pod { return pod("d", "app=x") }
	w := tableWorld
	type c struct {
		name, why string
		world     *world
		pod       *v1.Pod
		want      string
	}
	eXP := pod("d", "app=x", "anti zone app=p")
	testkit.Run(t, []c{
		{"A-60", "the first pod of a group goes wherever the key is", w(), pod("d", "app=x", "aff zone app=x"), firstPod},
		{"A-61", "a pod that does not match its own term is never first", w(), pod("d", "app=y", "aff zone app=x"), allAffinity},
		{"A-62", "a pod on a node without the key is not counted", w().run("n4", x()), pod("d", "app=x", "aff zone app=x"), firstPod},
		{"A-63", "the domain of the matching pod", w().run("n3", x()), pod("d", "app=x", "aff zone app=x"), "n1:affinity n2:affinity n3:ok n4:affinity"},
		{"A-64", "a pod that matches one of two terms is not counted", w().run("n3", x()),
			pod("d", "app=x,tier=w", "aff zone app=x", "aff zone tier=w"), firstPod},
		{"A-65", "two pods that match one term each do not help", w().run("n1", x(), pod("d", "tier=w")),
			pod("d", "", "aff zone app=x", "aff zone tier=w"), allAffinity},
		{"A-66", "the counts of the keys are independent",
			newWorld(node("n1", "zone=a,rack=r1"), node("n2", "zone=b,rack=r2"), node("n3", "zone=a,rack=r2")).run("n1", x()).run("n2", x()),
			pod("d", "", "aff zone app=x", "aff rack app=x"), "n1:ok n2:ok n3:ok"},
		{"A-67", "a pod that supplies one of two keys ends the first-pod rule",
			newWorld(node("n1", "zone=a,rack=r1"), node("n2", "zone=b,rack=r2"), node("n3", "zone=c")).run("n3", x()),
			pod("d", "app=x", "aff zone app=x", "aff rack app=x"), "n1:affinity n2:affinity n3:affinity"},
		{"A-68", "the pod itself is not in scope", w(), pod("d", "app=x", "aff zone app=x ns=o"), allAffinity},
		{"A-69 has", "the namespaceSelector takes in the pod's namespace", w().namespace("d", "env=prod"), pod("d", "app=x", "aff zone app=x nssel=env=prod"), firstPod},
		{"A-69 lacks", "the pod's namespace is not implied", w(), pod("d", "app=x", "aff zone app=x nssel=env=prod"), allAffinity},
		{"A-70", "a nil selector matches no pod", w().run("n3", x()), pod("d", "", "aff zone nil"), allAffinity},
		{"A-71", "an empty selector matches the pods of the namespace", w().run("n3", pod("d", "")).run("n1", pod("o", "")),
			pod("d", "", "aff zone {}"), "n1:affinity n2:affinity n3:ok n4:affinity"},
		{"A-72", "terminating pods count", w().run("n3", terminating(x())), pod("d", "app=y", "anti zone app=x"), "n1:ok n2:ok n3:anti n4:ok"},
		{"A-73", "anti-affinity terms are ORed", w().run("n1", pod("d", "")), pod("d", "", "anti zone nil", "anti zone {}"), "n1:anti n2:anti n3:ok n4:ok"},
		{"A-74", "by hostname only the node itself", w().run("n1", x()), pod("d", "", "anti h app=x", "anti h app=zz"), "n1:anti n2:ok n3:ok n4:ok"},
		{"A-75", "a running pod's term concerns its own namespace", w().run("n1", pod("o", "", "anti zone app=x")), x(), allOK},
		{"A-76 names", "unless it names others", w().run("n1", pod("o", "", "anti zone app=x ns=d")), x(), "n1:existing n2:existing n3:ok n4:ok"},
		{"A-76 all", "or all", w().run("n1", pod("o", "", "anti zone app=x nssel={}")), x(), "n1:existing n2:existing n3:ok n4:ok"},
		{"A-76 selector", "or selects them", w().namespace("d", "env=prod").run("n1", pod("o", "", "anti zone app=x nssel=env=prod")), x(), "n1:existing n2:existing n3:ok n4:ok"},
		{"A-77 unknown", "an unknown namespace has no labels", newWorld(tableWorld().nodes...).run("n1", pod("o", "", "anti zone app=x nssel=env!=prod")), x(), "n1:existing n2:existing n3:ok n4:ok"},
		{"A-77 known", "NotIn fails on the label", w().namespace("d", "env=prod").run("n1", pod("o", "", "anti zone app=x nssel=env!=prod")), x(), allOK},
		{"A-78", "the owner's namespace is not implied", w().run("n1", pod("d", "", "anti zone app=x nssel=env=none")), x(), allOK},
		{"A-79", "affinity is tested first", w().run("n1", eXP), pod("d", "app=p", "aff zone app=nope", "anti zone app=x"), allAffinity},
		{"A-80", "own anti-affinity before that of running pods", w().run("n1", eXP), pod("d", "app=p", "anti zone app=x"), "n1:anti n2:anti n3:ok n4:ok"},
		{"A8.1 existing last", "symmetry of required anti-affinity", w().run("n1", eXP), pod("d", "app=p"), "n1:existing n2:existing n3:ok n4:ok"},
		{"A8.2 no symmetry of affinity", "a running pod's required affinity never filters", w().run("n1", pod("d", "app=x", "aff zone app=q")), pod("d", "app=p"), allOK},
		{"A8.3 self anti", "a pod never conflicts with itself", w(), pod("d", "app=x", "anti zone app=x"), allOK},
		{"A8.4 empty key", "an empty topologyKey is no label of any node: affinity fails", w().run("n1", x()), &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "d"},
			Spec: v1.PodSpec{Affinity: &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
				LabelSelector: selector("app=x")}}}}}}, allAffinity},
		{"A7.6 existing unparsable", "an error empties the whole list of a running pod", w().run("n1", pod("d", "", "anti zone app=x", "anti zone bogus")), x(), allOK},
		{"A7.6 other list", "but not its other lists", w().run("n1", pod("d", "", "anti zone app=x", "panti 1 zone bogus")), x(), "n1:existing n2:existing n3:ok n4:ok"},
		{"A7.6 incoming unparsable", "the incoming pod is rejected", w(), pod("d", "", "paff 1 zone bogus"), "n1:unparsable n2:unparsable n3:unparsable n4:unparsable"},
		{"A7.1 names and selector", "the union of both", w().namespace("q", "env=prod").run("n1", pod("o", "app=x")).run("n3", pod("q", "app=x")),
			pod("d", "", "anti h app=x ns=o nssel=env=prod"), "n1:anti n2:ok n3:anti n4:ok"},
		{"A7.1 names and empty selector", "an empty namespaceSelector is all namespaces", w().run("n1", pod("elsewhere", "app=x")),
			pod("d", "", "anti h app=x ns=o nssel={}"), "n1:anti n2:ok n3:ok n4:ok"},
		{"A7.2 unknown namespace", "a namespace that is not known is not selected", w().run("n1", pod("q", "app=x")),
			pod("d", "", "anti h app=x nssel=env=prod"), allOK},
	}, func(t *testing.T, tc c) {
		s := count(tc.world, tc.pod, affinity.PodOptions{})
		require.Equal(t, tc.want, verdicts(tc.world, s.Check))
		require.Equal(t, tc.want, verdicts(tc.world, s.NewTrial().Check), "a fresh trial agrees")
		require.Equal(t, tc.want, verdicts(tc.world, count(index(tc.world), tc.pod, affinity.PodOptions{}).Check), "with indexes")
	})
}

func TestNamespaceSelectorDeviation(t *testing.T) {
	w := newWorld(node("n1", "zone=a"), node("n2", "zone=b")).namespace("ns1", "env=prod").namespace("ns2", "env=dev").namespace("ns3", "").
		run("n1", pod("ns1", "app=x")).run("n2", pod("ns2", "app=x"))
	p := pod("ns3", "", "anti zone app=x nssel=env!=prod")
	t.Run("A-81", func(t *testing.T) {
		require.Equal(t, "n1:anti n2:anti", verdicts(w, count(w, p, affinity.PodOptions{Release: release.V1_36}).Check))
	})
	t.Run("A-81 documented", func(t *testing.T) {
		o := affinity.PodOptions{}
		require.Equal(t, "n1:ok n2:anti", verdicts(w, count(w, p, o).Check))
		require.Equal(t, "n1:ok n2:anti", verdicts(w, count(index(w), p, o).Check))
	})
	t.Run("A7.3 self", func(t *testing.T) {
		q := pod("ns1", "app=y", "aff zone app=y nssel=env!=prod")
		require.Equal(t, "n1:ok n2:ok", verdicts(w, count(w, q, affinity.PodOptions{Release: release.V1_36}).Check), "the rule for the first pod uses the pod's own namespace")
		require.Equal(t, "n1:affinity n2:affinity", verdicts(w, count(w, q, affinity.PodOptions{}).Check))
	})
}

func TestWhatIf(t *testing.T) {
	t.Run("A-82", func(t *testing.T) {
		x := pod("d", "app=x")
		w := tableWorld().run("n3", x)
		p := pod("d", "app=x", "aff zone app=x")
		tr := count(w, p, affinity.PodOptions{}).NewTrial()
		require.Equal(t, "n1:affinity n2:affinity n3:ok n4:affinity", verdicts(w, tr.Check))
		tr.Remove(x, 2)
		require.Equal(t, "n1:ok n2:ok n3:ok n4:affinity", verdicts(w, tr.Check), "no count is left: the rule for the first pod applies")
		tr.Reset()
		require.Equal(t, "n1:affinity n2:affinity n3:ok n4:affinity", verdicts(w, tr.Check))
	})
	t.Run("A8.5 never counted", func(t *testing.T) {
		w := tableWorld()
		tr := count(w, pod("d", "app=x", "aff zone app=x"), affinity.PodOptions{}).NewTrial()
		tr.Remove(pod("d", "app=x"), 2)
		require.Equal(t, "n1:affinity n2:affinity n3:affinity n4:affinity", verdicts(w, tr.Check), "-1 is a count: the rule for the first pod does not apply")
		tr.Add(pod("d", "app=x"), 2)
		require.Equal(t, "n1:ok n2:ok n3:ok n4:affinity", verdicts(w, tr.Check))
	})
	t.Run("A8.6 skipped", func(t *testing.T) {
		w := tableWorld()
		tr := count(w, pod("d", "app=p"), affinity.PodOptions{}).NewTrial()
		tr.Add(pod("d", "", "anti zone app=p"), 0)
		require.Equal(t, "n1:ok n2:ok n3:ok n4:ok", verdicts(w, tr.Check), "a nominated pod does not block a pod whose filter is skipped")
		s := count(w, pod("d", "app=p"), affinity.PodOptions{})
		require.True(t, s.Skip())
		s.Add(pod("d", "", "anti zone app=p"), 0)
		require.False(t, s.Skip())
		require.Equal(t, "n1:existing n2:existing n3:ok n4:ok", verdicts(w, s.Check), "a state counts the pod")
	})
	t.Run("A8.7 new key", func(t *testing.T) {
		w := tableWorld()
		tr := count(w, pod("d", "app=p", "anti zone app=x"), affinity.PodOptions{}).NewTrial()
		q := pod("d", "", "anti rack app=p")
		tr.Add(q, 1)
		require.Equal(t, "n1:ok n2:existing n3:ok n4:ok", verdicts(w, tr.Check), "a key that the state did not have")
		tr.Remove(q, 1)
		require.Equal(t, "n1:ok n2:ok n3:ok n4:ok", verdicts(w, tr.Check))
	})
}

func TestRejection(t *testing.T) {
	_, err := affinity.CompileFull(pod("d", "", "aff zone bogus", "aff zone app=x"), affinity.PodOptions{})
	require.EqualError(t, err, `parsing pod: requiredAffinityTerms: "Bogus" is not a valid label selector operator`)
	_, err = affinity.CompileFull(pod("d", "", "anti zone bogus", "panti 1 zone bogus"), affinity.PodOptions{})
	require.EqualError(t, err, `parsing pod: [requiredAntiAffinityTerms: "Bogus" is not a valid label selector operator, `+
		`preferredAntiAffinityTerms: "Bogus" is not a valid label selector operator]`)
	_, err = affinity.CompileFull(pod("d", "", "paff 1 zone app=x nssel=bogus"), affinity.PodOptions{})
	require.EqualError(t, err, `parsing pod: preferredAffinityTerms: "Bogus" is not a valid label selector operator`)
}
