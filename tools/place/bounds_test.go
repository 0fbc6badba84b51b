package place

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/overhead/kubelet"
	"github.com/podberth/podberth/score"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/page"
)

// The least and the largest values of flags. A percentage of 0 is one that is given.
func TestFlagBounds(t *testing.T) {
	for args, fine := range map[string]bool{
		"-percentage=-1": true, "-percentage=-2": false, "-percentage=0": true, "-percentage=100": true, "-percentage=101": false,
		"-add=x -count=1": true, "-add=x -count=0": false, "-add=x -count=1000000": true, "-add=x -count=1000001": false,
	} {
		_, err := parseFlags(append([]string{"-f", "x"}, strings.Fields(args)...), io.Discard)
		require.Equal(t, fine, err == nil, "%s: %v", args, err)
	}
	for percentage, want := range map[int]int32{-1: 100, 0: 0, 1: 1, 70: 70} {
		o, _, err := optionsOf(options{percentage: percentage}, io.Discard)
		require.NoError(t, err)
		require.Equal(t, want, *o.Profiles[0].PercentageOfNodesToScore)
	}
}

// A time is a duration or a number of seconds below a thousand million, and not negative.
func TestReadTime(t *testing.T) {
	for text, want := range map[string]time.Duration{`0`: 0, `0.5`: time.Second / 2, `999999999`: 999999999 * time.Second, `"0s"`: 0, `"1ns"`: 1, `"1m30s"`: 90 * time.Second} {
		got, err := readTime([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{`-1`, `-0.001`, `1000000000`, `"-1ns"`, `"soon"`, `true`, `{}`} {
		got, err := readTime([]byte(text))
		require.ErrorContains(t, err, "at: Invalid value: ", text)
		require.Zero(t, got)
	}
	_, err := readTime(nil)
	require.ErrorContains(t, err, "at: Required value")
	got, err := readTime([]byte(`{`))
	require.ErrorContains(t, err, "unexpected end of JSON input")
	require.Zero(t, got)
}

// The world begins with the latest time of its pods, rounded up to a second, or with the year 2026.
func TestBeginning(t *testing.T) {
	at := func(text string) metav1.Time {
		x, err := time.Parse(time.RFC3339Nano, text)
		require.NoError(t, err)
		return metav1.NewTime(x)
	}
	for _, c := range []struct{ created, started, want string }{
		{"", "", "2026-01-01T00:00:00Z"}, {"2025-05-01T10:00:00Z", "", "2025-05-01T10:00:00Z"}, {"2025-05-01T10:00:00.000000001Z", "", "2025-05-01T10:00:01Z"},
		{"2025-05-01T10:00:00.999999999Z", "", "2025-05-01T10:00:01Z"}, {"2025-05-01T10:00:00Z", "2025-05-01T10:00:03Z", "2025-05-01T10:00:03Z"},
		{"2025-05-01T10:00:07Z", "2025-05-01T10:00:03Z", "2025-05-01T10:00:07Z"}, {"2025-05-01T12:00:00+02:00", "", "2025-05-01T10:00:00Z"},
	} {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
		if c.created != "" {
			p.CreationTimestamp = at(c.created)
		}
		if c.started != "" {
			started := at(c.started)
			p.Status.StartTime = &started
		}
		w := newWorld(&dump.Objects{Pods: []*v1.Pod{{}, p, {}}}, options{})
		require.Equal(t, c.want, w.now.Format(time.RFC3339Nano))
	}
}

// What the kubelet does not set is left out: a quota or a limit of 0.
func TestCgroupValues(t *testing.T) {
	n := func(n int64) *int64 { return &n }
	for want, g := range map[string]kubelet.Cgroup{
		"":     {},
		" ":    {QuotaMicros: n(0), PeriodMicros: n(100000), MemoryBytes: n(0)},
		"  ":   {QuotaMicros: n(-1), PeriodMicros: n(100000), MemoryBytes: n(-1)},
		"   ":  {QuotaMicros: n(5)},
		"    ": {PeriodMicros: n(5)},
		", cpu.cfs_quota_us 1, cpu.cfs_period_us 2":                    {QuotaMicros: n(1), PeriodMicros: n(2)},
		", memory.limit_in_bytes 1 (1)":                                {MemoryBytes: n(1)},
		", hugetlb.1GB.limit_in_bytes 7, hugetlb.2MB.limit_in_bytes 3": {HugePages: map[string]int64{"2Mi": 3, "1Gi": 7}},
	} {
		g.Shares, g.Weight = 9, 8
		require.Equal(t, "cpu.shares 9 (cpu.weight 8)"+strings.TrimRight(want, " "), describeCgroup(g))
	}
}

// Two names are told, of more names how many more.
func TestFirstNames(t *testing.T) {
	for n, want := range []string{"", "a", "a,b", "a,b +1 more", "a,b +2 more"} {
		require.Equal(t, want, firstNames(strings.Split("abcd", "")[:n]))
	}
}

// The part with the largest share among those that the chosen node wins makes the difference; the first of two.
func TestDecider(t *testing.T) {
	part := func(name string, weighted, runnerUp int64, share float64) score.Part {
		return score.Part{Name: name, Weighted: weighted, RunnerUp: runnerUp, Share: share}
	}
	why := score.Explanation{Node: "n1", Total: 10, RunnerUp: "n2", RunnerUpTotal: 7, Lead: 3}
	for want, parts := range map[string][]score.Part{
		"n1 has 10 points, n2 has 7.":                                         {part("A", 1, 1, 0.5), part("B", 1, 2, 1)},
		"n1 has 10 points, n2 has 7. B makes the difference: 3 points to 1.":  {part("A", 2, 1, 0.1), part("B", 3, 1, 0.5), part("C", 4, 1, 0.5), part("D", 1, 5, 0.9)},
		"n1 has 10 points, n2 has 7. E makes the difference: 2 points to -1.": {part("A", 2, 1, 0.1), part("E", 2, -1, -0.5)},
	} {
		why.Parts = parts
		require.Equal(t, want, decider(why))
	}
	why.Lead = 0
	require.Equal(t, "n1 has 10 points, n2 has 7: they are equally good, and the first in the order of the nodes is taken.", decider(why))
}

// Weights that change the decision are told with their limits.
func TestMargins(t *testing.T) {
	c := &diagnose.Comparison{Chosen: "n1"}
	for want, p := range map[string]diagnose.ScorePart{
		"": {Plugin: "A", Least: 1, Most: -1}, "n1 stays the choice with weights of A 2 to any.\n": {Plugin: "A", Least: 2, Most: -1},
		"n1 stays the choice with weights of A 0 to 0.\n": {Plugin: "A", Least: 0, Most: 0}, "n1 stays the choice with weights of A 1 to 7.\n": {Plugin: "A", Least: 1, Most: 7},
	} {
		c.Parts = []diagnose.ScorePart{p}
		require.Equal(t, want, margins(c))
	}
}

// Five pods that leave are told, the last ones; the last makes room, or none does.
func TestOutlook(t *testing.T) {
	var ends []diagnose.End
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600))
	require.Empty(t, outlookText(&diagnose.Outlook{}))
	for k := range 7 {
		ends = append(ends, diagnose.End{At: at.Add(time.Duration(k) * time.Minute), Pod: fmt.Sprint("p", k), Node: "n", Why: "grace", Wakes: k%2 == 1})
	}
	text := outlookText(&diagnose.Outlook{Ends: ends[:1]})
	require.Equal(t, "Pods that leave:\n  2025-12-31T23:00:00Z: p0 leaves n (grace)\nNone of these makes room for it.\n", text)
	text = outlookText(&diagnose.Outlook{Ends: ends, At: &at, Node: "n"})
	require.NotContains(t, text, "p1 leaves")
	for k := 2; k < 7; k++ {
		require.Contains(t, text, fmt.Sprintf("%d:00Z: p%d leaves n (grace)%s\n", k, k, map[bool]string{true: ", which wakes it"}[k%2 == 1]))
	}
	require.True(t, strings.HasSuffix(text, "\nThen it goes to n.\n"))
}

// A page keeps the verdicts of all pods while there is much room, then of two pods of each controller, and none beyond its limit. A pod
// that is tried again keeps its place.
func TestRoomForVerdicts(t *testing.T) {
	pod := func(name, namespace, owner, kind string) *v1.Pod {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
		if owner != "" {
			yes := true
			p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: owner, Controller: &yes}}
		}
		return p
	}
	s := verdicts{of: map[string]*page.Verdict{}, alike: map[string]int{}}
	const half = mostVerdicts / 2
	require.True(t, s.room(pod("a", "x", "web", ""), half-1))
	require.True(t, s.room(pod("b", "x", "web", ""), 1))
	require.Equal(t, half, s.nodes)
	require.True(t, s.room(pod("c", "x", "web", ""), 1), "up to the half, pods that are alike have room")
	require.False(t, s.room(pod("d", "x", "web", ""), 1))
	require.True(t, s.room(pod("d", "y", "web", ""), 1), "another namespace")
	require.True(t, s.room(pod("d", "x", "api", ""), 1), "another controller")
	require.True(t, s.room(pod("d", "x", "web", "Job"), 1), "another kind")
	require.True(t, s.room(pod("e", "x", "", ""), 1), "no controller")
	require.True(t, s.room(pod("f", "x", "", ""), 1), "each pod for itself")
	s.of["x/d"] = &page.Verdict{}
	require.True(t, s.room(pod("d", "x", "web", ""), 1), "it has a verdict already")
	require.Equal(t, half+6, s.nodes)
	require.False(t, s.room(pod("g", "x", "", ""), mostVerdicts-s.nodes+1))
	require.True(t, s.room(pod("g", "x", "", ""), mostVerdicts-s.nodes))
	require.Equal(t, mostVerdicts, s.nodes)
	require.False(t, s.room(pod("h", "x", "", ""), 1))
}

