package placement_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/testkit/situation"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
)

// groupWorld returns a placer over a situation, and the options of a decision about its group.
func groupWorld(t testing.TB, text string) (*situation.Situation, *placement.Placer, placement.GroupOptions) {
	t.Helper()
	s, _, placer, o := groupSnapshot(t, text)
	return s, placer, o
}

// groupSnapshot is groupWorld with the snapshot.
func groupSnapshot(t testing.TB, text string) (*situation.Situation, *cluster.Snapshot, *placement.Placer, placement.GroupOptions) {
	t.Helper()
	s, err := situation.Parse(text)
	require.NoError(t, err)
	snapshot, err := s.Snapshot()
	require.NoError(t, err)
	placer, err := placement.NewPlacer(snapshot, s.Profile())
	require.NoError(t, err)
	o := placement.GroupOptions{Gates: s.Gates, Preempt: &placement.GroupPreempt{Budgets: disruption.NewBudgets(s.Budgets, disruption.BudgetOptions{}), Now: situation.Noon}}
	var queued, waiting []*v1.Pod
	for _, p := range s.Queued {
		if _, ok := podgroup.Of(p); ok {
			queued = append(queued, p)
		}
		if p.Status.NominatedNodeName != "" {
			waiting = append(waiting, p)
		}
	}
	s.Queued = queued
	if len(waiting) > 0 {
		o.Nominated = func(i int) (out []*v1.Pod) {
			for _, p := range waiting {
				if p.Status.NominatedNodeName == snapshot.Node(i).Name {
					out = append(out, p)
				}
			}
			return out
		}
	}
	return s, snapshot, placer, o
}

// longTexts replaces the short texts of the worked examples.
var longTexts = strings.NewReplacer(
	"GU", podgroup.TextUnschedulable, "NOVIC", podgroup.TextNoVictims, "CLAIMS", podgroup.TextClaims, "ONGOING", podgroup.TextOngoing, "NEVER", podgroup.TextNever,
)

func long(text string) string {
	for _, short := range []string{"FIT", "MC", "FOUND", "PL"} {
		for {
			at := strings.Index(text, short+"(")
			if at < 0 {
				break
			}
			end := at + strings.Index(text[at:], ")")
			n := strings.Split(text[at+len(short)+1:end], ",")
			var by string
			switch short {
			case "FIT":
				by = fmt.Sprintf("0/%s nodes are available: %s Insufficient cpu.", n[0], n[0])
			case "MC":
				by = fmt.Sprintf("minCount {%s} cannot be satisfied: %s scheduled, %s remaining", n[0], n[1], n[2])
			case "FOUND":
				by = fmt.Sprintf("pod group preemption: found a placement for podgroup, preempting %s victims", n[0])
			case "PL":
				by = fmt.Sprintf("GU, 0/%s placements are available, first placement status: ", n[0])
			}
			text = text[:at] + by + text[end+1:]
		}
	}
	return longTexts.Replace(strings.NewReplacer("{", "(", "}", ")").Replace(text))
}

// lines makes lines of an expectation.
func lines(want string) string {
	return strings.NewReplacer("|", "\n", "[s]", "{s}", "PRIO", "all pods in a single pod group should have the same priority as the pod group's priority, got",
		"DRA", `error in "DynamicResources" PodGroupPostFilter plugins: not found`, "NONE", podgroup.TextNoPlacements,
		"DOMAIN", "cannot determine domain for already scheduled pods:").Replace(want)
}

// shown prints a decision: members in order, groups, victims.
func shown(d placement.GroupDecision) string {
	var lines []string
	for _, m := range d.Members {
		line := m.Pod.Name + ": " + m.Text
		switch {
		case m.Dropped:
			line = m.Pod.Name + " dropped"
		case m.Placed():
			line = m.Pod.Name + " -> " + m.Node
		case m.Code == 1:
			line = m.Pod.Name + " ERR " + m.Text
		}
		if m.Nominate != "" {
			line += " @" + m.Nominate
		}
		lines = append(lines, line)
	}
	for _, g := range d.Groups {
		switch g.Reason {
		case podgroup.ReasonScheduled:
			lines = append(lines, g.Group.Name+" True")
		case podgroup.ReasonSchedulerError:
			lines = append(lines, g.Group.Name+" ERR "+g.Message)
		default:
			lines = append(lines, g.Group.Name+": "+g.Message)
		}
	}
	if len(d.Victims) > 0 {
		var names []string
		for _, v := range d.Victims {
			names = append(names, v.Pod.Name)
		}
		slices.Sort(names)
		lines = append(lines, "leave: "+strings.Join(names, " "))
	}
	return strings.Join(lines, "\n")
}

