package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/tools/place"
)

const header = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

// second are configurations that place compares with the default one.
var second = []struct{ name, text string }{
	{"most allocated", header + "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]}}}]}]\n"},
	{"ratio", header + "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: RequestedToCapacityRatio, resources: [{name: cpu, weight: 3}], requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 70, score: 10}, {utilization: 100, score: 3}]}}}}]}]\n"},
	{"weights", header + "profiles: [{plugins: {score: {disabled: [{name: PodTopologySpread}, {name: NodeResourcesBalancedAllocation}], enabled: [{name: NodeAffinity, weight: 20}]}}}]\n"},
}

// program place -against lists exactly the pods for which kube-scheduler ends differently with the two configurations. Each run of
// kube-scheduler follows the program where several nodes are equally good, and only there.
func TestAgainst(t *testing.T) {
	ctx := context.Background()
	n, changed, only, ties := gen.Count(60, 6), 0, 0, 0
	for k := range n {
		seed := uint64(*gen.Seed) + uint64(k)
		c, other := scattered(seed), second[seed%uint64(len(second))]
		dir := t.TempDir()
		input, a, b := filepath.Join(dir, "cluster.json"), filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml")
		var text bytes.Buffer
		out := json.NewEncoder(&text)
		for _, o := range objectsOf(c) {
			must(t, out.Encode(o))
		}
		for path, data := range map[string][]byte{input: text.Bytes(), a: []byte(header), b: []byte(other.text)} {
			must(t, os.WriteFile(path, data, 0o600))
		}
		var listed struct {
			Pods []struct {
				Pod  string
				A, B struct{ Node string }
			}
		}
		placed(t, &listed, "-f", input, "-config", a, "-against", b, "-o", "json")
		says := map[string][2]string{}
		for _, p := range listed.Pods {
			says[p.Pod] = [2]string{p.A.Node, p.B.Node}
		}
		var ends [2]map[string]string
		for side, config := range []string{a, b} {
			nodes, tied := follow(t, ctx, c, config, input)
			ends[side] = nodes
			ties += tied
		}
		for _, p := range c.Pending {
			name := p.Namespace + "/" + p.Name
			was, is := ends[0][name], ends[1][name]
			got, found := says[name]
			if found != (was != is) || found && got != [2]string{was, is} {
				t.Errorf("seed %d, %s: %s: kube-scheduler %q and %q, the program lists it %v: %q", seed, other.name, name, was, is, found, got)
			}
			if was != is {
				changed++
				if was == "" || is == "" {
					only++
				}
			}
			delete(says, name)
		}
		if len(says) > 0 {
			t.Errorf("seed %d: the program lists pods that run: %v", seed, says)
		}
	}
	t.Logf("%d clusters, %d pods end differently, %d of them without a node with one configuration, %d ties", n, changed, only, ties)
	if changed == 0 || only == 0 {
		t.Error("the configurations never differ")
	}
}

// placed runs program place and reads its JSON.
func placed(t *testing.T, into any, args ...string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := place.Run(t.Context(), args, bytes.NewReader(nil), &stdout, &stderr); code > 1 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	must(t, json.Unmarshal(stdout.Bytes(), into))
}

// follow lets kube-scheduler place the pods with a configuration. Where several nodes are equally good it takes that of program place; it
// is an error when the program's node is not among them. It returns the node of each pod.
func follow(t *testing.T, ctx context.Context, c *gen.Cluster, config, input string) (nodes map[string]string, ties int) {
	t.Helper()
	var answer struct{ Pods []struct{ Pod, Node string } }
	placed(t, &answer, "-f", input, "-config", config, "-o", "json")
	program := map[string]string{}
	for _, p := range answer.Pods {
		program[p.Pod] = p.Node
	}
	loaded, err := options.LoadConfigFromFile(klog.Background(), config)
	must(t, err)
	s, err := real.New(ctx, loaded.Profiles[0])
	must(t, err)
	must(t, s.Load(c.Objects))
	nodes = map[string]string{}
	for _, p := range c.Pending {
		name := p.Namespace + "/" + p.Name
		must(t, s.Update())
		best := bestNodes(t, ctx, s, p)
		node := program[name]
		switch {
		case len(best) == 0 && node != "" || len(best) > 0 && !best[node]:
			t.Errorf("%s: %s: the best nodes of kube-scheduler are %v, the program says %q", config, name, best, node)
			return nodes, ties
		case len(best) > 1:
			ties++
		}
		if r, err := s.Schedule(p); (err == nil) != (node != "") || err == nil && !best[r.SuggestedHost] {
			t.Errorf("%s: %s: kube-scheduler takes %q (%v) of %v, the program %q", config, name, r.SuggestedHost, err, best, node)
		}
		if nodes[name] = node; node != "" {
			must(t, s.Assume(p, node))
		}
	}
	return nodes, ties
}

