package filter

import (
	"fmt"
	"math/rand"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	keys "github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/podkey"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
)

// The list of reasons is the list of its texts, sorted, whatever the counts are.
func TestMessageAgainstSortedTexts(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 3000 {
		m := Message{Nodes: r.Intn(200), AbsentNodes: r.Intn(4) - 1}
		sums := map[string]int{}
		for range r.Intn(6) {
			c := Count{string(rune('a' + r.Intn(5))), r.Intn(120)}
			m.Reasons = append(m.Reasons, c)
			sums[c.Reason] += c.Nodes
		}
		for range r.Intn(3) {
			reason := string(rune('a' + r.Intn(5)))
			m.Absent = append(m.Absent, reason)
			if m.AbsentNodes > 0 {
				sums[reason] += m.AbsentNodes
			}
		}
		var texts []string
		for reason, n := range sums {
			texts = append(texts, fmt.Sprint(n, " ", reason))
		}
		sort.Strings(texts)
		want := fmt.Sprintf("0/%d nodes are available:", m.Nodes)
		if len(texts) > 0 {
			want += " " + strings.Join(texts, ", ") + "."
		}
		before := slices.Clone(m.Reasons)
		require.Equal(t, want, m.String(), "%+v", m)
		require.Equal(t, before, m.Reasons)
	}
}

// slowSearch looks at the candidates one by one, as the three steps of Run say.
func slowSearch(s Search, ps Predicates) (f Found, counted map[string]int) {
	counted = map[string]int{}
	count := func(i int) {
		for _, reason := range ps.Reasons(ps.First(i), i) {
			counted[reason]++
		}
	}
	f.Next = s.Next
	extra := 0
	if s.Nominated != nil {
		r := ps.First(*s.Nominated)
		if r.Verdict == 0 {
			return Found{Feasible: []int{*s.Nominated}, OnNominated: true, Examined: 1, Next: s.Next}, counted
		}
		if ps.Err(r, *s.Nominated) == nil {
			f.NominatedBy = ps[r.Predicate].Name()
			if s.Nodes > len(s.Candidates) && !slices.Contains(s.Candidates, *s.Nominated) {
				count(*s.Nominated)
				extra = 1
			}
		}
	}
	n, nodes := len(s.Candidates), s.Nodes
	if n == 0 {
		return f, counted
	}
	if nodes < 1 {
		nodes = n
	}
	for f.Examined < n && (s.Limit < 1 || len(f.Feasible) < s.Limit) && f.Err == nil {
		i := s.Candidates[(s.Next+f.Examined)%n]
		f.Examined++
		r := ps.First(i)
		if r.Verdict == 0 {
			f.Feasible = append(f.Feasible, i)
		} else if f.Err = ps.Err(r, i); f.Err == nil {
			count(i)
		}
	}
	f.Next = (s.Next + f.Examined) % nodes
	f.Examined += extra
	return f, counted
}

// A search of random nodes, limits, beginnings and nominations finds what the steps say.
func TestSearchAgainstItsSteps(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 5000 {
		n := 1 + r.Intn(6)
		a, b := make([]resources.Verdict, n), make([]resources.Verdict, n)
		for i := range n {
			a[i], b[i] = resources.Verdict(r.Intn(3)), resources.Verdict(r.Intn(3))
			if r.Intn(30) == 0 {
				b[i] = 3
			}
		}
		ps := Predicates{fixed{"A", a, nil}, fixed{"B", b, map[resources.Verdict]Code{3: Error}}}
		s := Search{Next: r.Intn(2 * n), Limit: r.Intn(n+3) - 1, Candidates: r.Perm(n)[:r.Intn(n+1)]}
		if r.Intn(2) == 0 {
			s.Nodes = n
		}
		if r.Intn(3) == 0 {
			s.Nominated = ptr(r.Intn(n))
		}
		want, counted := slowSearch(s, ps)
		got := s.Run(ps, nil)
		reasons := map[string]int{}
		for _, c := range got.Rejected.Counts(ps) {
			reasons[c.Reason] = c.Nodes
		}
		require.Equal(t, counted, reasons, "%+v %v %v", s, a, b)
		got.Rejected = Histogram{}
		require.Equal(t, want, got, "%+v %v %v", s, a, b)
	}
}

