package podgroup

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/testkit/situation"
	"github.com/podberth/podberth/planning/gang"
	"github.com/podberth/podberth/planning/gang/proof"
)

var givenUp = flag.Int("given-up", 0, "situations of each kind in which kube-scheduler gives a gang up; 0 skips them")

// crowded are kinds of situations in which a gang may wait although a place exists. Each has nodes with about as much as the gang asks for.
var crowded = []struct {
	kind string
	make func(b *testkit.Bytes) []string
}{
	{"order: members and nodes of different size", func(b *testkit.Bytes) []string {
		return append(nodes(b, 2+b.Below(4), 6, ""), members(b, 2+b.Below(5), 4, "g", nil)...)
	}},
	{"unconstrained sibling", func(b *testkit.Bytes) []string {
		lines := []string{"gates=C", fmt.Sprintf("node a1:%d zone=a disk=ssd", 2+b.Below(4)), fmt.Sprintf("node b1:%d zone=b", 2+b.Below(9)), fmt.Sprintf("node c1:%d zone=c disk=ssd", 1+b.Below(2)),
			"composite job gang2"}
		for k, where := range []string{"", " select=disk=ssd"} {
			n := 1 + b.Below(3)
			lines = append(lines, fmt.Sprintf("group %c gang%d key=zone parent=job", 'x'+k, n))
			for m := range n {
				lines = append(lines, fmt.Sprintf("pod %c%d:1 in=%c%s", 'x'+k, m, 'x'+k, where))
			}
		}
		return lines
	}},
	{"fragmentation: nodes in use", func(b *testkit.Bytes) []string {
		n := 3 + b.Below(4)
		lines := nodes(b, n, 8, "")
		for k := range n {
			lines = append(lines, fmt.Sprintf("pod r%d:%d on=n%d", k, 1+b.Below(4), k))
		}
		return append(lines, members(b, 3+b.Below(5), 4, "g", nil)...)
	}},
	{"anti-affinity", func(b *testkit.Bytes) []string {
		rules := []string{"", " label=app=m apart=kubernetes.io/hostname=m", " label=app=m apart=kubernetes.io/hostname=m", " label=app=o apart=kubernetes.io/hostname=m"}
		return append(nodes(b, 2+b.Below(4), 5, ""), members(b, 2+b.Below(4), 3, "g", rules)...)
	}},
	{"growth beside scheduled members", func(b *testkit.Bytes) []string {
		lines := append([]string{"gates=T"}, nodes(b, 3+b.Below(3), 6, " zone=a")...)
		lines = append(lines, "node z1:9 zone=b", "pod s:1 in=g on=n0")
		return append(lines, members(b, 2+b.Below(4), 4, "g", nil, "key=zone")...)
	}},
}

func nodes(b *testkit.Bytes, n, most int, labels string) (lines []string) {
	for k := range n {
		lines = append(lines, fmt.Sprintf("node n%d:%d%s", k, 2+b.Below(most-1), labels))
	}
	return lines
}

// members are a gang of which all are needed.
func members(b *testkit.Bytes, n, most int, group string, rules []string, spec ...string) []string {
	lines := []string{fmt.Sprintf("group %s gang%d %s", group, n, strings.Join(spec, " "))}
	if len(spec) > 0 {
		lines[0] = fmt.Sprintf("group %s gang%d %s", group, n+1, strings.Join(spec, " ")) // one runs
	}
	for k := range n {
		rule := ""
		if len(rules) > 0 {
			rule = rules[b.Below(len(rules))]
		}
		lines = append(lines, fmt.Sprintf("pod %s%d:%d in=%s%s", group, k, 1+b.Below(most), group, rule))
	}
	return lines
}

// Of the gangs that kube-scheduler gives up, gang.Find finds a placement for a share, and proves for the others that none exists.
func TestGivenUp(t *testing.T) {
	if *givenUp == 0 {
		t.Skip("-given-up N asks about N given up situations of each kind")
	}
	for at, c := range crowded {
		asked, count := 0, map[gang.Outcome]int{}
		for n := *seed; count[gang.Exists]+count[gang.None]+count[gang.Unknown] < *givenUp; n++ {
			text := strings.Join(c.make(testkit.NewBytes(testkit.RandomBytes(n*10+uint64(at), 200))), "\n")
			s, err := situation.Parse(text)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			snapshot, err := s.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			free := map[string]int64{}
			for i := range snapshot.Len() {
				free[""] += snapshot.Allocatable(i).At(0) - snapshot.Requested(i).At(0)
			}
			for _, p := range s.Queued {
				free[""] -= p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
			}
			if free[""] < 0 { // plainly too little
				continue
			}
			asked++
			told, err := theirs(s)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if strings.Contains(told, " -> ") {
				continue
			}
			q := proof.Question{Snapshot: snapshot, Queued: s.Queued, Profile: s.Profile(), Gates: s.Gates}
			a, err := gang.Find(q, gang.Options{})
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			switch a.Outcome {
			case gang.Exists:
				err = proof.CheckPlacement(q, a.Places)
			case gang.None:
				err = proof.CheckAbsence(q, *a.Absence, proof.Bound{})
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			count[a.Outcome]++
		}
		t.Logf("| %s | %d | %d | %d | %d | %d |", c.kind, asked, *givenUp, count[gang.Exists], count[gang.None], count[gang.Unknown])
	}
}
