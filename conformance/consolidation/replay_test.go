package consolidation

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	clientv3 "go.etcd.io/etcd/client/v3"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/apiserver"
	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/planning/consolidation"
)

func TestMain(m *testing.M) {
	flag.Parse()
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// tally counts what was replayed.
type tally struct{ clusters, nodes, emptied, waves, moves, surges, budgets, volumes, rules int }

// replay is one plan against the real code.
type replay struct {
	server *apiserver.Server
	client *kubernetes.Clientset
	kube   *real.Scheduler
	o      cluster.Objects
	pods   []*v1.Pod       // on nodes now
	gone   map[string]bool // removed nodes
	leave  map[string]bool // nodes of the plan
	n      *tally
}

// Each plan of generated clusters is replayed: before each wave the budgets get the status that follows from the pods that are
// ready, a kube-apiserver is asked for each eviction of the wave, and kube-scheduler for each new pod on its node, with the nodes of
// the plan cordoned and the old pods terminating or gone. The long run: -args -clusters 500
func TestReplay(t *testing.T) {
	running := apiserver.Start(t)
	client, err := kubernetes.NewForConfig(running.Config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	kube, err := compare.EveryNode(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := &tally{}
	for k := range gen.Count(12, 100) {
		seed := *gen.Seed + int64(k)
		nodes := 20 + int(seed*37)%181
		if *gen.Clusters == 0 {
			nodes = 20 + int(seed*37)%41
		}
		g, err := generate(seed, nodes)
		if err != nil {
			t.Fatal(err)
		}
		s, err := cluster.New(g.o)
		if err != nil {
			t.Fatal(err)
		}
		p, err := consolidation.New(consolidation.Input{Snapshot: s, Profile: profile(), Now: gen.Now, Price: func(n *v1.Node) int64 { return g.prices[n.Name] }})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := p.Plan(consolidation.Options{Steps: 30, Seed: uint64(seed)})
		if err != nil {
			t.Fatal(err)
		}
		r := &replay{server: running, client: client, kube: kube, o: g.o, pods: slices.Clone(g.o.Pods), gone: map[string]bool{}, leave: map[string]bool{}, n: n}
		if err := r.plan(t.Context(), plan); err != nil {
			t.Errorf("seed %d, %d nodes: %v", seed, nodes, err)
		}
		n.clusters++
		n.nodes += nodes
	}
	t.Logf("%+v", *n)
	for name, count := range map[string]int{"emptied nodes": n.emptied, "waves": n.waves, "surges": n.surges, "pods in place": n.moves - n.surges, "pods with budgets": n.budgets, "pods with volumes": n.volumes, "pods with rules": n.rules} {
		if count == 0 {
			t.Errorf("there are no %s", name)
		}
	}
}

func (r *replay) plan(ctx context.Context, p *consolidation.Plan) error {
	for _, x := range p.Nodes {
		r.leave[x.Node] = true
	}
	r.n.emptied += len(p.Nodes)
	budgets := fmt.Sprintf("%s/poddisruptionbudgets/%s/", apiserver.Prefix, namespace)
	if _, err := r.server.Etcd.Delete(ctx, budgets, clientv3.WithPrefix()); err != nil { // of the cluster before
		return err
	}
	if err := r.remove(p, -1); err != nil {
		return err
	}
	for k, wave := range p.Waves {
		r.n.waves++
		if err := r.evict(ctx, wave); err != nil {
			return fmt.Errorf("wave %d: %w", k, err)
		}
		if err := r.place(wave); err != nil {
			return fmt.Errorf("wave %d: %w", k, err)
		}
		if err := r.remove(p, k); err != nil {
			return err
		}
	}
	return nil
}

// remove removes the nodes that are empty after a wave: no pod but those of DaemonSets may be there.
func (r *replay) remove(p *consolidation.Plan, wave int) error {
	for _, x := range p.Nodes {
		if x.Wave != wave {
			continue
		}
		r.gone[x.Node] = true
		for _, pod := range r.pods {
			if pod.Spec.NodeName == x.Node && metav1.GetControllerOf(pod).Kind != "DaemonSet" {
				return fmt.Errorf("pod %s is on %s, which is removed", pod.Name, x.Node)
			}
		}
		r.pods = slices.DeleteFunc(r.pods, func(pod *v1.Pod) bool { return pod.Spec.NodeName == x.Node })
	}
	return nil
}

// evict asks the API server to evict the pods of a wave, one right after the other.
func (r *replay) evict(ctx context.Context, wave []consolidation.Move) error {
	for _, b := range r.o.PodDisruptionBudgets {
		c := b.DeepCopy()
		c.APIVersion, c.Kind = "policy/v1", "PodDisruptionBudget"
		c.Status = r.status(b)
		if err := r.store(ctx, "poddisruptionbudgets", c.Name, c); err != nil {
			return err
		}
	}
	for _, m := range wave {
		c := m.Pod.DeepCopy()
		c.APIVersion, c.Kind = "v1", "Pod"
		if err := r.store(ctx, "pods", c.Name, c); err != nil {
			return err
		}
	}
	for _, m := range wave {
		r.n.moves++
		if len(m.Budgets) > 0 {
			r.n.budgets++
		}
		if len(m.Pod.Spec.Volumes) > 0 {
			r.n.volumes++
		}
		if m.Pod.Spec.Affinity != nil || len(m.Pod.Spec.TopologySpreadConstraints) > 0 {
			r.n.rules++
		}
		err := r.client.PolicyV1().Evictions(namespace).Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: m.Pod.Name}})
		if err != nil {
			return fmt.Errorf("the API server refuses to evict %s: %w", m.Pod.Name, err)
		}
	}
	for _, m := range wave {
		if err := r.store(ctx, "pods", m.Pod.Name, nil); err != nil {
			return err
		}
	}
	return nil
}

