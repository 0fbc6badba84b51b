package placement

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/spread"
)

// viewOf has three methods of a snapshot, and its namespaces.
func viewOf(s *cluster.Snapshot) *testkit.Cluster {
	v := testkit.NewCluster(nil, nil)
	for i := range s.Len() {
		v.Nodes = append(v.Nodes, s.Node(i))
		for p := range s.Pods(i) {
			q := p.DeepCopy()
			q.Spec.NodeName = s.Node(i).Name
			v.Assigned = append(v.Assigned, q)
		}
	}
	v.NamespaceLabels = map[string]map[string]string{}
	for name, labels := range s.Namespaces() {
		v.NamespaceLabels[name] = labels
	}
	return v
}

// A plan over a View with three methods decides like a plan over a snapshot, before and after pods are added.
func TestRows(t *testing.T) {
	for seed := range uint64(40) {
		w := &world{r: rand.New(rand.NewPCG(seed, 11))}
		s := w.snapshot(t, 3+w.r.IntN(6), w.r.IntN(15))
		profile := DefaultProfile()
		view := viewOf(s)
		for step := range 12 {
			plain, err := New(Rows(view), profile)
			require.NoError(t, err)
			p, err := New(s, profile)
			require.NoError(t, err)
			pod := w.pod(w.r.IntN(30))
			delete(pod.Labels, "svc")
			d := p.Decide(pod, Options{})
			require.Equal(t, d, plain.Decide(pod, Options{}), "seed %d step %d", seed, step)
			if !d.Placed() {
				continue
			}
			require.NoError(t, s.Assume(pod, d.Slot))
			bound := pod.DeepCopy()
			bound.Spec.NodeName = d.Node
			view.Assigned = append(view.Assigned, bound)
			require.Equal(t, s.Requested(d.Slot).At(0), Rows(view).Requested(d.Slot).At(0))
		}
	}
}

// A view without namespaces has the namespaces of its pods. Slots may be free and may be added.
func TestRowsOfAGrowingView(t *testing.T) {
	v := &growing{nodes: []*v1.Node{nil, testkit.Node("n1").Capacity("cpu=2").Obj()}}
	v.pods = map[int][]*v1.Pod{1: {testkit.Pod("prod/db").Labels("app=db").Request("cpu=1").Obj()}}
	c := Rows(v)
	p, err := New(c, DefaultProfile())
	require.NoError(t, err)
	var namespaces []string
	for name, labels := range c.Namespaces() {
		namespaces = append(namespaces, fmt.Sprint(name, labels))
	}
	require.Equal(t, []string{"prodmap[kubernetes.io/metadata.name:prod]"}, namespaces)
	pod := testkit.Pod("p").Request("cpu=2").Obj()
	require.Equal(t, "0/1 nodes are available: 1 Insufficient cpu.", p.Decide(pod, Options{}).Failure.Text())
	v.nodes = append(v.nodes, testkit.Node("n2").Capacity("cpu=2").Obj())
	p, err = New(Rows(v), DefaultProfile())
	require.NoError(t, err)
	require.Equal(t, "n2", p.Decide(pod, Options{}).Node)
	v.nodes[2] = nil
	c = Rows(v)
	p, err = New(c, DefaultProfile())
	require.NoError(t, err)
	require.False(t, p.Decide(pod, Options{}).Placed())
	require.Zero(t, c.Allocatable(2).At(0))
}

type growing struct {
	nodes []*v1.Node
	pods  map[int][]*v1.Pod
}

func (g *growing) Len() int                     { return len(g.nodes) }
func (g *growing) Node(i int) *v1.Node          { return g.nodes[i] }
func (g *growing) Pods(i int) iter.Seq[*v1.Pod] { return slices.Values(g.pods[i]) }

// releasedView is a view that follows a release.
type releasedView struct {
	*testkit.Cluster
	release release.Version
}

// Release returns the release.
func (v releasedView) Release() release.Version { return v.release }