// The worked examples: what v1.37.2 did with the same objects.
func TestGroupExamples(t *testing.T) {
	type test struct{ name, world, want string }
	testkit.Run(t, []test{
		{"E3", "node n1:4; group g gang2; pod a,b:1 in=g", "a -> n1|b -> n1|g True"},
		{"E2", "node a1:1 zone=a; node b1:1 zone=b; group g gang2 key=zone; pod p,q:1 in=g", "p -> a1|q -> b1|g True"},
		{"E4", "node n1:2; group g gang3; pod a,b,c:1 in=g", "a: GU, MC(3,2,0), NOVIC|b: GU, MC(3,2,0), NOVIC|c: FIT(1)|g: MC(3,2,0), NOVIC"},
		{"E5", "node n1:1; group g basic; pod a,b:2 in=g", "a: FIT(1)|b: FIT(1)|g: MC(1,0,0), NOVIC"},
		{"E5 one fits", "node n1:1; group g basic; pod a,b,c:1 in=g", "a -> n1|b: FIT(1)|c: FIT(1)|g True"},
		{"E6", "node n1:2; group g gang2; pod a,b,c:1 in=g", "a -> n1|b -> n1|c: FIT(1)|g True"},
		{"E7", "node n1:2; group g gang2; pod r1,r2:1 in=g on=n1; pod a:1 in=g", "a: FIT(1)|g: GU, NOVIC"},
		{"E7 room", "node n1:4; group g gang3; pod r1,r2:1 in=g on=n1; pod a:1 in=g", "a -> n1|g True"},
		{"E10", "node n1:4; group g gang2 ^5; pod a:1 in=g ^5; pod b:1 in=g ^7", "a ERR PRIO 7 and 5|b ERR PRIO 7 and 5|g ERR PRIO 7 and 5"},
		{"E10 running", "node n1:4; group g gang2; pod r:1 in=g on=n1 ^3; pod a:1 in=g", "a ERR PRIO 3 and 0|g ERR PRIO 3 and 0"},
		{"an error clears nominations", "node n1:4; group g gang2; pod a:1 in=g nominated=n1; pod b:1 in=g ^3", "a ERR PRIO 3 and 0|b ERR PRIO 3 and 0|g ERR PRIO 3 and 0"},
		{"E14", "node n1:4; group g gang2; pod a:1 in=g; pod b:1 in=g terminating; pod c:1 in=g", "a -> n1|b dropped|c -> n1|g True"},
		{"E22", "node big:4; node small:2; group g gang2; pod p1:2 in=g; pod p2:4 in=g", "p1: GU, MC(2,1,0), NOVIC|p2: FIT(2)|g: MC(2,1,0), NOVIC"},
		{"E22 larger first", "node big:4; node small:2; group g gang2; pod p2:4 in=g; pod p1:2 in=g", "p2 -> big|p1 -> small|g True"},
		{"E23", "node n1:4; group g gang2; pod a:1 in=g; pod b:1 in=g terminating", "a ERR DRA|b dropped|g ERR DRA"},
		{"E24", "node n1:4; group g gang3; pod a:1 in=g; pod b:9 in=g; pod c:1 in=g", "a: GU, MC(3,1,1), NOVIC|b: FIT(1)|c: MC(3,1,1)|g: MC(3,1,1), NOVIC"},
		{"E24 large first", "node n1:4; group g gang3; pod b:9 in=g; pod a,c:1 in=g", "b: FIT(1)|a: MC(3,0,2)|c: MC(3,0,2)|g: MC(3,0,2), NOVIC"},
		{"E26", "group g gang2; pod a,b:1 in=g", "a ERR DRA|b ERR DRA|g ERR DRA"},
		{"E28", "node n1:4; node n2:4; group g gang2; pod a,b:1 in=g nominated=n2", "a -> n2|b -> n2|g True"},
		{"E29", "node n1:4; node n2:4; group g gang2; pod a:1 in=g label=app=a; pod b:1 in=g apart=kubernetes.io/hostname=a", "a -> n1|b -> n2|g True"},
		{"E29 first needs second", "node n1:4; group g gang2; pod a:1 in=g with=kubernetes.io/hostname=b; pod b:1 in=g label=app=b", "a: 0/1 nodes are available: 1 node[s] didn't match pod affinity rules.|b: MC(2,0,1)|g: MC(2,0,1), NOVIC"},

		{"E31", "gates=T; node n1:1; group g gang2 key=zone; pod a,b:1 in=g", "a: NONE|b: NONE|g: NONE, NOVIC"},
		{"E32", "gates=T; node a1:1 zone=a; node b1:1 zone=b; group g gang2 key=zone; pod p,q:1 in=g", "p: GU, PL(2)MC(2,1,0), NOVIC|q: FIT(1)|g: PL(2)MC(2,1,0), NOVIC"},
		{"E33", "gates=T; node a1:1 zone=a; node b1,b2:1 zone=b; group g gang2 key=zone; pod p,q:1 in=g", "p -> b1|q -> b2|g True"},
		{"E34", "gates=T; node a1:1 zone=a; node b1:1 zone=b; group g gang2 key=; pod p,q:1 in=g", "p -> a1|q -> b1|g True"},
		{"E35", "gates=T; node a1:2 zone=a; node b1:8 zone=b; group g gang2 key=zone; pod r:1 in=g on=a1; pod p:1 in=g", "p -> a1|g True"},
		{"E35 full", "gates=T; node a1:1 zone=a; node b1:8 zone=b; group g gang2 key=zone; pod r:1 in=g on=a1; pod p:1 in=g", "p: FIT(1)|g: PL(1)MC(2,1,0), NOVIC"},
		{"E36", "gates=T; node a1:9 zone=a; node b1:8 zone=b; group g gang2 key=zone; pod r:1 in=g on=a1; pod s:1 in=g on=b1; pod p:1 in=g", "p ERR DOMAIN more than 1 domain found for pod group: a, b|g ERR DOMAIN more than 1 domain found for pod group: a, b"},
		{"E37", "gates=T; node a1:1 zone=a; node b1:8 zone=b; group g gang1 key=zone; pod p,q:1 in=g", "p -> a1|q: FIT(1)|g True"},
		{"E37 three", "gates=T; node a1:2 zone=a; node b1:4 zone=b; group g gang1 key=zone; pod p,q,r:1 in=g", "p -> b1|q -> b1|r -> b1|g True"},
		{"E38", "gates=T; node a1:4 zone=a; node b1:4 zone=b; pod r:2 on=a1; group g gang2 key=zone; pod p,q:1 in=g", "p -> a1|q -> a1|g True"},
		{"E40", "gates=T; node n1:1; group g gang2; pod a,b:1 in=g", "a: GU, PL(1)MC(2,1,0), NOVIC|b: FIT(1)|g: PL(1)MC(2,1,0), NOVIC"},

		{"E97", "gates=T; node a1:4 zone=a region=r; node b1:4 zone=b region=r; pod x:1 on=b1 label=app=x; group g gang2 key=zone; pod p,q:1 in=g apart=region=x",
			"p: 0/1 nodes are available: 1 node[s] didn't match pod anti-affinity rules.|q: PL(2)MC(2,0,1)|g: PL(2)MC(2,0,1), NOVIC"},
		{"E48", "gates=C; node a1:1 zone=a rack=1; node a2:1 zone=a rack=2; node b1:2 zone=b rack=3; node b2:2 zone=b rack=4; composite job gang2 key=zone; group x gang2 key=rack parent=job; group y gang2 key=rack parent=job; pod xa,xb:1 in=x; pod ya,yb:1 in=y",
			"xa -> b1|xb -> b1|ya -> b2|yb -> b2|x True|y True"},

		{"E45", "gates=C; node n1:2; composite job gang2; group x gang1 parent=job; group y gang2 parent=job; pod xa:1 in=x; pod ya,yb:1 in=y",
			"xa: PL(1)MC(2,1,0)|ya: GU, PL(1)MC(2,1,0), NOVIC|yb: FIT(1)|x: PL(1)MC(2,1,0), NOVIC, NOVIC|y: PL(1)MC(2,1,0), NOVIC"},
		{"E46", "gates=C; node n1:2; composite job gang1; group x gang1 parent=job; group y gang2 parent=job; pod xa:1 in=x; pod ya,yb:1 in=y",
			"xa -> n1|ya: GU, PL(1)MC(2,1,0)|yb: FIT(1)|x True|y: PL(1)MC(2,1,0)"},
		{"E47", "gates=C; node n1:2; composite job gang2; group x gang1 parent=job; group y gang1 parent=job; pod xa:9 in=x; pod ya:1 in=y",
			"xa: FIT(1)|ya: PL(1)MC(2,0,1)|x: PL(1)MC(1,0,0), NOVIC|y: PL(1)MC(2,0,1), NOVIC, NOVIC"},
		{"E47 inner", "gates=C; node n1:4; composite job basic; composite inner gang2 parent=job; group i basic parent=inner; group x basic parent=job; pod ia:1 in=i; pod xa:1 in=x",
			"ia: PL(1)MC(2,0,1)|xa -> n1|i: PL(1)MC(2,0,1)|x True"},
		{"E49", "gates=C; node n1:2; composite job gang1 ^5; group x gang1 ^7 parent=job; pod xa:1 in=x ^7", "xa ERR PRIO 7 and 5|x ERR PRIO 7 and 5"},
		{"E50", "gates=C; node a1:2 zone=a disk=ssd; node b1:9 zone=b; composite job gang2; group x gang1 key=zone parent=job; group y gang2 key=zone parent=job; pod xa:1 in=x; pod ya,yb:1 in=y select=disk=ssd",
			"xa: PL(1)MC(2,1,0)|ya: GU, PL(2)MC(2,1,0), NOVIC|yb: FIT(1)|x: PL(1)MC(2,1,0), NOVIC, NOVIC|y: PL(2)MC(2,1,0), NOVIC"},
		{"E51", "gates=C; node n1:2; composite job gang1; group x gang1 parent=job; group y basic parent=job; pod xa:1 in=x", "xa -> n1|x True|y: PL(1)GU"},
		{"E52", "gates=C; node n1:2; composite job gang2; group x gang1 parent=job; group y gang1 parent=job; pod xr:1 in=x on=n1; pod yr:1 in=y on=n1; pod xm:1 in=x",
			"xm: GU|x: GU, NOVIC, NOVIC, NOVIC|y: GU, NOVIC, NOVIC, NOVIC"},
		{"E53", "gates=C; node n1:2; composite job gang1; group job gang1 parent=job; pod a:1 in=job", "a: PL(1)GU|job: PL(1)GU, NOVIC"},
		{"E54", "gates=C; node a1:2 zone=a; node b1:8 zone=b; composite job gang2 key=zone; group x gang1 parent=job; group y gang1 parent=job; pod xr:1 in=x on=a1; pod ya:1 in=y", "ya -> a1|x True|y True"},

		{"E55", "node n1,n2:2; pod v1:2 on=n1 ^1; pod v2:2 on=n2 ^1; group g gang2 ^10; pod a,b:2 in=g ^10", "a: FIT(2) @n1|b: MC(2,0,1) @n2|g: MC(2,0,1), FOUND(2)|leave: v1 v2"},
		{"E56", "node n1:2; pod v1:2 on=n1 ^1; group g gang2 ^10; pod a,b:2 in=g ^10 never", "a: FIT(1)|b: MC(2,0,1)|g: MC(2,0,1), CLAIMS, NEVER"},
		{"E56 constraint", "gates=T; node n1:2 zone=a; pod v1:2 on=n1 ^1; group g gang2 ^10 key=zone; pod a,b:2 in=g ^10 never", "a: FIT(1)|b: PL(1)MC(2,0,1)|g: PL(1)MC(2,0,1), NEVER"},
		{"E57", "node n1:2; pod v1:2 on=n1 ^1; group g gang3 ^10; pod a,b,c:1 in=g ^10", "a: FIT(1)|b: MC(3,0,2)|c: MC(3,0,2)|g: MC(3,0,2), CLAIMS, pod group preemption: MC(3,2,0)"},
		{"E57 topology", "gates=T; node n1:2; pod v1:2 on=n1 ^1; group g gang3 ^10; pod a,b,c:1 in=g ^10", "a: FIT(1)|b: PL(1)MC(3,0,2)|c: PL(1)MC(3,0,2)|g: PL(1)MC(3,0,2), CLAIMS, pod group preemption: PL(1)MC(3,2,0)"},
		{"E59", "node n1:4; pod v1:1 on=n1 ^1; pod v2:1 on=n1 ^2; pod v3:1 on=n1 ^3; group g gang2 ^10; pod a,b:1 in=g ^10", "a: MC(2,1,0), FOUND(1) @n1|b: FIT(1) @n1|g: MC(2,1,0), FOUND(1)|leave: v1"},
		{"E60", "node n1,n2:2; group low basic ^1 all; pod w1:2 in=low on=n1 ^1; pod w2:1 in=low on=n2 ^1; group g gang2 ^10; pod a,b:1 in=g ^10", "a: MC(2,1,0), FOUND(2) @n1|b: FIT(2) @n2|g: MC(2,1,0), FOUND(2)|leave: w1 w2"},
		{"E61", "node n1,n2:2; group low basic ^1; pod w1:2 in=low on=n1 ^1; pod w2:1 in=low on=n2 ^1; group g gang2 ^10; pod a,b:1 in=g ^10", "a: MC(2,1,0), FOUND(1) @n1|b: FIT(2) @n2|g: MC(2,1,0), FOUND(1)|leave: w1"},
		{"E62", "node n1:2; pod v1:1 on=n1 ^1 label=app=x; pod v2:1 on=n1 ^2; budget b label=app=x allowed=0; group g gang1 ^10; pod a:1 in=g ^10", "a: FIT(1) @n1|g: MC(1,0,0), FOUND(1)|leave: v2"},
		{"E64", "node n1:1; group low basic ^20; pod w1:1 in=low on=n1 ^1; group g gang1 ^10; pod a:1 in=g ^10", "a: FIT(1)|g: MC(1,0,0), NOVIC"},
		{"E65", "node n1:1; pod w:1 in=low on=n1 ^1; group g gang1 ^10; pod a:1 in=g ^10", "a: FIT(1) @n1|g: MC(1,0,0), FOUND(1)|leave: w"},
		{"E66", "node n1:2; pod w1:2 on=n1 ^1 preempted; group g gang1 ^10; pod a:1 in=g ^10 nominated=n1", "a: FIT(1) @n1|g: MC(1,0,0), ONGOING"},
		{"E66 placed", "node n1:2; pod w1:2 on=n1 ^1 preempted; node n2:1; group g gang2 ^10; pod a:1 in=g nominated=n1 ^10; pod b:1 in=g ^10",
			"a: MC(2,1,0), ONGOING @n1|b: FIT(2)|g: MC(2,1,0), ONGOING"},
		{"E67", "node n1:2; pod v1:1 on=n1 ^1; group low basic ^1; pod w1:1 in=low on=n1 ^1; group g gang1 ^10; pod a:1 in=g ^10", "a: FIT(1) @n1|g: MC(1,0,0), FOUND(1)|leave: v1"},
		{"E67 no object", "node n1:2; pod v1:1 on=n1 ^1; pod w1:1 in=gone on=n1 ^1; group g gang1 ^10; pod a:1 in=g ^10", "a: FIT(1) @n1|g: MC(1,0,0), FOUND(1)|leave: v1"},
		{"E68", "node n1:3; group l1 basic ^1 all; group l2 basic ^1 all; pod p:1 in=l1 on=n1 ^1; pod q,r:1 in=l2 on=n1 ^1; group g gang1 ^10; pod a:1 in=g ^10", "a: FIT(1) @n1|g: MC(1,0,0), FOUND(1)|leave: p"},
		{"E69", "node n1:2; pod v1:1 on=n1 ^1 started=1; pod v2:1 on=n1 ^1 started=2; group g gang1 ^10; pod a:1 in=g ^10", "a: FIT(1) @n1|g: MC(1,0,0), FOUND(1)|leave: v2"},
		{"E70", "node n1:3; group low basic ^1 all; pod l1,l2:1 in=low on=n1 ^1 label=app=x; pod v:1 on=n1 ^2; budget b label=app=x allowed=1; group g gang1 ^10; pod a:1 in=g ^10", "a: FIT(1) @n1|g: MC(1,0,0), FOUND(1)|leave: v"},
		{"E72", "node n1:4; node n2:2; pod v1:4 on=n1 ^9; pod v2:2 on=n2 ^1; group g gang1 ^10; pod a:2 in=g ^10", "a: FIT(2) @n1|g: MC(1,0,0), FOUND(1)|leave: v1"},
		{"E73", "node n1:2; node n2:1; pod v1:2 on=n1 ^1; pod v2:1 on=n2 ^1; group g gang1 ^10; pod a:2 in=g ^10", "a: FIT(2) @n1|g: MC(1,0,0), FOUND(1)|leave: v1"},
		{"E74", "node n1:1; pod v:1 on=n1 ^1 terminating; group g gang1 ^10; pod a:1 in=g ^10", "a: FIT(1) @n1|g: MC(1,0,0), FOUND(1)|leave: v"},
		{"E76", "node n1:2; pod high:2 ^50 nominated=n1; pod v1:2 on=n1 ^1; group g gang1 ^10; pod a:1 in=g ^10", "a: FIT(1)|g: MC(1,0,0), CLAIMS, pod group preemption: MC(1,0,0)"},
		{"E77", "gates=T; node a1:2 zone=a; pod v:1 on=a1 ^1; node b1:1 zone=b; group g gang2 ^10 key=zone; pod p,q:1 in=g ^10", "p: PL(2)MC(2,1,0), FOUND(1) @a1|q: FIT(1) @a1|g: PL(2)MC(2,1,0), FOUND(1)|leave: v"},
		{"E78", "gates=C; node n1:2; pod v1:2 on=n1 ^1; composite job gang2 ^10; group x gang1 ^10 parent=job; group y gang1 ^10 parent=job; pod xa:1 in=x ^10; pod ya:1 in=y ^10",
			"xa: FIT(1) @n1|ya: PL(1)MC(2,0,1) @n1|x: PL(1)MC(1,0,0), FOUND(1)|y: PL(1)MC(2,0,1), FOUND(1), FOUND(1)|leave: v1"},
		{"E78 failed child", "gates=C; node n0:4; node n1:2; pod v0:2 on=n0 ^7; pod v1:1 on=n0 ^3; pod v2:1 on=n0 ^7; composite job gang1 ^10; group y gang2 parent=job; pod ya:2 in=y ^10; pod yb:9 in=y ^10; group z gang3 parent=job; pod zr:1 in=z on=n1 ^10; pod za,zb:1 in=z ^10",
			"ya: FIT(2) @n0|yb: PL(1)MC(2,0,1)|za: PL(1)MC(3,2,0), FOUND(3) @n0|zb: FIT(2) @n0|y: PL(1)MC(2,0,1), FOUND(3)|z: PL(1)MC(3,2,0), FOUND(3)|leave: v0 v1 v2"},
		{"E78 nomination", "gates=C; node n1:2; pod v:1 on=n1 ^1; composite job gang1 ^10; group x gang1 parent=job; group y gang2 parent=job; pod a:2 in=x ^10; pod b:1 in=y ^10 nominated=n1; pod c:9 in=y ^10",
			"a: FIT(1) @n1|b: PL(1)MC(2,1,0), FOUND(1) @n1|c: FIT(1)|x: PL(1)MC(1,0,0), FOUND(1)|y: PL(1)MC(2,1,0), FOUND(1)|leave: v"},
		{"E79", "gates=C; node n1,n2:2; composite c gang1 ^1 all; group x basic parent=c; group y basic parent=c; pod xa:2 in=x on=n1 ^1; pod ya:1 in=y on=n2 ^1; group g gang1 ^10; pod a:2 in=g ^10", "a: FIT(2) @n1|g: PL(1)MC(1,0,0), FOUND(2)|leave: xa ya"},
		{"E80", "node n1:2; pod v1:1 on=n1 ^1; pod v2:1 on=n1 ^20; group g basic ^10; pod a,b:1 in=g ^10", "a: FIT(1) @n1|b: FIT(1)|g: MC(1,0,0), FOUND(1)|leave: v1"},
		{"E92", "node n1:3; group g gang1; pod a:2 in=g; pod b:2 in=g nominated=n1", "a -> n1|b: FIT(1) @n1|g True"},
		{"E93", "gates=C; node n1:2; composite r0 basic; composite r1 basic parent=r0; composite r2 basic parent=r1; composite r3 basic parent=r2; group x gang1 parent=r3; pod xa:1 in=x", "xa -> n1|x True"},
		{"E93 constraint", "gates=C; node n1:2 zone=a; composite r0 basic key=zone; composite r1 basic parent=r0; composite r2 basic parent=r1; composite r3 basic parent=r2; group x gang1 parent=r3; pod xa:1 in=x", "xa ERR exceeded maximum hierarchy depth at podgroup/d/x|x ERR exceeded maximum hierarchy depth at podgroup/d/x"},
	}, func(t *testing.T, c test) {
		s, placer, o := groupWorld(t, c.world)
		d := placer.DecideGroup(s.Queued, o)
		require.Equal(t, long(lines(c.want)), shown(d))
		require.Equal(t, shown(d), shown(placer.DecideGroup(s.Queued, o)), "a decision changes nothing")
		if o.Nominated != nil {
			o.NominatedSlots = []int{-1, 1 << 20}
			for i := range s.Nodes {
				if len(o.Nominated(i)) > 0 {
					o.NominatedSlots = append(o.NominatedSlots, i)
				}
			}
			nominated := o.Nominated
			o.Nominated = func(i int) []*v1.Pod {
				if !slices.Contains(o.NominatedSlots, i) {
					t.Errorf("slot %d is not listed", i)
				}
				if i < 0 || i >= len(s.Nodes) {
					return s.Queued
				}
				return nominated(i)
			}
			require.Equal(t, shown(d), shown(placer.DecideGroup(s.Queued, o)), "the plan asks about the listed slots alone")
		}
		require.NoError(t, placer.AssumeGroup(d))
	})
}

