package spread

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

const (
	hard = v1.DoNotSchedule
	soft = v1.ScheduleAnyway
)

// fake is a cluster over slices without indexes. A nil node is a free slot.
type fake struct {
	nodes []*v1.Node
	pods  [][]*v1.Pod
}

func (f *fake) Len() int            { return len(f.nodes) }
func (f *fake) Node(i int) *v1.Node { return f.nodes[i] }
func (f *fake) Pods(i int) iter.Seq[*v1.Pod] {
	return slices.Values(f.pods[i])
}

func (f *fake) slot(name string) int {
	return slices.IndexFunc(f.nodes, func(n *v1.Node) bool { return n != nil && n.Name == name })
}

func (f *fake) names(slots []int) string {
	var out []string
	for _, i := range slots {
		out = append(out, f.nodes[i].Name)
	}
	return strings.Join(out, " ")
}

func (f *fake) all() []int {
	var out []int
	for i, n := range f.nodes {
		if n != nil {
			out = append(out, i)
		}
	}
	return out
}

// run adds pods with labels to nodes: "node1*2 node3".
func (f *fake) run(where, labels string) *fake {
	for word := range strings.FieldsSeq(where) {
		name, times, many := strings.Cut(word, "*")
		n := 1
		if many {
			n, _ = strconv.Atoi(times)
		}
		i := f.slot(name)
		for range n {
			f.pods[i] = append(f.pods[i], podOf(fmt.Sprintf("%s-%d", name, len(f.pods[i])), labels))
		}
	}
	return f
}

// clusterOf returns a cluster of nodes from words "name{key=value,key=value}".
func clusterOf(words string) *fake {
	f := &fake{}
	for word := range strings.FieldsSeq(words) {
		name, rest, _ := strings.Cut(word, "{")
		f.addNode(nodeOf(name, strings.TrimSuffix(rest, "}")))
	}
	return f
}

func (f *fake) addNode(n *v1.Node) *fake {
	f.nodes = append(f.nodes, n)
	f.pods = append(f.pods, nil)
	return f
}

func nodeOf(name, labels string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: testkit.Pairs(labels)}}
}

func podOf(name, labels string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), Labels: testkit.Pairs(labels)}}
}

func constrained(labels string, constraints ...v1.TopologySpreadConstraint) *v1.Pod {
	p := podOf("mypod", labels)
	p.Spec.TopologySpreadConstraints = constraints
	return p
}

// by returns a constraint with selector foo=bar.
func by(key string, skew int32, action v1.UnsatisfiableConstraintAction, change ...func(*v1.TopologySpreadConstraint)) v1.TopologySpreadConstraint {
	c := v1.TopologySpreadConstraint{MaxSkew: skew, TopologyKey: key, WhenUnsatisfiable: action,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"foo": "bar"}}}
	for _, f := range change {
		f(&c)
	}
	return c
}

func minDomains(n int32) func(*v1.TopologySpreadConstraint) {
	return func(c *v1.TopologySpreadConstraint) { c.MinDomains = &n }
}

func honourTaints(c *v1.TopologySpreadConstraint) {
	p := v1.NodeInclusionPolicyHonor
	c.NodeTaintsPolicy = &p
}

func affinityPolicy(p v1.NodeInclusionPolicy) func(*v1.TopologySpreadConstraint) {
	return func(c *v1.TopologySpreadConstraint) { c.NodeAffinityPolicy = &p }
}

func noSelector(c *v1.TopologySpreadConstraint)    { c.LabelSelector = nil }
func emptySelector(c *v1.TopologySpreadConstraint) { c.LabelSelector = &metav1.LabelSelector{} }

func matchKeys(keys ...string) func(*v1.TopologySpreadConstraint) {
	return func(c *v1.TopologySpreadConstraint) { c.MatchLabelKeys = keys }
}

func requireNodes(pod *v1.Pod, key string, op v1.NodeSelectorOperator, values ...string) *v1.Pod {
	pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
		NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}}}}}
	return pod
}

