package lint

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/internal/testkit"
)

// A budget of pods without a controller expects none of them: maxUnavailable and shares allow nothing, numbers of minAvailable count pods.
func TestBudgetOfBarePods(t *testing.T) {
	yes := true
	pod := func(name string, owned bool) *v1.Pod {
		p := testkit.Pod(name).Labels("app=bare").Request("cpu=1").On("n0").Obj()
		if owned {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "App", Name: "a", UID: "a", Controller: &yes}}
		}
		return p
	}
	one, share := intstr.FromInt32(1), intstr.FromString("50%")
	type test struct {
		name, why   string
		pending     []*v1.Pod
		running     []*v1.Pod
		least, most *intstr.IntOrString
		path        string
		said        string
	}
	const says = " has no controller: the controller of budgets expects no such pods, and no pod of the budget can ever be evicted"
	testkit.Run(t, []test{
		{"running", "pods that run", nil, []*v1.Pod{pod("a", false)}, nil, &one, "spec.maxUnavailable", "Pod default/a" + says},
		{"manifest", "pods of the manifests", []*v1.Pod{testkit.Pod("a").Labels("app=bare").Request("cpu=1").Obj()}, nil, nil, &one, "spec.maxUnavailable", "Pod default/a" + says},
		{"share", "a share of no pods", nil, []*v1.Pod{pod("a", false)}, &share, nil, "spec.minAvailable", "Pod default/a" + says},
		{"number", "a number counts pods", nil, []*v1.Pod{pod("a", false)}, &one, nil, "", ""},
		{"owned", "one pod has a controller", nil, []*v1.Pod{pod("a", false), pod("b", true)}, nil, &one, "", ""},
		{"another namespace", "the pods are not of the budget", nil, []*v1.Pod{func() *v1.Pod { p := pod("a", false); p.Namespace = "other"; return p }()}, nil, &one, "", ""},
	}, func(t *testing.T, c test) {
		w := newWorld()
		w.in.Pods = c.pending
		w.in.Cluster.Pods = append(w.in.Cluster.Pods, c.running...)
		b := w.budget("b", "bare", 0)
		b.Spec.MinAvailable, b.Spec.MaxUnavailable = c.least, c.most
		path, said := "", ""
		for _, f := range of(t, w, "budget-cannot-sync") {
			path, said = f.Path, f.Explanation
		}
		require.Equal(t, c.path, path, c.why)
		require.Equal(t, c.said, said, c.why)
	})
}