// failing is a filter that fails for pods with a name, as long as the cluster has a node that is not full.
func failing(name string, free int64) *placement.Plugin {
	return &placement.Plugin{Name: "Spy", Filter: func(pod *v1.Pod, c placement.Cluster) placement.PreFiltered {
		if pod.Name != name {
			return placement.PreFiltered{}
		}
		for i := range c.Len() {
			if c.Allocatable(i)[0]-c.Requested(i)[0] >= free {
				return placement.PreFiltered{Code: filter.Error, Reasons: []string{"boom"}}
			}
		}
		return placement.PreFiltered{}
	}}
}

// The errors of plugins end the decision of a group, of a tree, and of a preemption.
func TestGroupErrors(t *testing.T) {
	const boom = `running PreFilter plugin "Spy": boom`
	type test struct {
		name, world, fails string
		free               int64
		want               string
	}
	testkit.Run(t, []test{
		{"E25", "node n1:4; group g gang1; pod a,b,c:1 in=g", "b", 0, "a ERR OTHER|b ERR BOOM|c ERR OTHER|g ERR OTHER"},
		{"E94", "gates=C; node n1:4; composite job gang1; group x gang1 parent=job; group y gang1 parent=job; pod xa:1 in=x; pod ya:1 in=y", "ya", 0, "xa ERR CHILD|ya ERR CHILD|x ERR CHILD|y ERR CHILD"},
		{"E95", "node n1:2; pod v:2 on=n1 ^1; group g gang1 ^10; pod a:1 in=g ^10", "a", 1000, `a ERR POST|g ERR POST`},
	}, func(t *testing.T, c test) {
		s, snapshot, _, o := groupSnapshot(t, c.world)
		profile := placement.DefaultProfile()
		profile.Filters = append(profile.Filters, failing(c.fails, c.free))
		placer, err := placement.NewPlacer(snapshot, profile)
		require.NoError(t, err)
		want := strings.NewReplacer("POST", `error in "DefaultPreemption" PodGroupPostFilter plugins: pod group preemption: OTHER`, "CHILD", "composite pod group evaluation failed due to child error: OTHER").Replace(c.want)
		want = strings.NewReplacer("OTHER", "failed to schedule other pod from a pod group: "+boom, "BOOM", boom).Replace(want)
		require.Equal(t, lines(want), shown(placer.DecideGroup(s.Queued, o)))
	})
}

