package page

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/tools/explain"
)

func nodeOf(name, zone, cpu string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelTopologyZone: zone, v1.LabelHostname: name}},
		Status:     v1.NodeStatus{Allocatable: v1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110")}},
	}
}

func podOf(name, on, cpu string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": "web"}},
		Spec:       v1.PodSpec{NodeName: on, Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse(cpu)}}}}},
	}
}

func written(t *testing.T, p *Page) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, p.Write(&b))
	return b.String()
}

var data = regexp.MustCompile(`(?s)<script id="model" type="application/json">(.*?)</script>`)

// modelOf returns the data of a page.
func modelOf(t *testing.T, file string) (m model) {
	t.Helper()
	found := data.FindStringSubmatch(file)
	require.NotNil(t, found)
	require.NoError(t, json.Unmarshal([]byte(found[1]), &m))
	return m
}

// Texts of the cluster never become elements of the page, wherever they stand.
func TestEscapes(t *testing.T) {
	const evil = `</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>`
	node := nodeOf(evil, evil, "4")
	node.Spec.Taints = []v1.Taint{{Key: evil, Value: evil, Effect: v1.TaintEffectNoSchedule}}
	pod := podOf(evil, evil, "1")
	p := New(evil, []*v1.Node{node}, []*v1.Pod{pod})
	p.Summary, p.Text = evil, evil
	p.Tell(Pod{Name: "default/" + evil, State: evil, Message: evil})
	p.Explain("default/"+evil, VerdictOf([]placement.NodeReport{{Node: evil, Rejections: []placement.Rejection{{Plugin: evil, Reasons: []string{evil}}}}}, explain.Answer{Help: []string{evil}}, nil))
	p.Timeline = &Timeline{Title: evil}
	p.Timeline.Add(evil, "", Span{Text: evil, Kind: Changes})
	file := written(t, p)
	require.NotContains(t, file, evil)
	require.NotContains(t, file, "<img")
	require.Equal(t, 2, strings.Count(file, "<script"), "the data and the script")
	require.Equal(t, 2, strings.Count(file, "</script>"))
	m := modelOf(t, file)
	require.Equal(t, evil, m.Nodes[0].Name)
	require.Equal(t, []string{"default/" + evil}, m.Pods.Name)
	require.Equal(t, evil, m.Timeline.Title)
}

// The file loads nothing: it has no address but that of its empty icon, and its policy allows its own style and script alone.
func TestSelfContained(t *testing.T) {
	file := written(t, New("t", []*v1.Node{nodeOf("n1", "a", "4")}, nil))
	require.NotRegexp(t, `https?://|//[a-z]|src=|@import|url\(|\bimport\(|fetch\(|XMLHttpRequest`, strings.ReplaceAll(file, "\n//", "\n"))
	require.Equal(t, []string{`href="data:,"`, `href="#pods"`}, regexp.MustCompile(`href="[^"]*"`).FindAllString(file, -1))
	for element, directive := range map[string]string{"style": "style-src", "script": "script-src"} {
		content := regexp.MustCompile(`(?s)<` + element + `>(.*?)</` + element + `>`).FindStringSubmatch(file)
		require.NotNil(t, content, element)
		policy := strings.NewReplacer("&#43;", "+", "&#39;", "'").Replace(file)
		require.Contains(t, policy, directive+" '"+hash(content[1])+"'")
	}
	require.NotContains(t, file, " style=", "the policy forbids styles of elements")
	require.NotContains(t, pageScript+listScript, "innerHTML")
}