// Pods that are being resized count by the rule of the view's release, as in a snapshot.
func TestRowsOfARelease(t *testing.T) {
	resized := testkit.Containers("container c requests cpu=2\ncontainer d requests cpu=1\nstatus c requests cpu=1\nstatus d requests cpu=2")
	resized.Name, resized.Namespace, resized.UID, resized.Spec.NodeName = "r", "default", "r", "n1"
	nodes := []*v1.Node{testkit.Node("n1").Capacity("cpu=4,memory=4Gi").Obj()}
	seen := map[int64]bool{}
	for _, v := range release.Versions() {
		s, err := cluster.New(cluster.Objects{Nodes: nodes, Pods: []*v1.Pod{resized}, Release: v})
		require.NoError(t, err)
		rows := Rows(releasedView{viewOf(s), v})
		require.Equal(t, s.Requested(0), rows.Requested(0), v)
		cpu, memory := s.NonZero(0)
		gotCPU, gotMemory := rows.NonZero(0)
		require.Equal(t, []int64{cpu, memory}, []int64{gotCPU, gotMemory}, v)
		seen[rows.Requested(0)[resources.CPU]] = true
	}
	require.Len(t, seen, 2, "the rule has changed once")
}

// ownedView is a view that knows owners and devices.
type ownedView struct {
	*testkit.Cluster
	spread.Owners
	s *cluster.Snapshot
}

// DeviceObjects returns the objects of the snapshot.
func (v ownedView) DeviceObjects() tracker.Objects { return tracker.Of(v.s) }

// The services, controllers and devices of a view count as those of a snapshot do, over Rows and over a cluster of its own.
func TestRowsOfAViewWithObjects(t *testing.T) {
	o := cluster.Objects{
		Nodes: threeZones(), Services: services(), DeviceClasses: []*resourcev1.DeviceClass{gpuClass("example.com/gpu")},
		ResourceSlices: []*resourcev1.ResourceSlice{gpuSlice("b2", 1)}, ResourceClaims: []*resourcev1.ResourceClaim{gpuClaim("x", 1)},
	}
	for k, n := range []string{"a1", "a1", "b1"} {
		o.Pods = append(o.Pods, testkit.Pod(fmt.Sprint("r", k)).Labels("svc=s").On(n).Obj())
	}
	s, err := cluster.New(o)
	require.NoError(t, err)
	p, err := New(s, DefaultProfile())
	require.NoError(t, err)
	bare, err := New(Rows(viewOf(s)), DefaultProfile())
	require.NoError(t, err)
	view := ownedView{viewOf(s), cluster.Owners{Snapshot: s}, s}
	rows := Rows(view)
	over, err := New(rows, DefaultProfile())
	require.NoError(t, err)
	own, err := New(ownedRows{rows, view}, DefaultProfile())
	require.NoError(t, err)
	for name, pod := range map[string]*v1.Pod{
		"default constraints": testkit.Pod("p").Labels("svc=s").Obj(), "claim": claiming(testkit.Pod("p").Obj(), "x"), "extended": testkit.Pod("p").Request("example.com/gpu=1").Obj(),
	} {
		want := p.Decide(pod, Options{})
		for _, with := range []*Plan{over, own} {
			require.Equal(t, text(want), text(with.Decide(pod, Options{})), name)
		}
		require.NotEqual(t, text(want), text(bare.Decide(pod, Options{})), name)
	}
}

// ownedRows is a cluster with rows that knows owners and devices itself.
type ownedRows struct {
	Cluster
	ownedView
}

// A View lists the namespaces of its pods by name, each once, until the caller has enough.
func TestNamespacesOfRows(t *testing.T) {
	v := &growing{nodes: []*v1.Node{testkit.Node("n").Obj()}}
	for _, name := range []string{"b/1", "a/1", "c/1", "a/2"} {
		v.pods = map[int][]*v1.Pod{0: append(v.pods[0], testkit.Pod(name).Obj())}
	}
	for most := 1; most <= 4; most++ {
		var names []string
		for name := range Rows(v).Namespaces() {
			if names = append(names, name); len(names) == most {
				break
			}
		}
		require.Equal(t, []string{"a", "b", "c"}[:min(most, 3)], names)
	}
}
