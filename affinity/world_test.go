package affinity_test

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/resources"
)

// world is a cluster over slices. It has no indexes.
type world struct {
	nodes      []*v1.Node
	pods       [][]*v1.Pod // by slot
	namespaces map[string]map[string]string
}

func (w *world) Len() int            { return len(w.nodes) }
func (w *world) Node(i int) *v1.Node { return w.nodes[i] }
func (w *world) Pods(i int) iter.Seq[*v1.Pod] {
	if w.nodes[i] == nil {
		panic("pods of a free slot")
	}
	return slices.Values(w.pods[i])
}
func (w *world) Namespaces() iter.Seq2[string, map[string]string] {
	return maps.All(w.namespaces)
}

func newWorld(nodes ...*v1.Node) *world {
	return &world{nodes: nodes, pods: make([][]*v1.Pod, len(nodes)), namespaces: map[string]map[string]string{}}
}

// namespace adds a known namespace. labels are written "env=prod".
func (w *world) namespace(name, labels string) *world {
	w.namespaces[name] = pairs(labels)
	return w
}

func (w *world) run(node string, pods ...*v1.Pod) *world {
	i := w.slot(node)
	for _, p := range pods {
		p = p.DeepCopy()
		p.Spec.NodeName = node
		w.pods[i] = append(w.pods[i], p)
	}
	return w
}

func (w *world) slot(node string) int {
	return slices.IndexFunc(w.nodes, func(n *v1.Node) bool { return n != nil && n.Name == node })
}

// node returns a node with this name and with labels "zone=a,rack=r1".
func node(name, labels string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: pairs(labels)}}
}

func pairs(list string) map[string]string {
	m := map[string]string{}
	for _, p := range strings.Split(list, ",") {
		if k, v, ok := strings.Cut(p, "="); ok {
			m[k] = v
		}
	}
	return m
}

// pod makes a pod from its namespace, its labels "app=x,tier=w" and terms:
//
//	aff KEY SELECTOR [ns=a,b] [nssel=SELECTOR]      required affinity
//	anti KEY SELECTOR ...                           required anti-affinity
//	paff WEIGHT KEY SELECTOR ...                    preferred affinity
//	panti WEIGHT KEY SELECTOR ...                   preferred anti-affinity
//
// SELECTOR is nil, {}, bogus (an unknown operator) or requirements such as app=x|y,env!=prod,tier,!gone.
func pod(namespace, labels string, terms ...string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p", Labels: pairs(labels)}}
	p.UID = types.UID(fmt.Sprint(namespace, labels, terms))
	a := &v1.Affinity{PodAffinity: &v1.PodAffinity{}, PodAntiAffinity: &v1.PodAntiAffinity{}}
	for _, text := range terms {
		f := strings.Fields(text)
		kind, f := f[0], f[1:]
		weight := 0
		if strings.HasPrefix(kind, "p") {
			weight, _ = strconv.Atoi(f[0])
			f = f[1:]
		}
		t := v1.PodAffinityTerm{TopologyKey: f[0], LabelSelector: selector(f[1])}
		for _, o := range f[2:] {
			if list, ok := strings.CutPrefix(o, "ns="); ok {
				t.Namespaces = strings.Split(list, ",")
			} else if s, ok := strings.CutPrefix(o, "nssel="); ok {
				t.NamespaceSelector = selector(s)
			}
		}
		w := v1.WeightedPodAffinityTerm{Weight: int32(weight), PodAffinityTerm: t}
		switch kind {
		case "aff":
			a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, t)
		case "anti":
			a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, t)
		case "paff":
			a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution, w)
		case "panti":
			a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution, w)
		default:
			panic("pod: " + text)
		}
	}
	if len(terms) > 0 {
		p.Spec.Affinity = a
	}
	return p
}

func selector(text string) *metav1.LabelSelector {
	switch text {
	case "nil":
		return nil
	case "bogus":
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Bogus", Values: []string{"b"}}}}
	case "{}":
		return &metav1.LabelSelector{}
	}
	s := &metav1.LabelSelector{}
	for _, r := range strings.Split(text, ",") {
		if k, v, ok := strings.Cut(r, "!="); ok {
			s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{Key: k, Operator: metav1.LabelSelectorOpNotIn, Values: []string{v}})
		} else if k, ok := strings.CutPrefix(r, "!"); ok {
			s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{Key: k, Operator: metav1.LabelSelectorOpDoesNotExist})
		} else if k, v, ok := strings.Cut(r, "="); ok {
			s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{Key: k, Operator: metav1.LabelSelectorOpIn, Values: strings.Split(v, "|")})
		} else {
			s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{Key: r, Operator: metav1.LabelSelectorOpExists})
		}
	}
	return s
}

// verdicts prints the verdict of each node: "n1:ok n2:affinity n3:anti n4:existing".
func verdicts(w *world, check func(i int) resources.Verdict) string {
	names := map[resources.Verdict]string{0: "ok", affinity.PodAffinity: "affinity", affinity.PodAntiAffinity: "anti",
		affinity.ExistingAntiAffinity: "existing", affinity.Unparsable: "unparsable"}
	var out []string
	for i, n := range w.nodes {
		if n != nil {
			out = append(out, n.Name+":"+names[check(i)])
		}
	}
	return strings.Join(out, " ")
}

func count(w affinity.Cluster, p *v1.Pod, options affinity.PodOptions) *affinity.Full {
	e, _ := affinity.CompileFull(p, options)
	return e.Counted(w)
}
