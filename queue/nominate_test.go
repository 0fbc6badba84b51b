package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

func nominated(name, node string) *v1.Pod {
	p := testkit.Pod(name).Obj()
	p.Status.NominatedNodeName = node
	return p
}

func TestNominator(t *testing.T) {
	t.Run("from status and by override", func(t *testing.T) {
		n := newNominator(nil)
		p := nominated("a", "n1")
		n.Nominate(p, Nomination{})
		require.Equal(t, "n1", n.Node(p))
		n.Nominate(p, Nomination{Override: true, Node: "n2"})
		require.Equal(t, "n2", n.Node(p))
		require.Empty(t, n.For("n1"), "one nomination for each UID")
		n.Nominate(p, Nomination{Override: true})
		require.Empty(t, n.Node(p), "an empty override clears")
		require.Empty(t, n.For(""))
		n.Nominate(p, Nomination{Override: true, Node: "n2"})
		p.Status.NominatedNodeName = ""
		n.Nominate(p, Nomination{})
		require.Empty(t, n.Node(p), "an empty status clears")
	})
	t.Run("refused after removal", func(t *testing.T) {
		known, node := true, ""
		n := newNominator(func(*v1.Pod) (string, bool) { return node, known })
		p := nominated("a", "n1")
		n.Nominate(p, Nomination{})
		known = false
		n.Nominate(p, Nomination{})
		require.Empty(t, n.Node(p), "unknown to the store")
		known, node = true, "n9"
		n.Nominate(p, Nomination{})
		require.Empty(t, n.Node(p), "assigned already")
	})
	t.Run("update", func(t *testing.T) {
		n := newNominator(nil)
		none, n1, n2 := nominated("a", ""), nominated("a", "n1"), nominated("a", "n2")
		n.Nominate(none, Nomination{Override: true, Node: "mem"})
		n.Update(none, none.DeepCopy())
		require.Equal(t, "mem", n.Node(none), "survives an update that says nothing")
		n.Update(none, n2)
		require.Equal(t, "n2", n.Node(none))
		n.Update(n2, none)
		require.Empty(t, n.Node(none))
		n.Update(nil, n1)
		require.Equal(t, "n1", n.Node(none))
		n.Update(n1, nil)
		require.Equal(t, "n1", n.Node(none))
	})
	t.Run("order and removal", func(t *testing.T) {
		n := newNominator(nil)
		a, b, c := nominated("a", "n"), nominated("b", "n"), nominated("c", "n")
		for _, p := range []*v1.Pod{c, a, b} {
			n.Nominate(p, Nomination{})
		}
		n.Remove(a)
		n.Remove(a)
		require.Equal(t, []*v1.Pod{c, b}, n.For("n"))
		n.Remove(c)
		n.Remove(b)
		require.Empty(t, n.byNode)
		n.Remove(nil)
		n.Nominate(nil, Nomination{})
		require.Empty(t, n.Node(nil))
	})
}

func TestQueueNominations(t *testing.T) {
	t.Run("with the pod's way through the queue", func(t *testing.T) {
		r := newRig(t, Options{})
		r.pods["a"] = nominated("a", "n1")
		r.add("a")
		require.Equal(t, "n1", r.q.nom.Node(r.pod("a")))
		require.Same(t, r.pods["a"], r.q.NominatedFor("n1")[0])
		r.pop()
		bare := r.q.NominatedFor("n1")[0]
		require.Equal(t, []any{"a", "default", r.pods["a"].UID}, []any{bare.Name, bare.Namespace, bare.UID})
		require.Empty(t, bare.Spec, "a pod in flight protects no room")
		_, err := r.q.Return(r.held["a"], Failure{Rejecters: []string{"P"}, Nomination: Nomination{Override: true, Node: "n2"}}, r.now)
		require.NoError(t, err)
		require.Equal(t, "n2", r.q.nom.Node(r.pod("a")))
		require.Equal(t, []string{"mine", "n2"}, r.q.NominatedNodes([]string{"mine"}))
		r.q.Delete(r.pod("a"))
		require.Empty(t, r.q.NominatedFor("n2"))
		require.Empty(t, r.q.NominatedNodes(nil))
	})
	t.Run("whole nominations", func(t *testing.T) {
		r := newRig(t, Options{WholeNominations: true})
		r.pods["a"] = nominated("a", "n1")
		r.add("a")
		r.pop()
		require.Same(t, r.pods["a"], r.q.NominatedFor("n1")[0])
	})
	t.Run("assumed", func(t *testing.T) {
		r := newRig(t, Options{})
		r.pods["a"] = nominated("a", "n1")
		r.add("a")
		r.q.Nominate(r.pod("a"), Nomination{Override: true})
		require.Empty(t, r.q.nom.Node(r.pod("a")))
		r.q.Nominate(r.pod("a"), Nomination{Override: true, Node: "n3"})
		require.Equal(t, "n3", r.q.nom.Node(r.pod("a")))
	})
	t.Run("gated pods nominate nothing up to v1.36", func(t *testing.T) {
		for _, v := range []release.Version{release.V1_36, release.Current} {
			r := newRig(t, Options{Release: v})
			r.pods["a"] = nominated("a", "n1")
			r.shut["x a"] = true
			r.add("a")
			require.Equal(t, v == release.Current, r.q.nom.Node(r.pod("a")) != "")
		}
	})
	t.Run("an update that makes a pod active forgets what its status does not know up to v1.36", func(t *testing.T) {
		for _, label := range []bool{false, true} {
			r := newRig(t, Options{Release: release.V1_36, MaxBackoff: ptr(time.Duration(0)), Profiles: map[string]Profile{defaultScheduler: {Events: []Registration{{"R", Event{"Pod", Update, ""}, nil}}}}})
			r.add("a")
			r.pop()
			_, err := r.q.Return(r.held["a"], Failure{Rejecters: []string{"R"}, Nomination: Nomination{Override: true, Node: "n1"}}, r.now)
			require.NoError(t, err)
			r.update("a", func(p *v1.Pod) {
				if label {
					p.Labels = map[string]string{"k": "v"}
				} else {
					p.Annotations = map[string]string{"k": "v"}
				}
			})
			r.is(Active, "a")
			require.Equal(t, label, r.q.nom.Node(r.pod("a")) != "", "only the general update does")
		}
	})
	t.Run("an update shows the new version", func(t *testing.T) {
		r := newRig(t, Options{})
		r.pods["a"] = nominated("a", "n1")
		r.add("a")
		r.update("a", func(p *v1.Pod) { p.Status.NominatedNodeName = "n2" })
		require.Empty(t, r.q.NominatedFor("n1"))
		require.Same(t, r.pods["a"], r.q.NominatedFor("n2")[0])
	})
}
