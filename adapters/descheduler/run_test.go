package descheduler_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	goruntime "runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"
	"sigs.k8s.io/descheduler/cmd/descheduler/app/options"
	"sigs.k8s.io/descheduler/pkg/api"
	deschedulerapp "sigs.k8s.io/descheduler/pkg/descheduler"
	"sigs.k8s.io/descheduler/pkg/features"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/podberth/podberth/adapters/descheduler"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
)

var (
	cycles = flag.Int("cycles", 6, "cycles of the descheduler")
	size   = flag.Int("nodes", 30, "nodes of the generated cluster")
	seed   = flag.Uint64("seed", 1, "of the generated cluster")
	record = flag.String("record", "", "a file for the clusters after each cycle's evictions, and the pods that come back, as JSON lines")
)

// cycle is what a run records of a cycle: the cluster when the evicted pods are gone, and the pods that come in their place.
type cycle struct {
	Nodes []*v1.Node
	Pods  []*v1.Pod
	Come  []*v1.Pod
	Left  []string // the node that each of them left
}

// world is a cluster behind a fake client, with a scheduler and controllers.
type world struct {
	t       *testing.T
	rng     *rand.Rand
	nodes   []*v1.Node
	pods    map[string]*v1.Pod
	order   []string
	serial  int
	client  *fake.Clientset
	evicted []*v1.Pod
}

func newWorld(t *testing.T, nodes int, seed uint64) *world {
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 1)), pods: map[string]*v1.Pod{}}
	for i := range nodes {
		w.nodes = append(w.nodes, node(fmt.Sprintf("n%03d", i), "abc"[i%3:i%3+1], 4+4*w.rng.IntN(3)))
	}
	for app := range nodes / 3 {
		w.scale(app, 2+w.rng.IntN(8))
	}
	return w
}

// template returns a pod of an app. The rules of an app follow from its number.
func (w *world) template(app int) *v1.Pod {
	name := fmt.Sprintf("app%02d", app)
	p := pod(name, w.serial, "", []string{"100m", "500m", "1", "2"}[app%4])
	w.serial++
	switch app % 6 {
	case 1:
		apart(p, name, v1.LabelHostname)
	case 2, 3:
		action := []v1.UnsatisfiableConstraintAction{v1.DoNotSchedule, v1.ScheduleAnyway}
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{
			{MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: action[app%2], LabelSelector: selector(name)},
			{MaxSkew: 1, TopologyKey: v1.LabelHostname, WhenUnsatisfiable: v1.ScheduleAnyway, LabelSelector: selector(name)}}
	case 4:
		p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 50, Preference: v1.NodeSelectorTerm{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{"abc"[app%3 : app%3+1]}}}}}}}}
	case 5:
		p.Spec.Tolerations = []v1.Toleration{{Key: "old", Operator: v1.TolerationOpExists}}
	}
	return p
}

// scale gives an app more pods on nodes at random that have room, as if the cluster had been another one when they came.
func (w *world) scale(app, pods int) {
	for range pods {
		p := w.template(app)
		snapshot, err := cluster.New(cluster.Objects{Nodes: w.nodes, Pods: w.list()})
		require.NoError(w.t, err)
		plan, err := placement.New(snapshot, placement.DefaultProfile())
		require.NoError(w.t, err)
		found := plan.Prepare(p).Search(placement.Options{})
		require.NoError(w.t, found.Err)
		if len(found.Feasible) > 0 {
			p.Spec.NodeName = w.nodes[found.Feasible[w.rng.IntN(len(found.Feasible))]].Name
			w.put(p)
		}
	}
}

func (w *world) put(p *v1.Pod) {
	w.pods[p.Name] = p
	w.order = append(w.order, p.Name)
}

func (w *world) list() (out []*v1.Pod) {
	for _, name := range w.order {
		if p := w.pods[name]; p != nil {
			out = append(out, p)
		}
	}
	return out
}

// disturb changes nodes between two cycles: taints come and go.
func (w *world) disturb() {
	for range max(1, len(w.nodes)/20) {
		n := w.nodes[w.rng.IntN(len(w.nodes))].DeepCopy()
		if n.Spec.Taints == nil && w.rng.IntN(2) == 0 {
			n.Spec.Taints = []v1.Taint{{Key: "old", Effect: v1.TaintEffectNoSchedule}}
		} else {
			n.Spec.Taints = nil
		}
		for i := range w.nodes {
			if w.nodes[i].Name == n.Name {
				w.nodes[i] = n
			}
		}
	}
	w.scale(w.rng.IntN(len(w.nodes)/3), 1)
}

