package extender

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/scheduler/config"
)

// world is the cluster that was set, and what requests brought.
type world struct {
	shared    *shared
	snapshot  *cluster.Snapshot
	plans     map[string]*placement.Plan // by scheduler name; "" is the plan of all other names
	budgets   *disruption.Budgets
	nominated map[string][]*v1.Pod // pending pods by status.nominatedNodeName
}

// shared is what the requests share. Because a plan belongs to one goroutine, each evaluation borrows a set of plans.
type shared struct {
	mu       sync.RWMutex // lock of the snapshot: evaluations hold it to read, learn to write
	profiles map[string]placement.Profile
	free     chan map[string]*placement.Plan
	limit    int // largest number of nodes; 0 is no limit

	requests uint64            // number of requests that had node objects
	learned  map[string]uint64 // by node that the input lacks: the last request that had it; guarded by mu
}

// borrow returns a set of plans that no other request uses. The snapshot is locked for reading.
func (w *world) borrow() (map[string]*placement.Plan, error) {
	select {
	case plans := <-w.shared.free:
		return plans, nil
	default:
		return plansOf(w.snapshot, w.shared.profiles)
	}
}

// giveBack keeps a set of plans for later requests. It drops the set when there are enough.
func (w *world) giveBack(plans map[string]*placement.Plan) {
	select {
	case w.shared.free <- plans:
	default:
	}
}

func plansOf(s *cluster.Snapshot, profiles map[string]placement.Profile) (map[string]*placement.Plan, error) {
	plans := map[string]*placement.Plan{}
	for name, p := range profiles {
		plan, err := placement.New(s, p)
		if err != nil {
			return nil, fmt.Errorf("profile %s: %w", p.SchedulerName, err)
		}
		plans[name] = plan
	}
	return plans, nil
}

// newWorld makes a plan for each profile. Without profiles it makes one plan of the default profile for every pod.
func newWorld(objects cluster.Objects, profiles []placement.Profile, selectors devices.SelectorCompiler) (*world, error) {
	snapshot, err := cluster.New(objects)
	if err != nil {
		return nil, err
	}
	w := &world{
		snapshot: snapshot, plans: map[string]*placement.Plan{}, nominated: map[string][]*v1.Pod{},
		budgets: disruption.NewBudgets(objects.PodDisruptionBudgets, disruption.BudgetOptions{}),
	}
	given := len(profiles) > 0
	if !given {
		profiles = []placement.Profile{placement.DefaultProfile()}
	}
	w.shared = &shared{
		profiles: map[string]placement.Profile{}, learned: map[string]uint64{},
		free: make(chan map[string]*placement.Plan, runtime.GOMAXPROCS(0)),
	}
	for _, p := range profiles {
		if selectors != nil {
			if p, err = config.WithSelectors(p, selectors); err != nil {
				return nil, err
			}
		}
		name := ""
		if given {
			name = p.SchedulerName
		}
		w.shared.profiles[name] = p
	}
	if w.plans, err = plansOf(snapshot, w.shared.profiles); err != nil {
		return nil, err
	}
	w.giveBack(w.plans)
	for _, p := range objects.Pods {
		if p.Spec.NodeName == "" && p.Status.NominatedNodeName != "" {
			w.nominated[p.Status.NominatedNodeName] = append(w.nominated[p.Status.NominatedNodeName], p)
		}
	}
	return w, nil
}

// plan returns the plan of the pod's profile.
func (w *world) plan(pod *v1.Pod) (*placement.Plan, error) {
	if pod == nil {
		//lint:ignore ST1005 a field path in Go field names, as the wire format has it
		return nil, badRequest{errors.New("Pod: Required value")}
	}
	if p, ok := w.plans[pod.Spec.SchedulerName]; ok {
		return p, nil
	}
	if p, ok := w.plans[""]; ok {
		return p, nil
	}
	return nil, badRequest{fmt.Errorf("Pod.spec.schedulerName: Invalid value: %q: no such profile in the configuration", pod.Spec.SchedulerName)}
}