// The model has the nodes by zone and name with what their pods ask for, and first the pods of which the answer says something.
func TestModel(t *testing.T) {
	cordoned := nodeOf("n2", "a", "2")
	cordoned.Spec.Unschedulable = true
	cordoned.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionUnknown}}
	over := podOf("big", "n2", "3")
	done := podOf("done", "n1", "4")
	done.Status.Phase = v1.PodSucceeded
	waits := podOf("web", "", "1")
	other := podOf("other", "n1", "1")
	other.Namespace = "kube-system"
	pooled := nodeOf("n1", "a", "4")
	pooled.Labels["cloud.google.com/gke-nodepool"] = "workers"
	p := New("t", []*v1.Node{nodeOf("n3", "", "4"), cordoned, pooled}, []*v1.Pod{over, done, waits, other})
	p.Shows = func(namespace string) bool { return namespace == "default" }
	p.Tell(Pod{Name: "default/gone", State: "Refused"})
	p.Tell(Pod{Name: "default/web", State: "Error", Message: "first"})
	p.Tell(Pod{Name: "default/web", State: "Unschedulable", Message: "0/3 nodes are available."})
	m := modelOf(t, written(t, p))
	require.Equal(t, []string{"cpu", "memory", "pods"}, m.Resources)
	require.Equal(t, []string{"a", "no zone"}, m.Zones)
	require.Equal(t, []string{"no pool", "workers"}, m.Pools)
	require.Equal(t, []node{
		{"n1", 0, 1, []use{{25, "1 of 4"}, {0, "0 of 8Gi"}, {0, "1 of 110"}}, ""},
		{"n2", 0, 0, []use{{150, "3 of 2"}, {0, "0 of 8Gi"}, {0, "1 of 110"}}, "cordoned, not ready"},
		{"n3", 1, 0, []use{{0, "0 of 4"}, {0, "0 of 8Gi"}, {0, "0 of 110"}}, ""},
	}, m.Nodes)
	require.Equal(t, []string{"default/gone", "default/web", "default/big", "default/done"}, m.Pods.Name)
	require.Equal(t, []int{-1, -1, 1, 0}, m.Pods.Node)
	var states []string
	for _, k := range m.Pods.State {
		states = append(states, m.Texts[k])
	}
	require.Equal(t, []string{"Refused", "Unschedulable", "Running", "Succeeded"}, states)
	require.Equal(t, "0/3 nodes are available.", m.Texts[m.Pods.Message[1]])
	require.Equal(t, "cpu 3", m.Texts[m.Pods.Ask[2]])
	require.Zero(t, m.Selected, "the first of which something is told")
	require.Nil(t, m.Timeline)
}

// A verdict has equal rows once, and leaves out nodes that the page does not have.
func TestVerdict(t *testing.T) {
	full := placement.Rejection{Plugin: "NodeResourcesFit", Code: "Unschedulable", Reasons: []string{"Insufficient cpu"}}
	v := VerdictOf([]placement.NodeReport{
		{Node: "n1", Scores: []placement.NodeScore{{Plugin: "ImageLocality", Weight: 2, Weighted: 40}}, Total: 40},
		{Node: "n2", Rejections: []placement.Rejection{full}}, {Node: "unknown", Rejections: []placement.Rejection{full}}, {Node: "n3", Rejections: []placement.Rejection{full}},
	}, explain.Answer{Obstacles: []explain.Obstacle{{Plugin: "NodeResourcesFit", Reason: "Insufficient cpu", Nodes: 1}}}, nil)
	p := New("t", []*v1.Node{nodeOf("n1", "a", "4"), nodeOf("n2", "a", "4"), nodeOf("n3", "a", "4")}, []*v1.Pod{podOf("web", "", "1"), podOf("other", "", "1")})
	p.Explain("default/web", v)
	p.Explain("default/none", nil)
	p.Explain("default/other", VerdictOf([]placement.NodeReport{{Node: "n3", Rejections: []placement.Rejection{full}}}, explain.Answer{}, nil))
	m := modelOf(t, written(t, p))
	require.Zero(t, m.Selected)
	require.Equal(t, map[int]int{0: 0, 1: 1}, m.Of)
	require.Equal(t, []int{2}, m.Verdicts[1].Nodes, "the third node")
	require.Equal(t, []int{0}, m.Verdicts[1].Row, "the first row")
	got := m.Verdicts[0]
	require.Equal(t, 1, got.Feasible)
	require.Equal(t, []string{"1 node: Insufficient cpu (NodeResourcesFit)"}, got.Obstacles)
	require.Equal(t, []scorer{{"ImageLocality", 2}}, got.Scorers)
	require.Len(t, got.Rows, 2)
	require.Equal(t, []int{0, 1, 2}, got.Nodes)
	require.Equal(t, []int{0, 1, 1}, got.Row)
}