// deschedule runs the descheduler once, and takes the evicted pods off.
func (w *world) deschedule(ctx context.Context, policy *api.DeschedulerPolicy, plugin func() *descheduler.Plugin) {
	var objects []runtime.Object
	for _, n := range w.nodes {
		objects = append(objects, n)
	}
	for _, p := range w.list() {
		objects = append(objects, p)
	}
	w.client, w.evicted = fake.NewClientset(objects...), nil
	w.client.Resources = served
	var mu sync.Mutex
	w.client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		eviction, ok := action.(clienttesting.CreateAction).GetObject().(*policyv1.Eviction)
		if !ok {
			return false, nil, nil
		}
		mu.Lock()
		defer mu.Unlock()
		w.evicted = append(w.evicted, w.pods[eviction.Name])
		err := w.client.Tracker().Delete(v1.SchemeGroupVersion.WithResource("pods"), eviction.Namespace, eviction.Name)
		for p := plugin(); p != nil && err == nil && p.Knows(eviction.Namespace, eviction.Name) && ctx.Err() == nil; {
			goruntime.Gosched() // an API server answers when watches have the event, or soon after
		}
		return true, nil, err
	})
	server, err := options.NewDeschedulerServer()
	require.NoError(w.t, err)
	server.Client, server.EventClient = w.client, fake.NewClientset()
	gates := featuregate.NewFeatureGate()
	require.NoError(w.t, gates.Add(map[featuregate.Feature]featuregate.FeatureSpec{features.EvictionsInBackground: {PreRelease: featuregate.Alpha}}))
	server.DefaultFeatureGates = gates
	require.NoError(w.t, deschedulerapp.RunDeschedulerStrategies(ctx, server, policy, "v1"))
	for _, p := range w.evicted {
		delete(w.pods, p.Name)
	}
}

// schedule makes the pods in the place of the evicted ones and gives them nodes in their order. It returns how many came back to the node that
// they left, and how many found none.
func (w *world) schedule() (c cycle, back, waiting int) {
	c.Nodes, c.Pods = w.nodes, w.list()
	snapshot, err := cluster.New(cluster.Objects{Nodes: c.Nodes, Pods: c.Pods})
	require.NoError(w.t, err)
	placer, err := placement.NewPlacer(snapshot, placement.DefaultProfile())
	require.NoError(w.t, err)
	for _, old := range w.evicted {
		p := old.DeepCopy()
		p.Name = fmt.Sprintf("%s-%d", p.Labels["app"], w.serial)
		p.UID = types.UID(p.Name)
		w.serial++
		p.Spec.NodeName = ""
		c.Come, c.Left = append(c.Come, p.DeepCopy()), append(c.Left, old.Spec.NodeName)
		d := placer.Decide(p, placement.Options{})
		switch {
		case !d.Placed():
			waiting++
			continue
		case d.Node == old.Spec.NodeName:
			back++
		}
		require.NoError(w.t, placer.Assume(p, d))
		p.Spec.NodeName = d.Node
		w.put(p)
	}
	return c, back, waiting
}

// The descheduler's own run: with the plugin no pod comes back to its node and no pod is left without a node. The same cycles without it show
// that pods would. The run of the report is -cycles 50 -nodes 100.
func TestRun(t *testing.T) {
	klog.LogToStderr(false)
	klog.SetOutput(nowhere{})
	registry := setup()
	var built *descheduler.Plugin
	entry := registry[descheduler.PluginName]
	builder := entry.PluginBuilder
	entry.PluginBuilder = func(ctx context.Context, args runtime.Object, handle frameworktypes.Handle) (frameworktypes.Plugin, error) {
		p, err := builder(ctx, args, handle)
		if err == nil {
			built = p.(*descheduler.Plugin)
		}
		return p, err
	}
	registry[descheduler.PluginName] = entry
	run := func(cycles int, plugin bool, out *json.Encoder) (evicted, back, waiting int) {
		w := newWorld(t, *size, *seed)
		for range cycles {
			policy, err := deschedulerapp.LoadPolicyConfig("testdata/policy.yaml", fake.NewClientset(), registry)
			require.NoError(t, err)
			if !plugin {
				for _, set := range []*api.PluginSet{&policy.Profiles[0].Plugins.Filter, &policy.Profiles[0].Plugins.PreEvictionFilter} {
					set.Enabled = []string{"DefaultEvictor"}
				}
			}
			built = nil
			w.deschedule(t.Context(), policy, func() *descheduler.Plugin { return built })
			c, b, l := w.schedule()
			evicted, back, waiting = evicted+len(w.evicted), back+b, waiting+l
			if out != nil {
				require.NoError(t, out.Encode(c))
			}
			w.disturb()
		}
		return evicted, back, waiting
	}
	var out *json.Encoder
	if *record != "" {
		file, err := os.Create(*record)
		require.NoError(t, err)
		defer func() { require.NoError(t, file.Close()) }()
		out = json.NewEncoder(file)
	}
	evicted, back, waiting := run(*cycles, true, out)
	t.Logf("with the plugin: %d nodes, %d cycles, %d evicted, %d came back, %d wait", *size, *cycles, evicted, back, waiting)
	require.Positive(t, evicted)
	require.Zero(t, back, "pods came back to the node that they left")
	require.Zero(t, waiting, "pods were left without a node")

	evicted, back, waiting = run(*cycles, false, nil)
	t.Logf("NodeFit alone: %d nodes, %d cycles, %d evicted, %d came back, %d wait", *size, *cycles, evicted, back, waiting)
	require.Positive(t, back+waiting, "the cluster asks nothing of the plugin")
}

// nowhere is where the descheduler's log goes: one line for each pod and node.
type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
