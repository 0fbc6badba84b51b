package extender

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/scheduler/config"
	"github.com/podberth/podberth/scheduler/httpextender"
)

var ctx = context.Background()

// shop is a cluster of three zones and five nodes, with web pods, a database and a pod that waits for node-5.
const shop = `
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: node-1, labels: {topology.kubernetes.io/zone: a}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
- {apiVersion: v1, kind: Node, metadata: {name: node-2, labels: {topology.kubernetes.io/zone: a}}, spec: {unschedulable: true}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
- {apiVersion: v1, kind: Node, metadata: {name: node-3, labels: {topology.kubernetes.io/zone: b}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
- {apiVersion: v1, kind: Node, metadata: {name: node-4, labels: {topology.kubernetes.io/zone: b, disk: ssd}}, status: {allocatable: {cpu: "8", memory: 16Gi, pods: "10"}}}
- {apiVersion: v1, kind: Node, metadata: {name: node-5, labels: {topology.kubernetes.io/zone: c}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
- {apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: shop, uid: web-1, labels: {app: web}}, spec: {nodeName: node-1, priority: 5, containers: [{name: c, resources: {requests: {cpu: "3", memory: 1Gi}}}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: web-2, namespace: shop, uid: web-2, labels: {app: web}}, spec: {nodeName: node-3, priority: 1, containers: [{name: c, resources: {requests: {cpu: "2", memory: 1Gi}}}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: db-1, namespace: data, uid: db-1, labels: {app: db}}, spec: {nodeName: node-3, priority: 3, containers: [{name: c, resources: {requests: {cpu: "2", memory: 1Gi}}}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: gpu-1, namespace: shop, uid: gpu-1}, spec: {priority: 100, containers: [{name: c, resources: {requests: {cpu: "3"}}}]}, status: {nominatedNodeName: node-5}}
`

var all = []string{"node-1", "node-2", "node-3", "node-4", "node-5"}

// input returns the objects of a list or of several documents.
func input(t testing.TB, text string) cluster.Objects {
	t.Helper()
	var in cluster.Objects
	var add func(document []byte)
	add = func(document []byte) {
		var head struct {
			Kind  string
			Items []json.RawMessage
		}
		require.NoError(t, yaml.Unmarshal(document, &head))
		var object any
		switch head.Kind {
		case "List":
			for _, item := range head.Items {
				add(item)
			}
			return
		case "Node":
			in.Nodes = append(in.Nodes, &v1.Node{})
			object = in.Nodes[len(in.Nodes)-1]
		case "Pod":
			in.Pods = append(in.Pods, &v1.Pod{})
			object = in.Pods[len(in.Pods)-1]
		case "PodDisruptionBudget":
			in.PodDisruptionBudgets = append(in.PodDisruptionBudgets, &policyv1.PodDisruptionBudget{})
			object = in.PodDisruptionBudgets[len(in.PodDisruptionBudgets)-1]
		default:
			require.Fail(t, "no kind "+head.Kind)
		}
		require.NoError(t, yaml.UnmarshalStrict(document, object))
	}
	for document := range strings.SplitSeq(text, "\n---\n") {
		add([]byte(document))
	}
	return in
}

// start serves the shop with what change makes of the options.
func start(t testing.TB, change func(*Options)) (*Handler, *httptest.Server) {
	t.Helper()
	return startWith(t, nil, change)
}

func startWith(t testing.TB, profiles []placement.Profile, change func(*Options)) (*Handler, *httptest.Server) {
	t.Helper()
	var o Options
	if change != nil {
		change(&o)
	}
	s, err := New(input(t, shop), profiles, o)
	require.NoError(t, err)
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return s, h
}

// profilesOf returns the profiles of a configuration.
func profilesOf(t testing.TB, text string) (out []placement.Profile) {
	t.Helper()
	c, err := config.Load([]byte(text))
	require.NoError(t, err)
	for k := range c.Profiles {
		out = append(out, c.Profiles[k].Placement)
	}
	return out
}

func client(t *testing.T, url string, names bool) *httpextender.Client {
	t.Helper()
	c, err := httpextender.New(configv1.Extender{
		URLPrefix: url, FilterVerb: "filter", PrioritizeVerb: "prioritize", PreemptVerb: "preempt", Weight: 1, NodeCacheCapable: names,
	}, httpextender.Options{})
	require.NoError(t, err)
	return c
}