// options returns the options that count the nominated pods of the input.
func (w *world) options() placement.Options {
	if len(w.nominated) == 0 {
		return placement.Options{}
	}
	return placement.Options{Nominated: func(i int) []*v1.Pod { return w.nominated[w.snapshot.Node(i).Name] }}
}

// asked returns the names of the nodes of a request.
func (w *world) asked(a *extenderv1.ExtenderArgs) ([]string, error) {
	if a.Nodes == nil && a.NodeNames == nil {
		//lint:ignore ST1005 a field path in Go field names, as the wire format has it
		return nil, badRequest{errors.New("Nodes: Required value: node objects, or NodeNames")}
	}
	var names []string
	if a.Nodes != nil {
		for k := range a.Nodes.Items {
			names = append(names, a.Nodes.Items[k].Name)
		}
	}
	if a.NodeNames != nil && a.Nodes == nil {
		names = append(names, *a.NodeNames...)
	}
	return names, nil
}

// nodesPerStep is how many changed nodes learn takes in before it lets evaluations continue.
const nodesPerStep = 64

// learn takes in the node objects of a request that differ from the known ones. It locks the snapshot for a few nodes at a
// time. Of the nodes that the input lacks it keeps those of the latest requests, up to the limit.
func (w *world) learn(a *extenderv1.ExtenderArgs) error {
	s := w.shared
	if _, err := w.plan(a.Pod); err != nil {
		return err
	}
	n := 0
	if a.Nodes != nil {
		n = len(a.Nodes.Items)
	} else if a.NodeNames != nil {
		n = len(*a.NodeNames)
	}
	if s.limit > 0 && n > s.limit {
		return badRequest{fmt.Errorf("%d nodes in a request; the limit is %d (MaxNodes)", n, s.limit)}
	}
	if a.Nodes == nil {
		return nil
	}
	from := 0
	for part := range slices.Chunk(a.Nodes.Items, nodesPerStep) {
		if w.differs(part) {
			if err := w.takeIn(part, from); err != nil {
				return err
			}
		}
		from += len(part)
	}
	return w.forget(a.Nodes.Items)
}

// differs reports whether a node is unknown or differs from the known node.
func (w *world) differs(nodes []v1.Node) bool {
	w.shared.mu.RLock()
	defer w.shared.mu.RUnlock()
	for k := range nodes {
		if !w.knows(&nodes[k]) {
			return true
		}
	}
	return false
}

func (w *world) knows(n *v1.Node) bool {
	slot := w.snapshot.Slot(n.Name)
	if slot < 0 {
		return false
	}
	known := w.snapshot.Node(slot)
	return n.ResourceVersion != "" && n.ResourceVersion == known.ResourceVersion || equality.Semantic.DeepEqual(n, known)
}

// takeIn adds or replaces nodes. from is the position of the first node in its request.
func (w *world) takeIn(nodes []v1.Node, from int) error {
	w.shared.mu.Lock()
	defer w.shared.mu.Unlock()
	for k := range nodes {
		n := &nodes[k]
		if w.knows(n) {
			continue
		}
		added := w.snapshot.Slot(n.Name) < 0
		if err := w.snapshot.Set(n); err != nil { // the only possible error: no name
			return badRequest{field.Required(field.NewPath("Nodes", "items").Index(from+k).Child("metadata", "name"), "a node needs a name")}
		}
		if added {
			w.shared.learned[n.Name] = 0
		}
	}
	return nil
}

// forget records which nodes the request had. Then it removes nodes that the input lacks until the limit holds, starting
// with the nodes that no request has had for the longest time.
func (w *world) forget(nodes []v1.Node) error {
	s := w.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	for k := range nodes {
		if _, ok := s.learned[nodes[k].Name]; ok {
			s.learned[nodes[k].Name] = s.requests
		}
	}
	if s.limit == 0 || len(s.learned) <= s.limit {
		return nil
	}
	oldest := slices.SortedFunc(maps.Keys(s.learned), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.learned[a], s.learned[b]), cmp.Compare(a, b))
	})
	for _, name := range oldest[:len(oldest)-s.limit] {
		if err := w.snapshot.Remove(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
		delete(s.learned, name)
	}
	return nil
}
