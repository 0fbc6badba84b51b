package proof_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/testkit/situation/question"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/gang/proof"
	"github.com/podberth/podberth/release/plugins"
)

// A placement is refused with the first thing that is wrong.
func TestCheckPlacement(t *testing.T) {
	const two = "gates=C; node n1:2 zone=a; node n2:2 zone=a; node m1:4 zone=b; node x1:9; group g gang2 key=zone; pod a,b:1 in=g; pod c:3 in=g"
	const beside = "gates=T; node a1:2 zone=a; node b1:8 zone=b; group g gang2 key=zone; pod r:1 in=g on=a1; pod p:1 in=g"
	on := func(list ...string) (out []proof.Place) {
		for k := 0; k < len(list); k += 2 {
			out = append(out, proof.Place{Pod: "d/" + list[k], Node: list[k+1]})
		}
		return out
	}
	type test struct {
		name, why, situation string
		places               []proof.Place
		want                 string
	}
	testkit.Run(t, []test{
		{"a placement", "two are enough", two, on("a", "n1", "b", "n2"), ""},
		{"nobody", "one at least", two, nil, "gang: places: Required value: a placement has one member at least"},
		{"too few", "two are needed", two, on("a", "n1"), "gang: places: Invalid value: podgroup/d/g has 1 of 2"},
		{"no member", "it does not wait", two, on("z", "n1"), `gang: places[0].pod: Not found: "d/z": no member that waits`},
		{"twice", "a pod has one node", two, on("a", "n1", "a", "n2"), `gang: places[1].pod: Duplicate value: "d/a"`},
		{"no node", "it is not there", two, on("a", "n9"), `gang: places[0].node: Not found: "n9"`},
		{"no room", "a filter rejects", two, on("a", "n1", "c", "n1"), "gang: places[1]: Invalid value: node n1 does not take pod d/c: Insufficient cpu"},
		{"two domains", "one is wanted", two, on("a", "n1", "b", "m1"), "gang: podgroup/d/g: pod d/a is in zone a, pod d/b in b"},
		{"no domain", "the node lacks the label", two, on("a", "x1", "b", "x1"), "gang: podgroup/d/g: node x1 of pod d/a has no label zone"},
		{"the order", "the first needs the second", "node n1:4; group g gang2; pod a:1 in=g with=kubernetes.io/hostname=b; pod b:1 in=g label=app=b",
			on("a", "n1", "b", "n1"), "gang: places[0]: Invalid value: node n1 does not take pod d/a: node(s) didn't match pod affinity rules"},
		{"beside its own", "a member that runs counts", beside, on("p", "a1"), ""},
		{"away from its own", "a member that runs is in zone a", beside, on("p", "b1"), "gang: podgroup/d/g: pod d/r is in zone a, pod d/p in b"},
		{"a child in part", "y has one of two", "gates=C; node n1:4; composite job gang1; group x gang1 parent=job; group y gang2 parent=job; pod xa:1 in=x; pod ya,yb:1 in=y",
			on("xa", "n1", "ya", "n1"), "gang: places: Invalid value: podgroup/d/y has 1 of 2"},
	}, func(t *testing.T, c test) {
		err := proof.CheckPlacement(question.Of(t, c.situation), c.places)
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want)
		}
	})
	require.ErrorIs(t, proof.CheckPlacement(proof.Question{}, nil), cluster.ErrNoSnapshot)
	require.ErrorIs(t, proof.CheckAbsence(proof.Question{}, proof.Absence{}, proof.Bound{}), cluster.ErrNoSnapshot)
	q := question.Of(t, "node n1:4; group g gang1; pod a:1 in=g; pod r:1 on=n1")
	q.Queued[0].Name = "r"
	require.EqualError(t, proof.CheckPlacement(q, nil), `gang: queued[0]: Invalid value: "d/r": the pod is on a node already`)
}