func nodesNamed(names ...string) []*v1.Node {
	var out []*v1.Node
	for _, name := range names {
		out = append(out, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return out
}

func podAsking(cpu string) *v1.Pod {
	priority := int32(10)
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "new", UID: "new", Labels: map[string]string{"app": "web"}},
		Spec: v1.PodSpec{Priority: &priority, Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{"cpu": resource.MustParse(cpu)}}}}},
	}
}

func TestFilter(t *testing.T) {
	_, h := start(t, nil)
	type test struct {
		name, why            string
		pod                  func(*v1.Pod)
		cpu                  string
		asked                []string
		nodes                []string
		failed, unresolvable map[string]string
	}
	testkit.Run(t, []test{
		{"plain", "each node's first rejection; node-5 is kept for gpu-1", nil, "2", all, []string{"node-4"},
			map[string]string{"node-1": "Insufficient cpu", "node-3": "Insufficient cpu", "node-5": "Insufficient cpu"}, map[string]string{"node-2": "node(s) were unschedulable"}},
		{"small", "node-5 has room for both", nil, "1", all, []string{"node-1", "node-4", "node-5"},
			map[string]string{"node-3": "Insufficient cpu"}, map[string]string{"node-2": "node(s) were unschedulable"}},
		{"too large", "no eviction helps", nil, "5", []string{"node-1", "node-4"}, []string{"node-4"}, map[string]string{}, map[string]string{"node-1": "Insufficient cpu"}},
		{"some nodes", "only those asked about, in that order", nil, "1", []string{"node-5", "node-1"}, []string{"node-5", "node-1"}, map[string]string{}, map[string]string{}},
		{"unknown node", "neither input nor request has an object of this name", nil, "1", []string{"node-9", "node-4"}, []string{"node-4"}, map[string]string{}, map[string]string{"node-9": "node(s) unknown to the extender"}},
		{"anti-affinity", "the pods on the nodes are the input's", func(p *v1.Pod) {
			p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{
				{TopologyKey: "topology.kubernetes.io/zone", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}}}
		}, "1", []string{"node-1", "node-4", "node-5"}, []string{"node-5"},
			map[string]string{"node-1": "node(s) didn't match pod anti-affinity rules", "node-4": "node(s) didn't match pod anti-affinity rules"}, map[string]string{}},
		{"pinned", "a pod that names its node narrows the others out", func(p *v1.Pod) {
			p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{
				{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"node-4"}}}}}}}}
		}, "1", []string{"node-1", "node-4"}, []string{"node-4"}, map[string]string{}, map[string]string{"node-1": "node(s) didn't satisfy plugin(s) [NodeAffinity]"}},
		{"rejected as a whole", "the PreFilter's text on every node", func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "none"}}}}
		}, "1", []string{"node-1"}, []string{}, map[string]string{}, map[string]string{"node-1": `persistentvolumeclaim "none" not found`}},
	}, func(t *testing.T, c test) {
		pod := podAsking(c.cpu)
		if c.pod != nil {
			c.pod(pod)
		}
		a, err := client(t, h.URL, true).Filter(ctx, pod, nodesNamed(c.asked...))
		require.NoError(t, err)
		require.Equal(t, append([]string{}, c.nodes...), append([]string{}, a.Nodes...))
		require.Equal(t, c.failed, a.Failed)
		require.Equal(t, c.unresolvable, a.Unresolvable)
	})
}

// Without nodeCacheCapable objects go both ways, and what they say counts.
func TestFilterByObjects(t *testing.T) {
	s, h := start(t, nil)
	x := client(t, h.URL, false)
	big := nodesNamed("node-1", "node-6")
	for _, n := range big {
		n.Status.Allocatable = v1.ResourceList{"cpu": resource.MustParse("64"), "memory": resource.MustParse("64Gi"), "pods": resource.MustParse("10")}
	}
	a, err := x.Filter(ctx, podAsking("30"), big)
	require.NoError(t, err)
	require.Equal(t, []string{"node-1", "node-6"}, a.Nodes, "node-1 has grown and node-6 is new")
	a, err = client(t, h.URL, true).Filter(ctx, podAsking("30"), nodesNamed("node-6"))
	require.NoError(t, err)
	require.Equal(t, []string{"node-6"}, a.Nodes, "it is known from then on")
	version := s.w.snapshot.Version()
	_, err = x.Filter(ctx, podAsking("30"), big)
	require.NoError(t, err)
	require.Equal(t, version, s.w.snapshot.Version(), "nodes that are as they were change nothing")
	_, err = x.Filter(ctx, podAsking("1"), nodesNamed(""))
	require.ErrorContains(t, err, "code 400")
}

