package page

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/tools/explain"
)

// How full a node is: in percent, at most 999, and nothing where the node has none of the resource and no pod asks for it.
func TestUse(t *testing.T) {
	offered := v1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("0"), "pods": resource.MustParse("1")}
	for _, c := range []struct {
		of    v1.ResourceName
		asked int64
		want  use
	}{
		{"cpu", 0, use{0, "0 of 4"}}, {"cpu", 39, use{0, "39m of 4"}}, {"cpu", 40, use{1, "40m of 4"}}, {"cpu", 4000, use{100, "4 of 4"}}, {"cpu", 39_960, use{999, "39960m of 4"}}, {"cpu", 1_000_000, use{999, "1000 of 4"}},
		{"pods", 0, use{0, "0 of 1"}}, {"pods", 1, use{100, "1 of 1"}},
		{"memory", 0, use{Percent: -1}}, {"memory", 1, use{100, "1 of 0"}}, {"example.com/gpu", 0, use{Percent: -1}}, {"example.com/gpu", 2, use{100, "2 of 0"}},
	} {
		require.Equal(t, c.want, useOf(c.of, c.asked, offered), "%s %d", c.of, c.asked)
	}
}

// Resources beside the usual ones are shown where a node has them and a pod on it asks for them, by name.
func TestResourcesOfThePage(t *testing.T) {
	has := func(name, on string) *v1.Node {
		n := nodeOf(name, "a", "4")
		for _, r := range []v1.ResourceName{"example.com/gpu", "a.com/x", "z.com/idle"} {
			n.Status.Allocatable[r] = resource.MustParse(on)
		}
		return n
	}
	pod := podOf("a", "n1", "1")
	pod.Spec.Containers[0].Resources.Requests["example.com/gpu"] = resource.MustParse("1")
	pod.Spec.Containers[0].Resources.Requests["a.com/x"] = resource.MustParse("2")
	pod.Spec.Containers[0].Resources.Requests["b.com/none"] = resource.MustParse("2")
	failed, waits, second := podOf("f", "n1", "1"), podOf("w", "", "1"), podOf("s", "n1", "1")
	failed.Status.Phase = v1.PodFailed
	m := modelOf(t, written(t, New("t", []*v1.Node{has("n2", "4"), has("n1", "4")}, []*v1.Pod{pod, failed, waits, second})))
	require.Equal(t, []string{"cpu", "memory", "pods", "a.com/x", "example.com/gpu"}, m.Resources)
	require.Equal(t, []use{{50, "2 of 4"}, {0, "0 of 8Gi"}, {1, "2 of 110"}, {50, "2 of 4"}, {25, "1 of 4"}}, m.Nodes[0].Use)
	require.Equal(t, "n2", m.Nodes[1].Name)
	require.Equal(t, -1, m.Selected, "nothing is told")
	require.Nil(t, m.Timeline)
}

// The pod that is shown first: the one that Select names, else the first with a verdict, else the first of which something is told.
func TestSelectedPod(t *testing.T) {
	verdict := func() *Verdict { return VerdictOf([]placement.NodeReport{{Node: "n1"}}, explain.Answer{}, nil) }
	for _, c := range []struct {
		told, explained []string
		selects         string
		want            int
	}{
		{nil, nil, "", -1}, {nil, nil, "default/b", 1}, {[]string{"default/b"}, nil, "", 0}, {nil, []string{"default/a"}, "", 0}, {nil, []string{"default/b", "default/c"}, "", 1},
		{[]string{"default/c"}, []string{"default/a", "default/b"}, "", 1}, {nil, []string{"default/a"}, "default/c", 2}, {nil, []string{"default/c"}, "default/a", 0},
	} {
		p := New("t", []*v1.Node{nodeOf("n1", "a", "4")}, []*v1.Pod{podOf("a", "n1", "1"), podOf("b", "n1", "1"), podOf("c", "", "1")})
		p.Select = c.selects
		for _, name := range c.told {
			p.Tell(Pod{Name: name, State: "x"})
		}
		for _, name := range c.explained {
			p.Explain(name, verdict())
		}
		m := modelOf(t, written(t, p))
		require.Equal(t, c.want, m.Selected, "%v", c)
		for k, name := range m.Pods.Name {
			require.Equal(t, map[bool]int{true: -1}[name == "default/c"], m.Pods.Node[k], name)
			require.Equal(t, "cpu 1", m.Texts[m.Pods.Ask[k]], "told or not")
		}
	}
}

