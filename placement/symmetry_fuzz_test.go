package placement

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// demand is what a pod asks of other pods by one rule: which application is counted in which domains.
type demand struct{ app, key string }

// keepsOffPlainly reports whether a rule counts an application and two nodes share its domain.
func keepsOffPlainly(rules []demand, app string, a, b *v1.Node) bool {
	for _, r := range rules {
		x, has := a.Labels[r.key]
		y, also := b.Labels[r.key]
		if r.app == app && has && also && x == y {
			return true
		}
	}
	return false
}

// A pod keeps another pod off the nodes of a domain that it shares with its own node, whichever of the two nodes is named first.
func FuzzKeepsOff(f *testing.F) {
	f.Add(testkit.RandomBytes(1, 400))
	keys := []string{"zone", "rack", "row"}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		var o cluster.Objects
		for k := range 4 {
			n := testkit.Node(fmt.Sprint("n", k))
			for _, key := range keys {
				if v := b.Below(4); v > 0 {
					n = n.Label(key, fmt.Sprint(v))
				}
			}
			o.Nodes = append(o.Nodes, n.Obj())
		}
		app := func() string { return testkit.Pick(b, "x", "y", "z") }
		rules := func() (out []demand) {
			for range b.Below(3) {
				out = append(out, demand{app(), testkit.Pick(b, keys...)})
			}
			return out
		}
		own, apart, spread := app(), append(rules(), demand{app(), testkit.Pick(b, keys...)}), append(rules(), demand{app(), testkit.Pick(b, keys...)})
		p := testkit.Pod("p").Labels("app=" + own)
		for _, r := range apart {
			p = p.RequireApart(r.key, "app="+r.app)
		}
		for _, r := range spread {
			p = p.Spread(1, r.key, v1.DoNotSchedule, "app="+r.app)
		}
		s, err := cluster.New(o)
		require.NoError(t, err)
		plan, err := New(s, DefaultProfile())
		require.NoError(t, err)
		pod := p.Obj()
		a := plan.Prepare(pod)
		for k := 0; k < 64 && b.More(); k++ {
			name, terms := app(), rules()
			q := testkit.Pod("q").Labels("app=" + name)
			for _, r := range terms {
				q = q.RequireApart(r.key, "app="+r.app)
			}
			there := q.Obj()
			for pair := range 16 {
				i, j := pair/4, pair%4
				for _, x := range a.Predicates {
					switch x := x.(type) {
					case podAffinity:
						want := keepsOffPlainly(apart, name, s.Node(i), s.Node(j)) || keepsOffPlainly(terms, own, s.Node(i), s.Node(j))
						require.Equal(t, want, x.KeepsOff(pod, there, i, j))
					case hardSpread:
						want := false // one constraint that counts the pod is enough
						counts := false
						for _, r := range spread {
							counts = counts || r.app == name
						}
						for _, r := range spread {
							want = want || counts && keepsOffPlainly([]demand{{name, r.key}}, name, s.Node(i), s.Node(j))
						}
						require.Equal(t, want, x.KeepsOff(pod, there, i, j))
					}
				}
			}
		}
	})
}