// bestNodes returns the nodes that kube-scheduler's filters let through and that have the most points.
func bestNodes(t *testing.T, ctx context.Context, s *real.Scheduler, p *v1.Pod) map[string]bool {
	t.Helper()
	all, err := s.NodeInfos()
	must(t, err)
	state := framework.NewCycleState()
	to, status, _ := s.Framework.RunPreFilterPlugins(ctx, state, p)
	if !status.IsSuccess() {
		return nil
	}
	var feasible []fwk.NodeInfo
	for _, n := range all {
		if (to.AllNodes() || to.NodeNames.Has(n.Node().Name)) && s.Framework.RunFilterPlugins(ctx, state, p, n).IsSuccess() {
			feasible = append(feasible, n)
		}
	}
	best, most := map[string]bool{}, int64(-1)
	if len(feasible) == 0 {
		return best
	}
	totals, _, err := s.Totals(p, feasible)
	must(t, err)
	for _, n := range totals {
		if n.TotalScore > most {
			best, most = map[string]bool{}, n.TotalScore
		}
		if n.TotalScore == most {
			best[n.Name] = true
		}
	}
	return best
}

// scattered is a cluster whose waiting pods, all of one priority, have small and large requests, so that it depends on the scores whether
// room for a large one is left. No pod that waits is woken by another that gets a node.
func scattered(seed uint64) *gen.Cluster {
	r := rand.New(rand.NewPCG(seed, 59))
	c := &gen.Cluster{}
	c.Namespaces = []*v1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{v1.LabelMetadataName: "default"}}}}
	for i := range 3 + r.IntN(5) {
		name := fmt.Sprint("n", i)
		c.Nodes = append(c.Nodes, &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name, v1.LabelTopologyZone: fmt.Sprint("z", i%3), "disk": fmt.Sprint(i % 2)}},
			Status:     v1.NodeStatus{Allocatable: amounts(4000+2000*r.IntN(3), 8+4*r.IntN(3)), Capacity: amounts(8000, 16)},
		})
		c.Nodes[i].Status.Allocatable[v1.ResourcePods], c.Nodes[i].Status.Capacity[v1.ResourcePods] = resource.MustParse("110"), resource.MustParse("110")
	}
	for k := range 30 + r.IntN(20) {
		cpu := 100 + 100*r.IntN(8)
		if r.IntN(4) == 0 {
			cpu = 2000 + 500*r.IntN(4)
		}
		zero, grace := int32(0), int64(30)
		p := &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("p%02d", k), UID: types.UID(fmt.Sprint("u", k)), Labels: map[string]string{"app": fmt.Sprint("a", k%3)}},
			Spec: v1.PodSpec{SchedulerName: v1.DefaultSchedulerName, Priority: &zero, TerminationGracePeriodSeconds: &grace, RestartPolicy: v1.RestartPolicyAlways,
				Containers: []v1.Container{{Name: "c", Image: "i", Resources: v1.ResourceRequirements{Requests: amounts(cpu, 1)}}}},
		}
		switch r.IntN(4) {
		case 0:
			p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.ScheduleAnyway, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels}}}
		case 1:
			p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: int32(1 + r.IntN(100)),
				Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "disk", Operator: v1.NodeSelectorOpIn, Values: []string{"1"}}}}}}}}
		}
		if k < 5 {
			p.Spec.NodeName, p.Status.Phase = c.Nodes[r.IntN(len(c.Nodes))].Name, v1.PodRunning
			c.Pods = append(c.Pods, started(p, k))
			continue
		}
		p.Status.Phase = v1.PodPending
		c.Pending = append(c.Pending, p)
	}
	return c
}

func amounts(milli, gi int) v1.ResourceList {
	return v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(int64(milli), resource.DecimalSI), v1.ResourceMemory: *resource.NewQuantity(int64(gi)<<30, resource.BinarySI)}
}