// The state of a pod about which nothing is told.
func TestStates(t *testing.T) {
	pod := podOf("a", "n1", "1")
	require.Equal(t, "Running", stateOf(pod))
	pod.Spec.NodeName = ""
	require.Equal(t, "Pending", stateOf(pod))
	for _, phase := range []v1.PodPhase{v1.PodSucceeded, v1.PodFailed} {
		pod.Status.Phase = phase
		require.Equal(t, string(phase), stateOf(pod))
	}
	pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	require.Equal(t, "Terminating", stateOf(pod))
}

// A lane is that of a pod, or of a node. Times are milliseconds, or steps when the timeline counts steps.
func TestLanes(t *testing.T) {
	tl := &Timeline{Title: "t"}
	tl.Add("n1", "default/b", Span{From: 3 * time.Millisecond, To: 5 * time.Millisecond, Kind: Changes, Text: "x"})
	tl.Add("n1", "default/a", Span{From: time.Millisecond, To: 2 * time.Millisecond})
	tl.Add("n2", "", Span{From: time.Millisecond, To: 9 * time.Millisecond})
	tl.Add("gone", "", Span{From: 7 * time.Millisecond, To: 8 * time.Millisecond})
	nodes, pods := map[string]int{"n1": 4, "n2": 5, "": 8}, map[string]int{"default/a": 6, "": 9}
	got := tl.in(nodes, pods)
	var names []string
	for _, l := range got.Lanes {
		names = append(names, l.Name)
	}
	require.Equal(t, []string{"n2", "default/a", "default/b", "gone"}, names)
	require.Equal(t, lane{"n2", 5, -1, []span{{1, 9, "", ""}}}, got.Lanes[0])
	require.Equal(t, lane{"default/a", 4, 6, []span{{1, 2, "", ""}}}, got.Lanes[1])
	require.Equal(t, lane{"default/b", 4, -1, []span{{3, 5, Changes, "x"}}}, got.Lanes[2])
	require.Equal(t, -1, got.Lanes[3].Node)
	require.EqualValues(t, 9, got.End)
	order := func(lanes ...string) (names string) {
		all := &Timeline{}
		for _, name := range lanes {
			if strings.Contains(name, "/") {
				all.Add("", name, Span{To: 1})
			} else {
				all.Add(name, "", Span{To: 1})
			}
		}
		for _, l := range all.in(nodes, pods).Lanes {
			names += l.Name + " "
		}
		return names
	}
	require.Equal(t, "n2 n1 d/b d/a ", order("n2", "n1", "d/b", "d/a"), "what begins at one time stays in its order")
	require.Equal(t, "n2 n1 d/b d/a ", order("d/b", "n2", "d/a", "n1"))
	require.Equal(t, "n1 n2 d/a d/b ", order("d/a", "d/b", "n1", "n2"))
	steps := &Timeline{Steps: 12}
	steps.Add("n1", "", Span{From: 1, To: 3})
	got = steps.in(nodes, pods)
	require.Equal(t, []span{{1, 3, "", ""}}, got.Lanes[0].Spans)
	require.EqualValues(t, 12, got.End)
	require.Equal(t, time.Duration(0), (&Lane{}).begin())
	p := New("t", []*v1.Node{nodeOf("n1", "a", "4")}, nil)
	p.Timeline = &Timeline{}
	require.Nil(t, modelOf(t, written(t, p)).Timeline, "no lane, no timeline")
	p.Timeline = steps
	file, err := p.Bytes()
	require.NoError(t, err)
	require.Equal(t, written(t, p), string(file))
	require.Contains(t, string(file), `id="timeline"`)
	p.Timeline = nil
	require.NotContains(t, written(t, p), `id="timeline"`)
	require.ErrorIs(t, p.Write(broken{}), errBroken)
}

// A constraint that the API server would refuse is an error, whether it is hard or soft.
func TestSkewsOfWrongConstraints(t *testing.T) {
	for _, when := range []v1.UnsatisfiableConstraintAction{v1.DoNotSchedule, v1.ScheduleAnyway} {
		pod := podOf("a", "", "1")
		pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: when, LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Nope"}}}}}
		_, err := Skews(pod, nil)
		require.Error(t, err, when)
	}
}
