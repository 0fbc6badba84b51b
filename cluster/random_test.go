package cluster

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/view"
)

// step makes one random change on the snapshot and the model and compares the change log.
func (w *world) step(t *testing.T) {
	r := w.rnd
	version, before := w.s.Version(), w.slots()
	zones, n, have := w.s.Domains(v1.LabelTopologyZone)
	unique := n == have
	if r.Intn(4) == 0 {
		defer func() { // the number of a domain changes only with an event in the log
			now, n, have := w.s.Domains(v1.LabelTopologyZone)
			if unique && n == have {
				return
			}
			touched := map[int32]bool{}
			w.s.Since(version, func(list []Event) {
				for _, e := range list {
					touched[e.Node] = true
				}
			})
			for i, id := range zones {
				if !touched[-1] && !touched[int32(i)] {
					require.Equal(t, id, now[i])
				}
			}
		}()
	}
	var want []event
	anywhere := false // events with Node -1 are allowed
	name := fmt.Sprintf("n%d/p%d", 1+r.Intn(2), r.Intn(60))
	at, isOn := w.on[name]
	_, isOrphan := w.orphans[name]
	switch op := r.Intn(20); {
	case op < 5: // assume
		p, node := w.pod(name), w.anyNode()
		if node == "" {
			return
		}
		var err error
		if r.Intn(2) == 0 {
			err = w.s.Assume(p, w.s.Slot(node))
		} else {
			err = assumePrepared(w.s, w.s.prepare(p), p, w.s.Slot(node))
		}
		if isOn || isOrphan {
			require.Error(t, err)
			break
		}
		require.NoError(t, err)
		want = w.put(p, node)
	case op < 11: // watch event
		p := w.pod(name)
		p.Spec.NodeName = pick(r, fmt.Sprintf("node%d", r.Intn(14)), w.anyNode(), w.anyNode())
		if isOn && r.Intn(2) == 0 {
			p.Spec.NodeName = at.node
		}
		if isOn && r.Intn(4) == 0 { // only the object is newer
			p = at.pod.DeepCopy()
			p.Spec.NodeName = at.node
		}
		if r.Intn(8) == 0 {
			p.Status.Phase = pick(r, v1.PodSucceeded, v1.PodFailed)
		}
		switch {
		case Finished(p):
			want = w.leave(name)
		case p.Spec.NodeName == "":
			if isOn {
				want = append(w.leave(name), w.put(p, at.node)...)
			}
		case isOn && at.node == p.Spec.NodeName && w.counts(at.pod, p):
			want = []event{w.eventOf(at.node, p, 0)}
			w.on[name] = placed{p, at.node}
		default:
			want = append(w.leave(name), w.put(p, p.Spec.NodeName)...)
		}
		require.NoError(t, w.s.Set(p))
	case op < 15: // deletion
		err := w.s.Remove(w.pod(name))
		if !isOn && !isOrphan {
			require.Error(t, err)
			break
		}
		require.NoError(t, err)
		want = w.leave(name)
	case op < 17: // a node comes or changes
		n := w.node(fmt.Sprintf("node%d", r.Intn(12)))
		old := w.nodes[n.Name]
		anywhere = true
		if old != nil {
			require.NoError(t, w.s.Set(n))
			if view.ZoneKey(old) != view.ZoneKey(n) {
				w.treeRemove(old)
				w.treeAdd(n)
			}
		} else {
			err := w.s.Set(n)
			require.NoError(t, err)
			w.treeAdd(n)
		}
		want = []event{{node: n.Name}}
		w.nodes[n.Name] = n
		if old == nil {
			w.reorder()
		}
		for _, k := range slices.Sorted(maps.Keys(w.orphans)) {
			if p := w.orphans[k]; p.Spec.NodeName == n.Name {
				delete(w.orphans, k)
				want = append(want, w.put(p, n.Name)...)
			}
		}
	case op < 18: // a node goes
		node := w.anyNode()
		if node == "" || r.Intn(2) == 0 {
			return
		}
		anywhere = true
		require.NoError(t, w.s.removeNode(node))
		for _, k := range slices.Sorted(maps.Keys(w.on)) {
			if at := w.on[k]; at.node == node {
				want = append(want, w.leave(k)...)
				if at.pod.Spec.NodeName == node {
					w.orphans[k] = at.pod
				}
			}
		}
		want = append(want, event{node: node})
		w.treeRemove(w.nodes[node])
		delete(w.nodes, node)
		w.reorder()
	case op < 19:
		anywhere = true
		if r.Intn(2) == 0 {
			require.NoError(t, w.s.Set(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: pick(r, "n1", "n2"), Labels: map[string]string{"env": pick(r, "a", "b")}}}))
		} else if svc := (&v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n1", Name: pick(r, "x", "y")}}); r.Intn(2) == 0 {
			require.NoError(t, w.s.Set(svc))
		} else if _, ok := List[*v1.Service](w.s).Get("n1", svc.Name); ok {
			require.NoError(t, w.s.Remove(svc))
		}
	default:
		w.markOrRollback(t)
		return
	}
	got, whole := w.since(t, version, before)
	require.ElementsMatch(t, want, got)
	if !anywhere {
		require.Zero(t, whole)
	}
}

func (w *world) markOrRollback(t *testing.T) {
	switch n := len(w.marks); {
	case n < 3 && w.rnd.Intn(2) == 0:
		w.marks = append(w.marks, saved{w.s.Mark(), describe(w.s), maps.Clone(w.nodes), maps.Clone(w.on), maps.Clone(w.orphans), cloneZones(w.zones), w.order})
	case n > 0 && w.rnd.Intn(4) == 0:
		m := w.rnd.Intn(n)
		require.True(t, w.s.Commit(w.marks[m].mark))
		w.marks = w.marks[:m]
	case n > 0:
		m := w.rnd.Intn(n)
		back := w.marks[m]
		require.True(t, w.s.Rollback(back.mark))
		for _, x := range w.marks[m:] {
			require.False(t, w.s.Rollback(x.mark), "the mark has ended")
		}
		w.marks = w.marks[:m]
		w.nodes, w.on, w.orphans, w.zones, w.order = back.nodes, back.on, back.orphans, back.zones, back.order
		require.Empty(t, cmp.Diff(back.text, describe(w.s)), "Rollback restores everything")
	}
}

// Every index and the change log agree with a rebuild, for a snapshot, its forks, and forks of forks.
func TestRandomOperations(t *testing.T) {
	for seed := range int64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewSource(seed))
			worlds := []*world{newWorld(t, rand.New(rand.NewSource(seed)))}
			for op := range testkit.Rounds(2_000) {
				w := worlds[rnd.Intn(len(worlds))]
				w.step(t)
				if op%40 == 0 {
					w.verify(t)
				}
				if op%300 == 299 {
					if len(worlds) == 4 {
						worlds = slices.Delete(worlds, 1+rnd.Intn(3), 4)
					}
					worlds = append(worlds, w.fork())
				}
			}
			for _, w := range worlds {
				w.verify(t)
			}
		})
	}
}

// The bytes choose a snapshot, a fork, and steps on both in turn.
func FuzzOperations(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(testkit.RandomBytes(seed, 3000), uint16(150))
	}
	f.Fuzz(func(t *testing.T, data []byte, steps uint16) {
		base := newWorld(t, rand.New(testkit.NewBytes(data)))
		var fork *world
		for i := range steps % 50 {
			base.step(t)
			if fork != nil {
				fork.step(t)
			}
			if i%25 == 12 {
				fork = base.fork()
			}
		}
		base.verify(t)
		if fork != nil {
			fork.verify(t)
		}
	})
}