// What a certificate says is counted again.
func TestCheckAbsence(t *testing.T) {
	const pieces = "node n1:3; node n2:3; group g gang3; pod a,b,c:2 in=g"
	domain := func(d proof.Domain) proof.Absence {
		d.Nodes = 2
		return proof.Absence{Group: "podgroup/d/g", Domains: []proof.Domain{d}}
	}
	nodes := func(r proof.Room) proof.Absence { return domain(proof.Domain{Room: &r}) }
	each := []proof.Part{{Name: "n1", Most: 1}, {Name: "n2", Most: 1}}
	type test struct {
		name, why string
		a         proof.Absence
		want      string
	}
	testkit.Run(t, []test{
		{"nodes", "each takes one", nodes(proof.Room{Kind: proof.ByNodes, Need: 3, Most: 2, Parts: each}), ""},
		{"exhausted", "nothing is left", domain(proof.Domain{Exhausted: true}), ""},
		{"need", "three must come", nodes(proof.Room{Kind: proof.ByNodes, Need: 4, Most: 2, Parts: each}), "gang: absence.domains[0].room.need: Invalid value: 4: want 3"},
		{"a resource that is enough", "6 are free", nodes(proof.Room{Kind: proof.ByResource, Need: 3, Resource: "cpu", Free: 6000, Least: 6000}), "gang: absence.domains[0].room: Invalid value: 6000 free are enough for 6000"},
		{"free", "it is counted", nodes(proof.Room{Kind: proof.ByResource, Need: 3, Resource: "cpu", Free: 5000, Least: 6000}), "gang: absence.domains[0].room.free: Invalid value: 5000: want 6000"},
		{"members", "each has a node", nodes(proof.Room{Kind: proof.ByMembers, Need: 3}), "gang: absence.domains[0].room.most: Invalid value: 0: want 3"},
		{"apart", "there is no such term", nodes(proof.Room{Kind: proof.Apart, Need: 3, Key: "zone"}), `gang: absence.domains[0].room.key: Invalid value: "zone": not every member keeps off every other by it`},
		{"spread", "there is no such constraint", nodes(proof.Room{Kind: proof.Spread, Need: 3, Key: "zone"}), `gang: absence.domains[0].room.key: Invalid value: "zone": not every member has a DoNotSchedule constraint that selects all members`},
		{"kind", "unknown", nodes(proof.Room{Kind: "luck", Need: 3}), `gang: absence.domains[0].room.kind: Invalid value: "luck": want resource, members, nodes, apart or spread`},
		{"of", "nobody asks for exactly so much", nodes(proof.Room{Kind: proof.ByNodes, Need: 3, Of: &proof.Amount{Resource: "cpu", AtLeast: 1}}), "gang: absence.domains[0].room.of.atLeast: Invalid value: 1: no member asks for it"},
		{"a key", "nodes are not counted by a label", nodes(proof.Room{Kind: proof.ByNodes, Need: 3, Key: "zone", Most: 2, Parts: each}), `gang: absence.domains[0].room.key: Invalid value: zone: want `},
		{"a resource of nodes", "they are not counted in one", nodes(proof.Room{Kind: proof.ByNodes, Need: 3, Resource: "cpu", Most: 2, Parts: each}), "gang: absence.domains[0].room.resource: Invalid value: cpu: want "},
		{"free of nodes", "they are not counted in what is free", nodes(proof.Room{Kind: proof.ByNodes, Need: 3, Free: 1, Most: 2, Parts: each}), "gang: absence.domains[0].room.free: Invalid value: 1: want 0"},
		{"least", "it is counted", nodes(proof.Room{Kind: proof.ByResource, Need: 3, Resource: "cpu", Free: 6000, Least: 7000}), "gang: absence.domains[0].room.least: Invalid value: 7000: want 6000"},
		{"most of a resource", "there are no parts", nodes(proof.Room{Kind: proof.ByResource, Need: 3, Resource: "cpu", Free: 6000, Least: 6000, Most: 1}), "gang: absence.domains[0].room.most: Invalid value: 1: want 0"},
		{"parts", "the first node takes one, the second one", nodes(proof.Room{Kind: proof.ByNodes, Need: 3, Most: 2, Parts: []proof.Part{{Name: "n1", Most: 2}}}), "gang: absence.domains[0].room.parts: Invalid value: they are not those of the cluster"},
		{"nothing", "is no proof", domain(proof.Domain{}), "gang: absence.domains[0]: Invalid value: 0 proofs: want one of room, children, exhausted"},
		{"group", "of another", proof.Absence{Group: "podgroup/d/h"}, `gang: absence.group: Invalid value: "podgroup/d/h": want podgroup/d/g`},
		{"key", "it has none", proof.Absence{Group: "podgroup/d/g", Key: "zone"}, `gang: absence.key: Invalid value: "zone": the group has ""`},
		{"domains", "one is missing", proof.Absence{Group: "podgroup/d/g"}, "gang: absence.domains: Invalid value: 0 domains: the group could go to 1"},
	}, func(t *testing.T, c test) {
		err := proof.CheckAbsence(question.Of(t, pieces), c.a, proof.Bound{})
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want)
		}
	})
	free := question.Of(t, "node n1:4; node n2:3; group g gang3; pod a,b,c:2 in=g")
	require.EqualError(t, proof.CheckAbsence(free, domain(proof.Domain{Exhausted: true}), proof.Bound{}), "gang: absence.domains[0].exhausted: Invalid value: a placement exists")
	require.EqualError(t, proof.CheckAbsence(question.Of(t, pieces), domain(proof.Domain{Exhausted: true}), proof.Bound{Steps: 1}), "gang: absence.domains[0].exhausted: Invalid value: it was not checked within 1 steps")
}