func TestPrioritize(t *testing.T) {
	_, h := start(t, nil)
	got, err := client(t, h.URL, true).Prioritize(ctx, podAsking("1"), nodesNamed("node-1", "node-4", "node-9", "node-5"))
	require.NoError(t, err)
	require.Len(t, got.Scores, 4)
	score := map[string]int64{}
	for k, s := range got.Scores {
		score[got.Hosts[k]] = s
		require.True(t, s >= 0 && s <= 10)
	}
	require.Greater(t, score["node-4"], score["node-1"], "the emptier node")
	require.Zero(t, score["node-9"], "unknown")

	_, fine := start(t, func(o *Options) { o.MaxScore = 1000 })
	precise, err := client(t, fine.URL, true).Prioritize(ctx, podAsking("1"), nodesNamed("node-1", "node-4", "node-9", "node-5"))
	require.NoError(t, err)
	for k, s := range precise.Scores {
		require.InDelta(t, float64(got.Scores[k]), float64(s)/100, 0.51)
	}
}

// Victims that suffice stay as they are; where podberth's filters need more pods to leave, they are added; a node that
// cannot be helped is left out.
func TestPreempt(t *testing.T) {
	victim := func(uid string) *v1.Pod { return &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}} }
	type test struct {
		name, why, cpu string
		in             map[string]httpextender.Victims
		want           map[string]httpextender.MetaVictims
	}
	testkit.Run(t, []test{
		{"enough", "the pod fits without the victim", "2", map[string]httpextender.Victims{"node-3": {Pods: []*v1.Pod{victim("web-2")}, Violations: 1}},
			map[string]httpextender.MetaVictims{"node-3": {UIDs: []types.UID{"web-2"}, Violations: 1}}},
		{"too few", "both have to leave", "4", map[string]httpextender.Victims{"node-3": {Pods: []*v1.Pod{victim("web-2")}}},
			map[string]httpextender.MetaVictims{"node-3": {UIDs: []types.UID{"web-2", "db-1"}}}},
		{"too few, one named twice", "a pod leaves once", "4", map[string]httpextender.Victims{"node-3": {Pods: []*v1.Pod{victim("web-2"), victim("web-2")}}},
			map[string]httpextender.MetaVictims{"node-3": {UIDs: []types.UID{"web-2", "db-1"}}}},
		{"in vain", "the node is too small", "5", map[string]httpextender.Victims{"node-3": {Pods: []*v1.Pod{victim("web-2")}}}, map[string]httpextender.MetaVictims{}},
		{"cordoned", "no victim makes the node schedulable", "1", map[string]httpextender.Victims{"node-2": {}}, map[string]httpextender.MetaVictims{}},
		{"unknown victim", "younger than the input: as it came", "2", map[string]httpextender.Victims{"node-3": {Pods: []*v1.Pod{victim("new-1")}}},
			map[string]httpextender.MetaVictims{"node-3": {UIDs: []types.UID{"new-1"}}}},
		{"unknown node", "the input has no such node", "2", map[string]httpextender.Victims{"node-9": {Pods: []*v1.Pod{victim("x")}}}, map[string]httpextender.MetaVictims{}},
		{"several nodes", "each on its own", "2", map[string]httpextender.Victims{"node-1": {Pods: []*v1.Pod{victim("web-1")}}, "node-3": {Pods: []*v1.Pod{victim("db-1")}}},
			map[string]httpextender.MetaVictims{"node-1": {UIDs: []types.UID{"web-1"}}, "node-3": {UIDs: []types.UID{"db-1"}}}},
	}, func(t *testing.T, c test) {
		_, h := start(t, nil)
		for _, names := range []bool{true, false} {
			got, err := client(t, h.URL, names).Preempt(ctx, podAsking(c.cpu), c.in)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		}
	})
}