// An explanation has twenty nodes; -all has every node.
func TestNodesOfExplanations(t *testing.T) {
	input := podYAML("p", "", 0, "1", "")
	for n := 1; n <= 22; n++ {
		input += nodeYAML(fmt.Sprintf("n%02d", n), "4", "")
		if n < 19 {
			continue
		}
		for _, all := range []bool{false, true} {
			args := []string{"-f", "-", "-explain", "default/p"}
			if all {
				args = append(args, "-all")
			}
			_, out, errs := simulate(t, input, args...)
			require.Empty(t, errs)
			more := map[bool]string{true: fmt.Sprintf("\n%d more nodes: -all shows them.\n", n-20)}[n > 20 && !all]
			require.Equal(t, more != "", strings.Contains(out, "more nodes: -all"), out)
			require.Contains(t, out, more)
			shown := n
			if !all {
				shown = min(n, 20)
			}
			require.Equal(t, shown, strings.Count(out, ": can take it, total"))
		}
	}
}

// The seed chooses among equally good nodes. Each seed has its own choices, and they stay the same.
func TestSeeds(t *testing.T) {
	input := ""
	for k := range 8 {
		input += nodeYAML(fmt.Sprint("n", k), "4", "") + podYAML(fmt.Sprint("p", k), "", 0, "1", "")
	}
	seen := map[string]bool{}
	for seed := range 4 {
		code, out, errs := simulate(t, input, "-f", "-", "-no-headers", "-seed", fmt.Sprint(seed))
		require.Zero(t, code, errs)
		var nodes []string
		for line := range strings.Lines(out) {
			nodes = append(nodes, strings.Fields(line)[4])
		}
		seen[strings.Join(nodes, " ")] = true
		if seed == 0 {
			require.Equal(t, "n0 n1 n2 n3 n4 n5 n6 n7", strings.Join(nodes, " "))
		}
		if seed == 1 {
			require.Equal(t, "n3 n0 n6 n1 n2 n5 n4 n7", strings.Join(nodes, " "))
		}
	}
	require.Len(t, seen, 4)
}

// What is deleted is gone: it can be added again, and cannot be deleted twice.
func TestDeletedTwice(t *testing.T) {
	for kind, object := range map[string]string{
		"Node n9":            "{apiVersion: v1, kind: Node, metadata: {name: n9}}",
		"StorageClass fast":  "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: x}",
		"PriorityClass high": "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1}",
	} {
		again := "- {at: 1s, add: " + object + "}\n- {at: 2s, delete: " + object + "}\n- {at: 3s, add: " + object + "}\n- {at: 4s, delete: " + object + "}\n"
		code, _, errs := withTimeline(t, oneNode, again)
		require.Zero(t, code, errs)
		code, _, errs = withTimeline(t, oneNode, again+"- {at: 5s, delete: "+object+"}\n")
		require.Equal(t, 2, code)
		require.Contains(t, errs, "event 5: Not found: "+kind)
	}
}