// status returns the status that the documentation gives a budget: the budget allows as many disruptions as there are ready pods above
// the number that the budget asks for.
func (r *replay) status(b *policyv1.PodDisruptionBudget) policyv1.PodDisruptionBudgetStatus {
	selector := labels.SelectorFromSet(b.Spec.Selector.MatchLabels)
	s := policyv1.PodDisruptionBudgetStatus{ObservedGeneration: b.Generation}
	for _, p := range r.pods {
		if p.Namespace == b.Namespace && selector.Matches(labels.Set(p.Labels)) {
			s.ExpectedPods++ // every controller has the replicas that it asks for
			s.CurrentHealthy++
		}
	}
	if b.Spec.MaxUnavailable != nil {
		s.DesiredHealthy = max(0, s.ExpectedPods-b.Spec.MaxUnavailable.IntVal)
	} else {
		s.DesiredHealthy = b.Spec.MinAvailable.IntVal
	}
	s.DisruptionsAllowed = max(0, s.CurrentHealthy-s.DesiredHealthy)
	return s
}

// store writes an object as it is; nil takes it away.
func (r *replay) store(ctx context.Context, kind, name string, o any) error {
	key := fmt.Sprintf("%s/%s/%s/%s", apiserver.Prefix, kind, namespace, name)
	if o == nil {
		_, err := r.server.Etcd.Delete(ctx, key)
		return err
	}
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = r.server.Etcd.Put(ctx, key, string(data))
	return err
}

// place asks kube-scheduler about the new pods of a wave. It looks at the node of the plan first, as at a nominated node, and takes
// it if all filters allow.
func (r *replay) place(wave []consolidation.Move) error {
	moved := map[string]consolidation.Move{}
	for _, m := range wave {
		moved[m.Pod.Name] = m
	}
	o := r.o
	o.Nodes, o.Pods = nil, nil
	for _, n := range r.o.Nodes {
		if r.gone[n.Name] {
			continue
		}
		c := n.DeepCopy()
		c.Spec.Unschedulable = r.leave[n.Name]
		o.Nodes = append(o.Nodes, c)
	}
	for _, p := range r.pods {
		m, leaves := moved[p.Name]
		switch {
		case !leaves:
			o.Pods = append(o.Pods, p)
		case m.Way == consolidation.Surge:
			c := p.DeepCopy()
			now := metav1.NewTime(gen.Now)
			c.DeletionTimestamp = &now
			o.Pods = append(o.Pods, c)
		}
	}
	if err := r.kube.Load(o); err != nil {
		return err
	}
	r.pods = slices.DeleteFunc(r.pods, func(p *v1.Pod) bool { _, leaves := moved[p.Name]; return leaves })
	for _, m := range wave {
		pod := m.New.DeepCopy()
		pod.Status.NominatedNodeName = m.To
		if m.Way == consolidation.Surge {
			r.n.surges++
		}
		if err := r.kube.Know(pod); err != nil {
			return err
		}
		a, err := r.kube.Attempt(pod)
		if err != nil {
			return err
		}
		if a.Err != nil || a.Result.SuggestedHost != m.To {
			return fmt.Errorf("kube-scheduler does not take %s for %s: %q %v", m.To, pod.Name, a.Result.SuggestedHost, a.Err)
		}
		if err := a.Reserve(m.To); err != nil {
			return err
		}
		running := m.New.DeepCopy()
		running.Spec.NodeName = m.To
		running.Status = v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}}
		r.pods = append(r.pods, running)
	}
	return nil
}