// The skew of a constraint has the pods of each domain.
func TestSkews(t *testing.T) {
	pod := podOf("new", "", "1")
	constraint := func(action v1.UnsatisfiableConstraintAction, key string) v1.TopologySpreadConstraint {
		return v1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: action, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}
	}
	pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{constraint(v1.DoNotSchedule, v1.LabelTopologyZone), constraint(v1.ScheduleAnyway, v1.LabelHostname)}
	c, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{nodeOf("n1", "a", "4"), nodeOf("n2", "b", "4")}, Pods: []*v1.Pod{podOf("web", "n1", "1")}})
	require.NoError(t, err)
	skews, err := Skews(pod, c)
	require.NoError(t, err)
	text, err := json.Marshal(skews)
	require.NoError(t, err)
	require.JSONEq(t, `[
		{"title": "DoNotSchedule over topology.kubernetes.io/zone, maxSkew 1", "text": "Counts pods with app=web; the minimum is 0.", "key": "topology.kubernetes.io/zone",
		 "domains": [{"value": "a", "pods": 1, "nodes": 1, "over": true}, {"value": "b", "pods": 0, "nodes": 1, "over": false}]},
		{"title": "ScheduleAnyway over kubernetes.io/hostname, maxSkew 1", "text": "Counts pods with app=web; the minimum is 0.", "key": "kubernetes.io/hostname",
		 "domains": [{"value": "n1", "pods": 1, "nodes": 1, "over": true}, {"value": "n2", "pods": 0, "nodes": 1, "over": false}]}]`, string(text))
	three := int32(3)
	pod.Spec.TopologySpreadConstraints[0].MinDomains = &three
	skews, err = Skews(pod, c)
	require.NoError(t, err)
	text, err = json.Marshal(skews[0])
	require.NoError(t, err)
	require.Contains(t, string(text), "the minimum counts as 0, because there are fewer than minDomains 3.")
	pod.Spec.TopologySpreadConstraints[0].LabelSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Bad"}}
	_, err = Skews(pod, c)
	require.Error(t, err)
}

// Lanes come in the order in which something begins there, nodes before pods.
func TestTimeline(t *testing.T) {
	line := &Timeline{Title: "t"}
	line.Add("", "default/web", Span{From: time.Second, To: 2 * time.Second, Kind: Waits, Text: "waits"})
	line.Add("", "default/late", Span{From: 3 * time.Second, To: 3 * time.Second, Kind: Leaves})
	line.Add("n1", "", Span{From: time.Second, To: time.Second, Kind: Changes})
	line.Add("", "default/web", Span{From: 2 * time.Second, To: 5 * time.Second, Kind: Leaves})
	got := line.in(map[string]int{"n1": 7}, map[string]int{"default/web": 3})
	require.Equal(t, "default/web", line.Lanes[0].Pod, "the lanes that were given stay in their order")
	require.Equal(t, 5000.0, got.End)
	require.Equal(t, []lane{
		{"n1", 7, -1, []span{{1000, 1000, Changes, ""}}},
		{"default/web", -1, 3, []span{{1000, 2000, Waits, "waits"}, {2000, 5000, Leaves, ""}}},
		{"default/late", -1, -1, []span{{3000, 3000, Leaves, ""}}},
	}, got.Lanes)
	steps := (&Timeline{Steps: 2, Lanes: []*Lane{{Pod: "a/b"}}}).in(nil, nil)
	require.Equal(t, 2.0, steps.End)
	require.Empty(t, steps.Lanes[0].Spans)
}

// A page sorts its nodes by zone and name. The caller's list keeps its order.
func TestNodesThatWereGiven(t *testing.T) {
	given := []*v1.Node{nodeOf("n2", "b", "4"), nodeOf("n1", "a", "4")}
	m := modelOf(t, written(t, New("t", given, nil)))
	require.Equal(t, []string{"n1", "n2"}, []string{m.Nodes[0].Name, m.Nodes[1].Name})
	require.Equal(t, "n2", given[0].Name)
}

// An empty cluster is a page too.
func TestEmpty(t *testing.T) {
	text := written(t, New("", nil, nil))
	m := modelOf(t, text)
	for _, list := range []string{"zones", "pools", "nodes", "verdicts", "name", "node", "state", "ask"} {
		require.Contains(t, text, `"`+list+`":[]`, "the script reads its length")
	}
	p := New("", nil, []*v1.Pod{podOf("web", "", "1")})
	p.Explain("default/web", VerdictOf(nil, explain.Answer{}, nil))
	require.Contains(t, written(t, p), `"scorers":[]`, "the script reads its length")
	require.Empty(t, m.Nodes)
	require.Equal(t, -1, m.Selected)
	require.ErrorIs(t, New("", nil, nil).Write(broken{}), errBroken)
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

// The whole answer stands in the page as text, and the helps of a verdict are those of its answer.
func TestTextOfAPage(t *testing.T) {
	v := VerdictOf([]placement.NodeReport{{Node: "n1"}}, explain.Answer{Help: []string{"more nodes"}}, nil)
	p := New("t", []*v1.Node{nodeOf("n1", "a", "4")}, []*v1.Pod{podOf("web", "", "1")})
	p.Text, p.Select = "all that is said", "default/web"
	p.Explain("default/web", v)
	text := written(t, p)
	require.Contains(t, text, "all that is said")
	require.Equal(t, []string{"more nodes"}, modelOf(t, text).Verdicts[0].Help)
}
