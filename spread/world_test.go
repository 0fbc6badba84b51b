package spread

import (
	"fmt"
	"math/rand"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// bytesOf decodes choices from bytes: each choice of n takes one byte modulo n, and is 0 after the last byte. So a fuzzer
// reaches every world by mutation of bytes.
type bytesOf struct{ data []byte }

func (b *bytesOf) pick(n int) int {
	if len(b.data) == 0 {
		return 0
	}
	x := int(b.data[0])
	b.data = b.data[1:]
	return x % n
}

func randomBytes(seed int64) []byte {
	r := rand.New(rand.NewSource(seed))
	out := make([]byte, 100+r.Intn(400))
	r.Read(out)
	return out
}

// world is a cluster, a pod with its options, and further bytes for changes.
type world struct {
	*fake
	pod     *v1.Pod
	options Options
	next    *bytesOf
}

func decode(data []byte) world {
	b := &bytesOf{data}
	w := world{fake: &fake{}, next: b}
	for i := range b.pick(7) {
		if b.pick(8) == 7 {
			w.addNode(nil)
			continue
		}
		w.addNode(randomNode(b, fmt.Sprint("n", i)))
	}
	w.pod = randomConstrained(b)
	for i, n := range w.nodes {
		if n != nil {
			for j := range b.pick(5) {
				w.pods[i] = append(w.pods[i], randomPod(b, fmt.Sprint(n.Name, "-", j)))
			}
		}
	}
	if b.pick(3) == 0 {
		for i := range b.pick(3) {
			w.options.PlannedNodes = append(w.options.PlannedNodes, randomNode(b, fmt.Sprint("planned", i)))
		}
	}
	if len(w.pod.Spec.TopologySpreadConstraints) == 0 {
		w.options.Owners = randomOwners(b)
		if b.pick(2) == 0 {
			w.options.Defaults.Type = ListDefaulting
			for range b.pick(3) {
				c := randomConstraint(b)
				c.LabelSelector = nil
				w.options.Defaults.Constraints = append(w.options.Defaults.Constraints, c)
			}
		}
	}
	return w
}

func randomNode(b *bytesOf, name string) *v1.Node {
	n := testkit.Node(name).Bare()
	if b.pick(6) > 0 {
		n.Label(host, []string{name, name, name, name, "shared"}[b.pick(5)])
	}
	if v := b.pick(6); v > 0 {
		n.Label(zoneKey, []string{"", "a", "a", "b", "c"}[v-1])
	}
	if v := b.pick(4); v > 0 {
		n.Label("rack", []string{"1", "2", name}[v-1])
	}
	if v := b.pick(6); v > 3 {
		n.Taint([]string{"k=v:NoSchedule", "p=v:PreferNoSchedule"}[v-4])
	}
	o := n.Obj()
	o.Spec.Unschedulable = b.pick(8) == 7
	return o
}

func randomPod(b *bytesOf, name string) *v1.Pod {
	p := podOf(name, []string{"foo=bar", "foo=bar", "foo=bar,rev=1", "foo=baz,rev=2", "rev=1", ""}[b.pick(6)])
	if b.pick(6) == 5 {
		p.Namespace = "other"
	}
	if b.pick(6) == 5 {
		p.DeletionTimestamp = &metav1.Time{Time: testkit.Epoch}
	}
	return p
}

func randomConstraint(b *bytesOf) v1.TopologySpreadConstraint {
	action := []v1.UnsatisfiableConstraintAction{hard, hard, soft, soft, "Other"}[b.pick(5)]
	c := by([]string{host, zoneKey, zoneKey, "rack"}[b.pick(4)], int32(1+b.pick(4)), action)
	switch b.pick(6) {
	case 1:
		noSelector(&c)
	case 2:
		emptySelector(&c)
	case 3:
		c.LabelSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "rev", Operator: metav1.LabelSelectorOpExists}}
	case 4:
		c.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "foo", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"baz"}}}}
	}
	if b.pick(4) == 3 {
		minDomains(int32(1 + b.pick(4)))(&c)
	}
	if b.pick(4) == 3 {
		honourTaints(&c)
	}
	if b.pick(4) == 3 {
		affinityPolicy(v1.NodeInclusionPolicyIgnore)(&c)
	}
	if b.pick(4) == 3 {
		matchKeys("rev", "missing")(&c)
	}
	return c
}

func randomConstrained(b *bytesOf) *v1.Pod {
	p := podOf("mypod", []string{"foo=bar", "foo=bar,rev=1", "rev=2", ""}[b.pick(4)])
	for range b.pick(4) {
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, randomConstraint(b))
	}
	switch b.pick(8) {
	case 5:
		requireNodes(p, zoneKey, v1.NodeSelectorOpNotIn, "c")
	case 6:
		selecting(p, zoneKey+"=a")
	case 7:
		requireNodes(p, "rack", v1.NodeSelectorOpIn) // the selector cannot be converted
	}
	if b.pick(4) == 3 {
		tolerating(p)
	}
	if b.pick(2) == 1 {
		ownedBy(p, "apps/v1", "ReplicaSet", "rs", b.pick(4) > 0)
	}
	return p
}

func randomOwners(b *bytesOf) Owners {
	w := &workloads{ReplicaSetList: []*appsv1.ReplicaSet{replicaSet("rs", []string{"foo=bar", "rev=1"}[b.pick(2)])}}
	for i := range b.pick(3) {
		w.ServiceList = append(w.ServiceList, &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: []string{"default", "default", "other"}[b.pick(3)], Name: fmt.Sprint("s", i)},
			Spec: v1.ServiceSpec{Selector: testkit.Pairs([]string{"foo=bar", "rev=1", ""}[b.pick(3)])}})
	}
	return w
}

// feasible returns some of the nodes.
func (w world) feasible() []int {
	return slices.DeleteFunc(w.all(), func(int) bool { return w.next.pick(4) == 3 })
}