// The pod's profile decides.
func TestProfiles(t *testing.T) {
	profiles := profilesOf(t, `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
- schedulerName: ssd
  pluginConfig:
  - name: NodeAffinity
    args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: In, values: [ssd]}]}]}}}
`)
	_, h := startWith(t, profiles, nil)
	x, pod := client(t, h.URL, true), podAsking("1")
	for name, want := range map[string][]string{"default-scheduler": {"node-1", "node-4", "node-5"}, "ssd": {"node-4"}} {
		pod.Spec.SchedulerName = name
		a, err := x.Filter(ctx, pod, nodesNamed(all...))
		require.NoError(t, err)
		require.Equal(t, want, a.Nodes)
	}
	pod.Spec.SchedulerName = "other"
	_, err := x.Filter(ctx, pod, nodesNamed(all...))
	require.ErrorContains(t, err, "code 400")
}

// The server refuses bodies that are not requests of the wire format.
func TestBadRequests(t *testing.T) {
	_, h := start(t, nil)
	type test struct {
		name, method, path, body string
		status                   int
		text                     string
	}
	testkit.Run(t, []test{
		{"health", "GET", "/healthz", "", 200, "ok\n"},
		{"other verb", "POST", "/bind", "{}", 404, "/bind: Unsupported value: supported values: /filter, /prioritize, /preempt\n"},
		{"other method", "GET", "/filter", "", 405, "only POST\n"},
		{"not JSON", "POST", "/filter", "<html>", 400, "request: invalid character '<' looking for beginning of value\n"},
		{"no pod", "POST", "/filter", `{"NodeNames":[]}`, 400, "Pod: Required value\n"},
		{"no pod to prioritize", "POST", "/prioritize", `null`, 400, "Pod: Required value\n"},
		{"no pod to preempt", "POST", "/preempt", `{}`, 400, "Pod: Required value\n"},
		{"no nodes", "POST", "/filter", `{"Pod":{}}`, 400, "Nodes: Required value: node objects, or NodeNames\n"},
		{"no nodes to prioritize", "POST", "/prioritize", `{"Pod":{}}`, 400, "Nodes: Required value: node objects, or NodeNames\n"},
		{"null list of victims", "POST", "/preempt", `{"Pod":{},"NodeNameToVictims":{"node-3":null}}`, 200, `{"NodeNameToMetaVictims":{}}` + "\n"},
		{"null victim", "POST", "/preempt", `{"Pod":{},"NodeNameToMetaVictims":{"node-1":{"Pods":[null]}}}`, 400, "NodeNameToMetaVictims[node-1].Pods[0]: Required value\n"},
		{"null victim before an object", "POST", "/preempt", `{"Pod":{},"NodeNameToVictims":{"node-1":{"Pods":[null,{}]}}}`, 400, "NodeNameToVictims[node-1].Pods[0]: Required value\n"},
		{"null victim as an object", "POST", "/preempt", `{"Pod":{},"NodeNameToVictims":{"node-1":{"Pods":[{},null]}}}`, 400, "NodeNameToVictims[node-1].Pods[1]: Required value\n"},
		{"resource claims", "POST", "/filter", `{"Pod":{"spec":{"resourceClaims":[{"name":"x","resourceClaimName":"y"}]}},"NodeNames":["node-1"]}`, 200, ""},
	}, func(t *testing.T, c test) {
		r, err := http.NewRequest(c.method, h.URL+c.path, strings.NewReader(c.body))
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Equal(t, c.status, response.StatusCode)
		if c.text == "" {
			require.Contains(t, string(body), "could not find ResourceClaim", "the extender knows no claims")
			return
		}
		require.Equal(t, c.text, string(body))
	})
}

// Keys in lower case, as in the days of v1.16, and requests side by side.
func TestOldKeysAndManyRequests(t *testing.T) {
	_, h := start(t, nil)
	done := make(chan string, 20)
	for range cap(done) {
		go func() {
			response, err := http.Post(h.URL+"/filter", "application/json", strings.NewReader(`{"pod":{"metadata":{"name":"p"},"spec":{"containers":[]}},"nodes":null,"nodenames":["node-4","node-2"]}`))
			if err != nil {
				done <- err.Error()
				return
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil {
				done <- err.Error()
				return
			}
			done <- string(body)
		}()
	}
	for range cap(done) {
		require.Equal(t, `{"Nodes":null,"NodeNames":["node-4"],"FailedNodes":{},"FailedAndUnresolvableNodes":{"node-2":"node(s) were unschedulable"},"Error":""}`+"\n", <-done)
	}
}