// Each kind of count holds where its rule does, and not where the rule only looks so.
func TestCheckRooms(t *testing.T) {
	room := func(nodes int, r proof.Room) proof.Absence {
		return proof.Absence{Group: "podgroup/d/g", Domains: []proof.Domain{{Nodes: nodes, Room: &r}}}
	}
	one, two := proof.Part{Name: "n1", Most: 1}, proof.Part{Name: "n1", Most: 2}
	byNode := func(p proof.Part) proof.Absence {
		return room(1, proof.Room{Kind: proof.ByNodes, Need: 2, Most: p.Most, Parts: []proof.Part{p}})
	}
	ports := func(list ...v1.ContainerPort) func(q *proof.Question) {
		return func(q *proof.Question) {
			for k, pod := range q.Queued {
				pod.Spec.Containers[0].Ports = list[k : k+1]
			}
		}
	}
	apart := room(2, proof.Room{Kind: proof.Apart, Need: 3, Key: "zone", Most: 2, Parts: []proof.Part{{Name: "a", Most: 1}, {Name: "b", Most: 1}}})
	spread := room(2, proof.Room{Kind: proof.Spread, Need: 4, Key: "zone", Most: 3, Parts: []proof.Part{{Name: "a", Most: 2}, {Name: "b", Most: 1}}})
	const (
		pair     = "node n1:9; group g gang2; pod a,b:1 in=g"
		threeOff = "node n1:9 zone=a; node n2:9 zone=b; group g gang3; pod a,b,c:1 in=g label=app=m apart=zone=m"
		fourEven = "node n1:9 zone=a; node n2:1 zone=b; group g gang4; pod a,b,c,e:1 in=g label=app=m spread=zone=m"
	)
	terms := func(change func(t *v1.PodAffinityTerm)) func(q *proof.Question) {
		return func(q *proof.Question) {
			for _, pod := range q.Queued {
				change(&pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0])
			}
		}
	}
	const notApart = `gang: absence.domains[0].room.key: Invalid value: "zone": not every member keeps off every other by it`
	type test struct {
		name, why, situation string
		change               func(q *proof.Question)
		a                    proof.Absence
		want                 string
	}
	testkit.Run(t, []test{
		{"resource", "three of 2 do not go into 4", "node n1:2; node n2:2; group g gang3; pod a,b,c:2 in=g", nil,
			room(2, proof.Room{Kind: proof.ByResource, Need: 3, Resource: "cpu", Free: 4000, Least: 6000}), ""},
		{"a resource and few members", "two cannot be three", "node n1:9; group g gang3; pod a,b:1 in=g", nil,
			room(1, proof.Room{Kind: proof.ByResource, Need: 3, Resource: "cpu", Free: 9000, Least: 9001}), "gang: absence.domains[0].room.need: Invalid value: 3: 2 members wait"},
		{"a resource that no filter counts", "the profile has no NodeResourcesFit", "node n1:1; group g gang2; pod a,b:1 in=g", func(q *proof.Question) {
			q.Profile = placement.DefaultProfile()
			q.Profile.Filters = slices.DeleteFunc(slices.Clone(q.Profile.Filters), func(p *placement.Plugin) bool { return p.Name == plugins.NodeResourcesFit })
		}, room(1, proof.Room{Kind: proof.ByResource, Need: 2, Resource: "cpu", Free: 1000, Least: 2000}), `gang: absence.domains[0].room.resource: Invalid value: "cpu": the filters do not count it`},
		{"the smallest of members", "two of the three are needed, and the largest is not", "node n1:5; group g gang2; pod a:3 in=g; pod b:4 in=g; pod c:9 in=g", nil,
			room(1, proof.Room{Kind: proof.ByResource, Need: 2, Resource: "cpu", Free: 5000, Least: 7000}), ""},
		{"more than enough of a resource", "9 are free for 2", "node n1:9; group g gang2; pod a,b:1 in=g", nil,
			room(1, proof.Room{Kind: proof.ByResource, Need: 2, Resource: "cpu", Free: 9000, Least: 2000}), "gang: absence.domains[0].room: Invalid value: 9000 free are enough for 2000"},
		{"more than enough room", "the node takes three, and two must come", "node n1:9; group g gang2; pod a,b,c:1 in=g", nil,
			room(1, proof.Room{Kind: proof.ByNodes, Need: 2, Most: 3, Parts: []proof.Part{{Name: "n1", Most: 3}}}), "gang: absence.domains[0].room: Invalid value: room for 3 is enough for 2"},
		{"members", "one is too large for every node", "node n1:9; group g gang2; pod a:1 in=g; pod b:10 in=g", nil,
			room(1, proof.Room{Kind: proof.ByMembers, Need: 2, Most: 1, Parts: []proof.Part{{Name: "d/a", Most: 1}}}), ""},
		{"one host port", "a node has it once, whatever the ports of the containers are", pair, ports(v1.ContainerPort{HostPort: 80, ContainerPort: 8080}, v1.ContainerPort{HostPort: 80, ContainerPort: 9090}), byNode(one), ""},
		{"two host ports", "the port of the container is not taken of the node", pair, ports(v1.ContainerPort{HostPort: 80, ContainerPort: 8080}, v1.ContainerPort{HostPort: 81, ContainerPort: 8080}), byNode(two), "gang: absence.domains[0].room: Invalid value: room for 2 is enough for 2"},
		{"no host port", "nothing is taken of the node", pair, ports(v1.ContainerPort{ContainerPort: 8080}, v1.ContainerPort{ContainerPort: 8080}), byNode(two), "gang: absence.domains[0].room: Invalid value: room for 2 is enough for 2"},
		{"apart", "two zones for three", threeOff, nil, apart, ""},
		{"apart from pods of one label value", "the members may have others", threeOff, terms(func(t *v1.PodAffinityTerm) { t.MatchLabelKeys = []string{"version"} }), apart, notApart},
		{"apart from pods of other label values", "the members may have the same", threeOff, terms(func(t *v1.PodAffinityTerm) { t.MismatchLabelKeys = []string{"version"} }), apart, notApart},
		{"spread", "zone b takes one, so zone a gets two", fourEven, nil, spread, ""},
		{"spread that nobody asks for", "the profile has no such filter", fourEven, func(q *proof.Question) {
			q.Profile = placement.DefaultProfile()
			q.Profile.Filters = slices.DeleteFunc(slices.Clone(q.Profile.Filters), func(p *placement.Plugin) bool { return p.Name == plugins.PodTopologySpread })
		}, spread, `gang: absence.domains[0].room.key: Invalid value: "zone": no constraint`},
		{"spread of nobody", "all members are being deleted", fourEven, func(q *proof.Question) {
			for _, pod := range q.Queued {
				pod.DeletionTimestamp = &metav1.Time{}
			}
		}, spread, `gang: absence.domains[0].room.key: Invalid value: "zone": no members`},
		{"beside its own", "the zone of the member that runs is full", "gates=T; node a1:1 zone=a; node b1:8 zone=b; group g gang2 key=zone; pod r:1 in=g on=a1; pod p:1 in=g", nil,
			proof.Absence{Group: "podgroup/d/g", Key: "zone", Domains: []proof.Domain{{Name: "a", Nodes: 1, Room: &proof.Room{Kind: proof.ByMembers, Need: 1}}}}, ""},
	}, func(t *testing.T, c test) {
		q := question.Of(t, c.situation)
		if c.change != nil {
			c.change(&q)
		}
		testkit.Unchanged(t, func() {
			err := proof.CheckAbsence(q, c.a, proof.Bound{})
			if c.want == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.want)
			}
		}, q.Queued...)
	})
}