func mustHard(t testing.TB, pod *v1.Pod, o Options) *hardEvaluator {
	t.Helper()
	h, err := compileHard(pod, &o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func mustSoft(t testing.TB, pod *v1.Pod, o Options) *softEvaluator {
	t.Helper()
	s, err := compileSoft(pod, &o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// verdicts returns the nodes that pass, the nodes rejected for skew and the nodes that lack a label, each "a b".
func verdicts(f *fake, check func(int) resources.Verdict) (pass, skew, missing string) {
	var p, s, m []int
	for _, i := range f.all() {
		switch check(i) {
		case 0:
			p = append(p, i)
		case skewExceeded:
			s = append(s, i)
		case missingLabel:
			m = append(m, i)
		}
	}
	return f.names(p), f.names(s), f.names(m)
}

// indexed adds the optional methods to a fake cluster. Pod sets and label numbers are made once. The spare numbers at the
// end of a column belong to values that no node has any more.
type indexed struct {
	*fake
	spare int
	sets  []*podSet
}

type podSet struct {
	rep    *v1.Pod
	nodes  []int32
	counts []int32
}

func index(f *fake, spare int) *indexed {
	x := &indexed{fake: f, spare: spare}
	ids := map[string]*podSet{}
	for i := range f.nodes {
		for _, p := range f.pods[i] {
			key := fmt.Sprint(p.Namespace, p.Labels, p.DeletionTimestamp != nil)
			set := ids[key]
			if set == nil {
				set = &podSet{rep: p}
				ids[key] = set
				x.sets = append(x.sets, set)
			}
			if n := len(set.nodes); n > 0 && set.nodes[n-1] == int32(i) {
				set.counts[n-1]++
			} else {
				set.nodes, set.counts = append(set.nodes, int32(i)), append(set.counts, 1)
			}
		}
	}
	return x
}

func (x *indexed) Domains(key string) (ids []int32, domains, have int) {
	numbers := map[string]int32{}
	for _, n := range x.nodes {
		id := int32(-1)
		if n != nil {
			if v, ok := n.Labels[key]; ok {
				if _, known := numbers[v]; !known {
					numbers[v] = int32(len(numbers))
				}
				id = numbers[v]
				have++
			}
		}
		ids = append(ids, id)
	}
	return ids, len(numbers) + x.spare, have
}

func (x *indexed) PodSets(namespace, key, value string, yield func(id int32)) {
	for id, s := range x.sets {
		v, ok := s.rep.Labels[key]
		if s.rep.Namespace == namespace && (key == "" || ok && v == value) {
			yield(int32(id))
		}
	}
}

func (x *indexed) PodSet(id int32) (rep *v1.Pod, nodes, counts []int32) {
	s := x.sets[id]
	return s.rep, s.nodes, s.counts
}

func (x *indexed) Classes(reads []string) (ids, reps []int32, ok bool) {
	numbers := map[string]int32{}
	for i, n := range x.nodes {
		if n == nil {
			ids = append(ids, -1)
			continue
		}
		var b strings.Builder
		for _, r := range reads {
			if key, found := strings.CutPrefix(r, "label:"); found {
				v, has := n.Labels[key]
				fmt.Fprintf(&b, "%q %v,", v, has)
			} else if r == "taints" {
				fmt.Fprint(&b, n.Spec.Taints)
			} else if r == "name" {
				fmt.Fprint(&b, n.Name)
			}
		}
		if _, known := numbers[b.String()]; !known {
			numbers[b.String()] = int32(len(reps))
			reps = append(reps, int32(i))
		}
		ids = append(ids, numbers[b.String()])
	}
	return ids, reps, true
}

// Add and Remove count one pod.

// workloads is an Owners over plain lists that scans them. The zero value has no objects.
type workloads struct {
	ServiceList               []*v1.Service
	ReplicationControllerList []*v1.ReplicationController
	ReplicaSetList            []*appsv1.ReplicaSet
	StatefulSetList           []*appsv1.StatefulSet
}

// Services yields the services of the namespace in list order.
func (w *workloads) Services(namespace string) iter.Seq[*v1.Service] {
	return func(yield func(*v1.Service) bool) {
		for _, s := range w.ServiceList {
			if s.Namespace == namespace && !yield(s) {
				return
			}
		}
	}
}

// ReplicationController returns the first of that name, nil when there is none.
func (w *workloads) ReplicationController(namespace, name string) *v1.ReplicationController {
	return named(w.ReplicationControllerList, namespace, name)
}

// ReplicaSet returns the first of that name, nil when there is none.
func (w *workloads) ReplicaSet(namespace, name string) *appsv1.ReplicaSet {
	return named(w.ReplicaSetList, namespace, name)
}

// StatefulSet returns the first of that name, nil when there is none.
func (w *workloads) StatefulSet(namespace, name string) *appsv1.StatefulSet {
	return named(w.StatefulSetList, namespace, name)
}

func named[P interface {
	comparable
	metav1.Object
}](list []P, namespace, name string) P {
	for _, o := range list {
		if o.GetNamespace() == namespace && o.GetName() == name {
			return o
		}
	}
	var none P
	return none
}