// A trial of resources says, after any changes on any slots, what a count of the pods that are there says.
func TestFitTrialAgainstCounts(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	names := []string{"cpu", "memory", "example.com/a", "hugepages-2Mi"}
	amounts := func(most int) (pairs []string) {
		for _, name := range names {
			if r.Intn(3) > 0 {
				pairs = append(pairs, name, fmt.Sprint(r.Intn(most)))
			}
		}
		return pairs
	}
	for range 150 {
		w := newWorld()
		for i := range 3 {
			n := node(fmt.Sprint("n", i), append(amounts(8), "pods", fmt.Sprint(r.Intn(6)))...)
			w.nodes, w.pods = append(w.nodes, n), append(w.pods, nil)
			for k := range r.Intn(3) {
				w.put(i, pod(fmt.Sprint("r", i, k), amounts(3)...))
			}
		}
		p := pod("p", amounts(4)...)
		o := FitOptions{DeviceResources: [][]string{nil, {"example.com/a"}}[r.Intn(2)]}
		base := CompileFit(p, o).On(w.resolve())
		fast := CompileFit(p, o).On(knowing{w})
		trials := []Trial{base.NewTrial(), fast.NewTrial()}
		byRow := base.NewTrial().(*fitTrial)
		row := func(q *v1.Pod) resources.Vector { return overhead.AppendRequests(nil, w.schema, q, overhead.Options{}) }
		for range 2 {
			now := newWorld(w.nodes...)
			for i := range w.pods {
				now.pods[i] = slices.Clone(w.pods[i])
			}
			for step := range 12 {
				i := r.Intn(3)
				if k := len(now.pods[i]); k > 0 && r.Intn(2) == 0 {
					gone := now.pods[i][r.Intn(k)]
					now.pods[i] = slices.DeleteFunc(now.pods[i], func(q *v1.Pod) bool { return q == gone })
					for _, tr := range trials {
						tr.Remove(gone, i)
					}
					byRow.Apply(row(gone), i, -1)
				} else {
					come := pod([]string{"unknown", "new"}[r.Intn(2)], amounts(3)...)
					come.UID = ""
					now.put(i, come)
					for _, tr := range trials {
						tr.Add(come, i)
					}
					byRow.Apply(row(come), i, 1)
					byRow.Apply(row(come), i, 2)
					byRow.Apply(row(come), i, -2)
				}
				fresh := CompileFit(p, o).On(now.resolve())
				for i := range 3 {
					for _, tr := range append(trials, byRow) {
						require.Equal(t, fresh.Check(i), tr.Check(i), "step %d", step)
					}
				}
			}
			for _, tr := range append(trials, byRow) {
				tr.Reset()
				for i := range 3 {
					require.Equal(t, base.Check(i), tr.Check(i))
				}
			}
		}
	}
}

// A trial keeps a set of ports for each slot: the ports of its pods, with the pods that came and without the pods that left.
func TestPortsTrialAgainstSets(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	always := v1.ContainerRestartPolicyAlways
	some := func(name string) *v1.Pod {
		p := pod(name)
		for range r.Intn(3) {
			withPorts(p, port([]string{"", "10.0.0.1", "10.0.0.2"}[r.Intn(3)], []v1.Protocol{"", "UDP"}[r.Intn(2)], int32(r.Intn(3))))
		}
		if r.Intn(3) == 0 {
			p.Spec.InitContainers = []v1.Container{{Name: "i", Ports: []v1.ContainerPort{port("", "", int32(r.Intn(3)))}}}
			if r.Intn(2) == 0 {
				p.Spec.InitContainers[0].RestartPolicy = &always
			}
		}
		return p
	}
	for range 200 {
		w := newWorld(node("n0"), node("n1"), nil)
		for i := range 2 {
			for k := range r.Intn(3) {
				w.put(i, some(fmt.Sprint(i, k)))
			}
		}
		p := some("p")
		s := compilePorts(p).on(w)
		trials := []Trial{s.NewTrial(), compilePorts(p).Live(w).NewTrial(), compilePorts(p).on(knowing{w}).NewTrial()}
		for range 2 {
			sets := make([]map[hostPort]bool, 3)
			for i := range sets {
				sets[i] = map[hostPort]bool{}
				for _, q := range w.pods[i] {
					for _, h := range podinfo.AppendHostPorts(nil, q) {
						sets[i][h] = true
					}
				}
			}
			for range 8 {
				i, q := r.Intn(3), some("q")
				if k := len(w.pods[i]); k > 0 && r.Intn(2) == 0 {
					q = w.pods[i][r.Intn(k)]
				}
				gone := r.Intn(2) == 0
				for _, tr := range trials {
					if gone {
						tr.Remove(q, i)
					} else {
						tr.Add(q, i)
					}
				}
				for _, h := range podinfo.AppendHostPorts(nil, q) {
					if gone {
						delete(sets[i], h)
					} else {
						sets[i][h] = true
					}
				}
				for i, set := range sets {
					want := resources.Verdict(0)
					for u := range set {
						for _, h := range podinfo.AppendHostPorts(nil, p) {
							if h.Port == u.Port && h.Protocol == u.Protocol && (h.IP == u.IP || h.IP == "0.0.0.0" || u.IP == "0.0.0.0") {
								want = portsTaken
							}
						}
					}
					if w.nodes[i] == nil {
						want = portsTaken | resources.Unresolvable
					}
					for _, tr := range trials {
						require.Equal(t, want, tr.Check(i))
					}
				}
			}
			for _, tr := range trials {
				tr.Reset()
			}
		}
	}
}

// Keys one after another tell any two lists of pods apart whose ports, names or features differ.
func TestKeysOneAfterAnother(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	seen := map[string]string{}
	for range 5000 {
		var key []byte
		text := ""
		for range 2 {
			p := pod("p")
			for range r.Intn(3) {
				withPorts(p, port([]string{"", "1"}[r.Intn(2)], []v1.Protocol{"", "UDP"}[r.Intn(2)], int32(r.Intn(3))))
			}
			p.Spec.NodeName = []string{"", "n"}[r.Intn(2)]
			p.Spec.HostNetwork, p.Spec.HostUsers = r.Intn(2) == 0, []*bool{nil, ptr(false), ptr(true)}[r.Intn(3)]
			if r.Intn(3) == 0 {
				p.Spec.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{Action: v1.ContainerRestartRuleActionRestartAllContainers}}
			}
			key = keys.Texts(podkey.NodeName(podkey.Ports(key, p), p), RequiredFeatures(p))
			text += fmt.Sprint(podinfo.AppendHostPorts(nil, p), p.Spec.NodeName, RequiredFeatures(p), ";")
		}
		if other, ok := seen[string(key)]; ok {
			require.Equal(t, other, text)
		}
		seen[string(key)] = text
	}
	texts := map[string]bool{}
	for _, text := range seen {
		require.False(t, texts[text], "two keys for one pod")
		texts[text] = true
	}
}
