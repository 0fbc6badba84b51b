package affinity_test

import (
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/testkit"
)

// reading counts how often a node is read.
type reading struct {
	*cluster.Snapshot
	nodes int
}

func (a *reading) Node(i int) *v1.Node {
	a.nodes++
	return a.Snapshot.Node(i)
}

// On looks at one node of each class of equal nodes, and later questions look at none.
func TestOneNodeOfEachClass(t *testing.T) {
	var nodes []*v1.Node
	for i := range 40 {
		nodes = append(nodes, testkit.Node(fmt.Sprint("n", i)).Label("zone", fmt.Sprint("z", i%2)).Obj())
	}
	snapshot, err := cluster.New(cluster.Objects{Nodes: nodes})
	require.NoError(t, err)
	e, err := affinity.CompileFullNodes(&v1.Pod{Spec: v1.PodSpec{NodeSelector: map[string]string{"zone": "z1"}}}, affinity.NodeOptions{})
	require.NoError(t, err)
	a := &reading{Snapshot: snapshot}
	s := e.Onto(a)
	for i := range 40 {
		require.Equal(t, i%2 == 1, s.Check(i) == 0)
	}
	require.Equal(t, 2, a.nodes)
}

// TestSnapshot: the indexes of package cluster give the answers of the plain world, also after pods came and left, and the
// state follows these changes.
func TestSnapshot(t *testing.T) {
	for seed := range int64(testkit.Rounds(500)) {
		src := newSource(bytes(seed))
		w := src.world()
		objects := cluster.Objects{Nodes: w.nodes}
		serial := 0
		name := func(p *v1.Pod, i int) *v1.Pod {
			serial++
			p.Name, p.UID, p.Spec.NodeName = fmt.Sprint("p", serial), types.UID(fmt.Sprint("u", serial)), w.nodes[i].Name
			return p
		}
		for i := range w.nodes {
			for _, p := range w.pods[i] {
				objects.Pods = append(objects.Pods, name(p, i))
			}
		}
		for ns, labels := range w.namespaces {
			objects.Namespaces = append(objects.Namespaces, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns, Labels: labels}})
		}
		snapshot, err := cluster.New(objects)
		require.NoError(t, err)
		var memo engine.Memo
		states := map[*affinity.FullEvaluator]*affinity.Full{}
		for range 3 {
			e, _ := affinity.CompileFull(src.pod(), affinity.PodOptions{})
			states[e] = e.CountedWith(snapshot, &memo)
		}
		for range 6 {
			i := src.Below(len(w.nodes))
			if n := len(w.pods[i]); n > 0 && src.Below(2) == 0 {
				p := w.pods[i][n-1]
				w.pods[i] = w.pods[i][:n-1]
				require.NoError(t, snapshot.Remove(p))
				for _, s := range states {
					s.Remove(p, snapshot.Slot(w.nodes[i].Name))
				}
			} else {
				p := name(src.pod(), i)
				w.pods[i] = append(w.pods[i], p)
				require.NoError(t, snapshot.Set(p))
				for _, s := range states {
					s.Add(p, snapshot.Slot(w.nodes[i].Name))
				}
			}
			for e, s := range states {
				plain, fresh := e.Counted(w), e.CountedWith(snapshot, &memo)
				for i, n := range w.nodes {
					slot := snapshot.Slot(n.Name)
					require.Equal(t, plain.Check(i), fresh.Check(slot), "seed %d", seed)
					require.Equal(t, plain.Raw(i), fresh.Raw(slot), "seed %d", seed)
					require.Equal(t, plain.Check(i), s.Check(slot), "seed %d: followed", seed)
					require.Equal(t, plain.Raw(i), s.Raw(slot), "seed %d: followed", seed)
				}
			}
		}
		ne, _ := affinity.CompileFullNodes(&v1.Pod{Spec: v1.PodSpec{NodeSelector: map[string]string{"zone": "a"}}}, affinity.NodeOptions{})
		classes, plain := ne.Onto(snapshot), ne.Onto(w)
		for i, n := range w.nodes {
			require.Equal(t, plain.Check(i), classes.Check(snapshot.Slot(n.Name)))
		}
	}
}

// TestManyNamespaces: a selector matches more namespaces than are looked up one by one.
func TestManyNamespaces(t *testing.T) {
	w := tableWorld()
	for i := range 40 {
		w.namespace(fmt.Sprint("t", i), fmt.Sprint("team=", i%2))
	}
	w.run("n1", pod("t3", "app=x")).run("n2", pod("t2", "app=x")).run("n3", pod("t5", "app=y"))
	p := pod("d", "", "anti h app=x nssel=team=1")
	for _, c := range []affinity.Cluster{w, index(w)} {
		require.Equal(t, "n1:anti n2:ok n3:ok n4:ok", verdicts(w, count(c, p, affinity.PodOptions{}).Check))
	}
}

// asked counts how often an index is asked for pod sets.
type asked struct {
	*indexed
	times int
}

func (a *asked) PodSets(namespace, key, value string, yield func(id int32)) {
	a.times++
	a.indexed.PodSets(namespace, key, value, yield)
}

// TestPodSetsAsked: a count asks the index once for each value and namespace of a term, once for all namespaces where there are more
// than 16, and about one of the required affinity terms only.
func TestPodSetsAsked(t *testing.T) {
	w := tableWorld()
	for i := range 40 {
		w.namespace(fmt.Sprint("t", i), map[bool]string{true: "team=16"}[i < 16])
	}
	for i := range 17 {
		w.namespace(fmt.Sprint("u", i), "team=17")
	}
	type test struct {
		name, terms string
		times       int
	}
	testkit.Run(t, []test{
		{"no terms", "", 0},
		{"one term", "anti h app=x", 1},
		{"two values", "anti h app=x|y", 2},
		{"no value", "anti h tier", 1},
		{"no pod", "anti h nil", 0},
		{"two namespaces", "anti h app=x ns=d,o", 2},
		{"a namespace twice", "anti h app=x ns=d,o,d", 2},
		{"a namespace by name and by selector", "anti h app=x ns=t0 nssel=team=16", 16},
		{"16 namespaces", "anti h app=x nssel=team=16", 16},
		{"17 namespaces", "anti h app=x nssel=team=17", 1},
		{"every namespace", "anti h app=x nssel={}", 1},
		{"two anti-affinity terms", "anti h app=x;anti zone app=y", 2},
		{"two affinity terms", "aff h app=x;aff zone app=y", 1},
		{"preferred terms", "paff 1 h app=x;paff 2 h app=y;panti 3 h app=z", 3},
	}, func(t *testing.T, tc test) {
		var terms []string
		if tc.terms != "" {
			terms = strings.Split(tc.terms, ";")
		}
		a := &asked{indexed: index(w)}
		count(a, pod("d", "", terms...), affinity.PodOptions{})
		require.Equal(t, tc.times, a.times)
	})
}

// unread is a cluster with an index of terms alone. Its pods must not be read.
type unread struct {
	*world
	termSets
	slots *int
}

func (u unread) Pods(i int) iter.Seq[*v1.Pod] {
	*u.slots++
	return u.world.Pods(i)
}

// A pod without terms needs no index of labels: the pods of a cluster without that index are not read, as they are for a pod with a term.
func TestPodsAreNotRead(t *testing.T) {
	w := tableWorld()
	read := func(p *v1.Pod) (slots int) {
		count(unread{w, index(w), &slots}, p, affinity.PodOptions{})
		return slots
	}
	require.Zero(t, read(pod("d", "")))
	require.NotZero(t, read(pod("d", "", "anti h app=q")))
}