// A composite group has no place when so many of its children have none that the others are too few; each child counts once.
func TestCheckChildren(t *testing.T) {
	const job = "gates=C; node a1:2 zone=a; node b1:2 zone=b; composite job %s; group x gang1 parent=job; group y gang3 key=zone parent=job; pod xa:1 in=x; pod ya,yb,yc:1 in=y"
	domain := func(name string) proof.Domain {
		return proof.Domain{Name: name, Nodes: 1, Room: &proof.Room{Kind: proof.ByResource, Need: 3, Resource: "cpu", Free: 2000, Least: 3000}}
	}
	y := proof.Absence{Group: "podgroup/d/y", Key: "zone", Domains: []proof.Domain{domain("a"), domain("b")}}
	z := y
	z.Group = "podgroup/d/z"
	const path = "gang: absence.domains[0].children"
	type test struct {
		name, why, needs string
		children         []proof.Absence
		want             string
	}
	testkit.Run(t, []test{
		{"one of two", "both are needed", "gang2", []proof.Absence{y}, ""},
		{"one of one", "the other is enough", "gang1", []proof.Absence{y}, path + ": Invalid value: 1 children: the other 1 are enough"},
		{"twice", "it is one child", "gang1", []proof.Absence{y, y}, path + `[1].group: Invalid value: "podgroup/d/y": it stands twice`},
		{"a stranger", "no child has the name", "gang2", []proof.Absence{z}, path + `[0].group: Invalid value: "podgroup/d/z": no child of compositepodgroup/d/job`},
	}, func(t *testing.T, c test) {
		q := question.Of(t, fmt.Sprintf(job, c.needs))
		s, err := q.Subject()
		require.NoError(t, err)
		a := proof.Absence{Group: s.Tree.Root().String(), Domains: []proof.Domain{{Nodes: 2, Children: c.children}}}
		if err := proof.CheckAbsence(q, a, proof.Bound{}); c.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want)
		}
	})
}

