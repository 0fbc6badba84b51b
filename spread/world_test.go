package spread

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

func randomBytes(seed int64) []byte { return testkit.RandomBytes(uint64(seed), 100+int(seed*37%400)) }

// world is a cluster, a pod with its options, and further bytes for changes.
type world struct {
	*fake
	pod     *v1.Pod
	options Options
	next    *testkit.Bytes
}

func decode(data []byte) world {
	b := testkit.NewBytes(data)
	w := world{fake: &fake{}, next: b}
	for i := range b.Below(7) {
		if b.Below(8) == 7 {
			w.addNode(nil)
			continue
		}
		w.addNode(randomNode(b, fmt.Sprint("n", i)))
	}
	w.pod = randomConstrained(b)
	for i, n := range w.nodes {
		if n != nil {
			for j := range b.Below(5) {
				w.pods[i] = append(w.pods[i], randomPod(b, fmt.Sprint(n.Name, "-", j)))
			}
		}
	}
	if b.Below(3) == 0 {
		for i := range b.Below(3) {
			w.options.PlannedNodes = append(w.options.PlannedNodes, randomNode(b, fmt.Sprint("planned", i)))
		}
	}
	if len(w.pod.Spec.TopologySpreadConstraints) == 0 {
		w.options.Owners = randomOwners(b)
		if b.Below(2) == 0 {
			w.options.Defaults.Type = ListDefaulting
			for range b.Below(3) {
				c := randomConstraint(b)
				c.LabelSelector = nil
				w.options.Defaults.Constraints = append(w.options.Defaults.Constraints, c)
			}
		}
	}
	return w
}

func randomNode(b *testkit.Bytes, name string) *v1.Node {
	n := testkit.Node(name).Bare()
	if b.Below(6) > 0 {
		n.Label(host, []string{name, name, name, name, "shared"}[b.Below(5)])
	}
	if v := b.Below(6); v > 0 {
		n.Label(zoneKey, []string{"", "a", "a", "b", "c"}[v-1])
	}
	if v := b.Below(4); v > 0 {
		n.Label("rack", []string{"1", "2", name}[v-1])
	}
	if v := b.Below(6); v > 3 {
		n.Taint([]string{"k=v:NoSchedule", "p=v:PreferNoSchedule"}[v-4])
	}
	o := n.Obj()
	o.Spec.Unschedulable = b.Below(8) == 7
	return o
}

func randomPod(b *testkit.Bytes, name string) *v1.Pod {
	p := podOf(name, []string{"foo=bar", "foo=bar", "foo=bar,rev=1", "foo=baz,rev=2", "rev=1", ""}[b.Below(6)])
	if b.Below(6) == 5 {
		p.Namespace = "other"
	}
	if b.Below(6) == 5 {
		p.DeletionTimestamp = &metav1.Time{Time: testkit.Epoch}
	}
	return p
}

func randomConstraint(b *testkit.Bytes) v1.TopologySpreadConstraint {
	action := []v1.UnsatisfiableConstraintAction{hard, hard, soft, soft, "Other"}[b.Below(5)]
	c := by([]string{host, zoneKey, zoneKey, "rack"}[b.Below(4)], int32(1+b.Below(4)), action)
	switch b.Below(7) {
	case 1:
		noSelector(&c)
	case 2:
		emptySelector(&c)
	case 3:
		c.LabelSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "rev", Operator: metav1.LabelSelectorOpExists}}
	case 4:
		c.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "foo", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"baz"}}}}
	case 5:
		c.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "rev", Operator: metav1.LabelSelectorOpIn, Values: []string{"2", "1", "2"}}}}
	}
	if b.Below(4) == 3 {
		minDomains(int32(1 + b.Below(4)))(&c)
	}
	if b.Below(4) == 3 {
		honourTaints(&c)
	}
	if b.Below(4) == 3 {
		affinityPolicy(v1.NodeInclusionPolicyIgnore)(&c)
	}
	if b.Below(4) == 3 {
		matchKeys("rev", "missing")(&c)
	}
	return c
}

func randomConstrained(b *testkit.Bytes) *v1.Pod {
	p := podOf("mypod", []string{"foo=bar", "foo=bar,rev=1", "rev=2", ""}[b.Below(4)])
	for range b.Below(4) {
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, randomConstraint(b))
	}
	switch b.Below(8) {
	case 5:
		requireNodes(p, zoneKey, v1.NodeSelectorOpNotIn, "c")
	case 6:
		selecting(p, zoneKey+"=a")
	case 7:
		requireNodes(p, "rack", v1.NodeSelectorOpIn) // the selector cannot be converted
	}
	if b.Below(4) == 3 {
		tolerating(p)
	}
	if b.Below(2) == 1 {
		ownedBy(p, "apps/v1", "ReplicaSet", "rs", b.Below(4) > 0)
	}
	return p
}

func randomOwners(b *testkit.Bytes) Owners {
	w := &workloads{ReplicaSetList: []*appsv1.ReplicaSet{replicaSet("rs", []string{"foo=bar", "rev=1"}[b.Below(2)])}}
	for i := range b.Below(3) {
		w.ServiceList = append(w.ServiceList, &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: []string{"default", "default", "other"}[b.Below(3)], Name: fmt.Sprint("s", i)},
			Spec: v1.ServiceSpec{Selector: testkit.Pairs([]string{"foo=bar", "rev=1", ""}[b.Below(3)])}})
	}
	return w
}

// feasible returns some of the nodes.
func (w world) feasible() []int {
	return slices.DeleteFunc(w.all(), func(int) bool { return w.next.Below(4) == 3 })
}