// A decision says what its preemption did in numbers, and tells a caller that measures when its parts begin and end (PG7.7).
func TestGroupSteps(t *testing.T) {
	type test struct {
		name, why, text string
		want            string // members, placements and searches that ended, with their codes; Placements; the summary
	}
	testkit.Run(t, []test{
		{"fits", "nobody preempts", "node n1:2; group g gang2; pod a,b:1 in=g", "member Success member Success; 0; none"},
		{"placements", "each zone is one", "gates=T; node n1:1 zone=a; node n2:2 zone=b; group g gang2 key=zone; pod a,b:1 in=g",
			"member Success member Unschedulable placement Unschedulable member Success member Success placement Success; 2; none"},
		{"members of two kinds", "they are tried", "gates=T; node n1:1 zone=a; node n2:3 zone=b; group g gang2 key=zone; pod a:1 in=g; pod b:2 in=g",
			"member Success member Unschedulable placement Unschedulable member Success member Success placement Success; 2; none"},
		{"victims", "the trial is measured too", "node n1:1; pod v:1 on=n1; group g gang1 ^10; pod a:1 in=g ^10",
			"member Unschedulable member Success preemption Success; 0; Success, 0 against budgets, 0 units of groups"},
		{"budget", "one of two pods breaks it, and they leave as a unit of a group",
			"node n1:2; budget p label=app=x allowed=1; group low gang2 ^1 all; pod v,w:1 in=low on=n1 ^1 label=app=x; group g gang2 ^10; pod a,b:1 in=g ^10",
			"member Unschedulable member Success member Success preemption Success; 0; Success, 1 against budgets, 1 units of groups"},
		{"pods of a group", "each is a unit", "node n1:2; group low gang1 ^1; pod v,w:1 in=low on=n1 ^1; group g gang2 ^10; pod a,b:1 in=g ^10",
			"member Unschedulable member Success member Success preemption Success; 0; Success, 0 against budgets, 2 units of groups"},
		{"nobody", "no unit is less important", "node n1:1; pod v:1 on=n1 ^10; group g gang1; pod a:1 in=g",
			"member Unschedulable preemption UnschedulableAndUnresolvable; 0; UnschedulableAndUnresolvable, 0 against budgets, 0 units of groups"},
		{"trial", "the group fits nowhere", "node n1:1; pod v:1 on=n1; group g gang1 ^10; pod a:2 in=g ^10",
			"member Unschedulable member Unschedulable preemption Unschedulable; 0; Unschedulable, 0 against budgets, 0 units of groups"},
	}, func(t *testing.T, c test) {
		s, placer, o := groupWorld(t, c.text)
		var steps []string
		o.Begin = func(step placement.GroupStep) func(filter.Code) {
			name := map[placement.GroupStep]string{placement.MemberStep: "member", placement.PlacementStep: "placement", placement.PreemptionStep: "preemption"}[step]
			return func(code filter.Code) { steps = append(steps, name+" "+code.String()) }
		}
		d := placer.DecideGroup(s.Queued, o)
		summary := "none"
		if p := d.Preemption; p != nil {
			summary = fmt.Sprintf("%v, %d against budgets, %d units of groups", p.Code, p.Violations, p.Groups)
		}
		require.Equal(t, c.want, fmt.Sprintf("%s; %d; %s", strings.Join(steps, " "), d.Placements, summary))
	})
}
