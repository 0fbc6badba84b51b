package rollout

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/internal/testkit"
)

// cycleOf returns the proof and the budgets of the cycle that begins with a budget.
func (w *world) cycleOf(t *testing.T, name string) (string, []string) {
	t.Helper()
	x := w.begun(t, Options{})
	x.mark()
	for k := range x.budgets.list {
		if x.budgets.name(int32(k)) == "default/"+name {
			proof, names := x.cycle(int32(k))
			return proof, names
		}
	}
	t.Fatal("no such budget")
	return "", nil
}

// on lets the pods of a template run on one node only.
func on(node string) func(*v1.PodSpec) {
	return func(s *v1.PodSpec) { s.NodeSelector = map[string]string{host: node} }
}

// waits adds a budget with a healthy pod on a node and a pod that waits for the place of a pod on another node.
func (w *world) waits(name, node, other string) {
	w.app(name, "cpu=3", node, on(other)).Spec.Replicas = new(int32(2))
	w.pod("ReplicaSet", name, name+"-1", "", template(name, "cpu=3", on(other)))
	w.budget(name, name, "1")
}

// A cycle leads back to the budget with which the search begins. Budgets on the way that lead nowhere, or into another cycle, are
// not part of it.
func TestCycles(t *testing.T) {
	w := five("cpu=4")
	w.waits("a", "n1", "n2")
	proof, names := w.cycleOf(t, "a")
	require.Empty(t, proof, "nobody is on n2")
	require.Empty(t, names)
	w.app("free", "cpu=3", "n2", nil)
	w.budget("free", "free", "0")
	proof, _ = w.cycleOf(t, "a")
	require.Empty(t, proof, "the budget of the pod on n2 lets the pod leave")

	w = five("cpu=4")
	w.waits("a", "n1", "n2")
	w.app("b", "cpu=3", "n2 n3", nil).Spec.Replicas = new(int32(3))
	w.pod("ReplicaSet", "b", "b-2", "", template("b", "cpu=3", on("n1")))
	w.budget("b", "b", "1")
	proof, _ = w.cycleOf(t, "a")
	require.Empty(t, proof, "one pod of b may leave")
	w.objects.PodDisruptionBudgets[1].Spec.MinAvailable = new(intstr.FromInt32(2))
	_, names = w.cycleOf(t, "a")
	require.Equal(t, []string{"default/a", "default/b"}, names, "no pod of b may leave")
}

// The search goes through all pods of a budget that wait and all pods that hold their places.
func TestLongCycle(t *testing.T) {
	w := five("cpu=4")
	w.waits("a", "n1", "n2")
	w.app("b0", "cpu=3", "n2", nil) // a dead end: nobody of its budget waits
	w.budget("b0", "b0", "1")
	w.waits("c", "n3", "n4")
	w.waits("d", "n4", "n3")
	w.objects.PodDisruptionBudgets[3].Spec.MinAvailable = new(intstr.FromInt32(2))
	w.pod("ReplicaSet", "a", "a-2", "", template("a", "cpu=3", on("n3")))
	*w.objects.ReplicaSets[0].Spec.Replicas = 3
	proof, names := w.cycleOf(t, "a")
	require.Empty(t, proof, "c and d starve each other and not a")
	require.Empty(t, names)
	proof, names = w.cycleOf(t, "d")
	require.Equal(t, "default/d needs 2 healthy pods and has 1: default/d-1 waits for the place of default/c-0; "+
		"default/c needs 1 healthy pods and has 1: default/c-1 waits for the place of default/d-0", proof)
	require.Equal(t, []string{"default/d", "default/c"}, names)
	w.pod("ReplicaSet", "d", "d-2", "", template("d", "cpu=3", on("n1")))
	*w.objects.ReplicaSets[3].Spec.Replicas = 3
	proof, names = w.cycleOf(t, "a")
	require.Equal(t, "default/a needs 1 healthy pods and has 1: default/a-2 waits for the place of default/c-0; "+
		"default/c needs 1 healthy pods and has 1: default/c-1 waits for the place of default/d-0; "+
		"default/d needs 2 healthy pods and has 1: default/d-2 waits for the place of default/a-0", proof)
	require.Equal(t, []string{"default/a", "default/c", "default/d"}, names)
}

// Of the pods that may hold the place of a waiting pod the first 200 are tried.
func TestMostHolders(t *testing.T) {
	found := func(small int) bool {
		w := &world{in: Input{Now: testkit.Epoch}}
		w.objects.Nodes = append(w.objects.Nodes, testkit.Node("n1").Capacity("cpu=300,pods=300").Obj(), testkit.Node("n2").Capacity("cpu=300,pods=300").Obj())
		w.waits("a", "n1", "n2")
		crowd := template("crowd", "cpu=1m", nil)
		for i := range small {
			w.pod("ReplicaSet", "crowd", fmt.Sprintf("crowd-%03d", i), "n2", crowd)
		}
		w.pod("ReplicaSet", "crowd", "large", "n2", template("crowd", "cpu=299", nil))
		w.pod("ReplicaSet", "crowd", "waits", "", template("crowd", "cpu=299", on("n1")))
		w.objects.Pods[0].Spec.Containers[0].Resources.Requests = testkit.Resources("cpu=3")
		w.budget("crowd", "crowd", fmt.Sprint(small+1))
		_, names := w.cycleOf(t, "a")
		return len(names) > 0
	}
	require.True(t, found(199))
	require.False(t, found(200))
}