// Stop ends the check of every way, which then proves nothing.
func TestCheckStops(t *testing.T) {
	q := question.Of(t, "node n1:3; node n2:3; group g gang3; pod a,b,c:2 in=g")
	a := proof.Absence{Group: "podgroup/d/g", Domains: []proof.Domain{{Nodes: 2, Exhausted: true}}}
	err := proof.CheckAbsence(q, a, proof.Bound{Stop: func() bool { return true }})
	require.ErrorContains(t, err, "absence.domains[0].exhausted: Invalid value: it was not checked within")
}

// Any text in the place of a certificate is refused without a panic, unless it proves what is so.
func FuzzCheckAbsence(f *testing.F) {
	f.Add("nodes", "n1", 3, 1, false)
	f.Add("resource", "cpu", 3, 6000, false)
	f.Add("", "", 0, 0, true)
	f.Fuzz(func(t *testing.T, kind, name string, need, most int, exhausted bool) {
		q := question.Of(t, "node n1:4; node n2:3; group g gang3; pod a,b,c:2 in=g")
		a := proof.Absence{Group: "podgroup/d/g", Domains: []proof.Domain{{Nodes: 2, Exhausted: exhausted}}}
		if !exhausted {
			a.Domains[0].Room = &proof.Room{Kind: proof.Kind(kind), Need: need, Resource: name, Key: name, Free: int64(most), Least: int64(need), Most: most,
				Parts: []proof.Part{{Name: name, Most: most}}}
		}
		require.Error(t, proof.CheckAbsence(q, a, proof.Bound{Steps: 1000}), "a placement exists")
	})
}

// BenchmarkCheckAbsence counts a gang of 64 at 5,000 nodes.
func BenchmarkCheckAbsence(b *testing.B) {
	text := "group g gang64\n"
	for i := range 5000 {
		text += fmt.Sprintf("node n%d:1\n", i)
	}
	for k := range 64 {
		text += fmt.Sprintf("pod m%d:2 in=g\n", k)
	}
	q := question.Of(b, text)
	a := proof.Absence{Group: "podgroup/d/g", Domains: []proof.Domain{{Nodes: 5000, Room: &proof.Room{Kind: proof.ByMembers, Need: 64}}}}
	b.ReportAllocs()
	for b.Loop() {
		if err := proof.CheckAbsence(q, a, proof.Bound{}); err != nil {
			b.Fatal(err)
		}
	}
}

// A nil pod is named.
func TestQuestion(t *testing.T) {
	q := question.Of(t, "node n1:1; group g gang1; pod a:1 in=g")
	q.Queued = []*v1.Pod{nil}
	_, err := q.Subject()
	require.EqualError(t, err, "gang: queued[0]: Required value: must not be nil")
}
