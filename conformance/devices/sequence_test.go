package devices

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/preemption"
)

// plugin is DynamicResources at every extension point.
type plugin interface {
	fwk.PreEnqueuePlugin
	fwk.PreFilterPlugin
	fwk.FilterPlugin
	fwk.PostFilterPlugin
	fwk.ScorePlugin
	fwk.ReservePlugin
	fwk.PreBindPlugin
}

// sequence is a cluster in which pods come, bind and leave. Both sides decide about each pod; the API server keeps what
// kube-scheduler writes, and claims keeps what package devices says.
type sequence struct {
	t   *testing.T
	g   *generator
	w   *podWorld
	api *apiServer
	s   *real.Scheduler
	p   plugin

	hints     []fwk.ClusterEventWithHint // of the real plugin
	claims    map[string]*resourcev1.ResourceClaim
	inFlight  map[types.UID]*resourcev1.AllocationResult
	ledger    *devices.Ledger
	allocator *devices.Allocator
	extended  devices.ExtendedResources

	reserved []*attempt // not bound yet
	bound    []*v1.Pod
	waiting  []*v1.Pod
	log      []string
	names    map[string]bool // for the census
	broken   bool            // a search took too long, or the sides differ as docs/fidelity says
	shares   int
}

// attempt is a pod with devices on a node.
type attempt struct {
	pod        *v1.Pod
	state      fwk.CycleState
	node       string
	compiled   *devices.Pod
	allocation devices.Allocation
	open       map[int]bool // claims of the allocation that are not written yet
	special    string       // name of the claim that was created for extended resources
}

// objects

func (q *sequence) ResourceClaim(_, name string) *resourcev1.ResourceClaim { return q.claims[name] }
func (q *sequence) ResourceClaims(string) iter.Seq[*resourcev1.ResourceClaim] {
	return func(yield func(*resourcev1.ResourceClaim) bool) {
		for _, c := range q.claims {
			if !yield(c) {
				return
			}
		}
	}
}
func (q *sequence) InFlight(claim types.UID) bool { return q.inFlight[claim] != nil }
func (q *sequence) DeviceClass(name string) *resourcev1.DeviceClass {
	return classList(q.w.classes).find(name)
}

// A hundred pods one after the other: the same answers at every extension point, and the same claims in the API server.
func TestSequence(t *testing.T) {
	s := kube(t, endless)
	p, err := s.Plugin("DynamicResources")
	if err != nil {
		t.Fatal(err)
	}
	registered, err := s.Hints("DynamicResources")
	if err != nil {
		t.Fatal(err)
	}
	api := serve(s)
	census := newCensus()
	pods := 0
	for k := range max(1, *clusters/500) {
		q := &sequence{t: t, g: newGenerator(k), api: api, s: s, p: p.(plugin), hints: registered, names: map[string]bool{}}
		q.begin()
		for n := range 100 {
			if q.broken {
				break
			}
			pods++
			q.names = map[string]bool{}
			q.leave()
			q.finish()
			q.pod(n)
			q.compare()
			census.add(q.names)
			if t.Failed() {
				t.Fatalf("seed %d sequence %d pod %d\n%s\n%s", *seed, k, n, strings.Join(q.log, "\n"), q.w.podYAML(t))
			}
		}
		for _, a := range q.reserved { // the next sequence has claims with the same names
			q.unreserve(a)
		}
		q.reserved = nil
		q.compare()
		if t.Failed() {
			t.Fatalf("seed %d sequence %d, after the last Unreserve", *seed, k)
		}
	}
	t.Logf("%d pods", pods)
	wanted := wantedSteps
	if pods < 4000 { // too few to expect every step
		wanted = nil
	}
	census.report(t, wanted, census.cases)
}

var wantedSteps = []string{
	"PreEnqueue UnschedulableAndUnresolvable", "PreFilter Success", "PreFilter Skip", "PreFilter UnschedulableAndUnresolvable",
	"PostFilter still not schedulable", "Reserve", "Reserve and wait", "Unreserve",
	"PreBind Success", "PreBind Error", "Unreserve after PreBind", "a claim is shared", "an extended resource", "an extended resource is bound",
	"a pod leaves", "a claim is deallocated", "a claim is deleted", "a pod tries again", "deleted in the meantime",
	"allocated in the meantime", "deallocated in the meantime",
	"PostFilter deallocation of ResourceClaim completed", "PostFilter deletion of ResourceClaim completed",
	"a claim that no node can use: free", "a claim that no node can use: of this pod", "a claim that no node can use: of another pod",
	"claim hint: Queue", "claim hint: QueueSkip", "pod hint: Queue", "pod hint: QueueSkip",
}

func (q *sequence) note(format string, args ...any) {
	q.log = append(q.log, fmt.Sprintf(format, args...))
}

func (q *sequence) fail(what, here, there string) {
	if here != there {
		q.t.Errorf("%s\nhere:  %s\nthere: %s", what, here, there)
	}
}

func (q *sequence) begin() {
	q.w = &podWorld{world: q.g.world()}
	for !q.g.clean || q.g.defect != "" || q.g.plenty {
		q.w = &podWorld{world: q.g.world()}
	}
	q.g.easy = true
	for k := range 3 { // room for many pods
		q.g.pool(q.w.world, "drv", fmt.Sprintf("more%d", k), 10+k)
	}
	for _, s := range q.w.slices { // PreBind polls conditions every five seconds
		for k := range s.Spec.Devices {
			s.Spec.Devices[k].BindingConditions, s.Spec.Devices[k].BindingFailureConditions = nil, nil
		}
	}
	for _, c := range q.w.running { // kube-scheduler forgets shares of nothing when the other shares of the device leave
		for _, amount := range c.Status.Allocation.Devices.Results[0].ConsumedCapacity {
			if amount.IsZero() {
				c.Status.Allocation.Devices.Results[0].ConsumedCapacity["mem"] = resource.MustParse("1Gi")
			}
		}
	}
	q.w.claims = nil
	q.w.classes[0].Spec.ExtendedResourceName = ptr(gpuName)
	q.g.offers(q.w)
	if err := q.s.Load(cluster.Objects{Nodes: q.w.nodes}); err != nil {
		q.t.Fatal(err)
	}
	if err := q.api.reset(nil); err != nil {
		q.t.Fatal(err)
	}
	if err := q.s.LoadDevices(q.w.slices, q.w.classes, nil); err != nil {
		q.t.Fatal(err)
	}
	q.claims, q.inFlight = map[string]*resourcev1.ResourceClaim{}, map[types.UID]*resourcev1.AllocationResult{}
	q.ledger = devices.NewLedger(devices.NewInventory(q.w.slices))
	q.allocator = devices.NewAllocator(q.ledger, classList(q.w.classes).find, compiler, devices.Options{Release: trial.Linked, Steps: steps, ShareID: q.shareID})
	q.extended = devices.NewExtendedResources(slices.Values(q.w.classes))
	for _, c := range q.w.running {
		q.user(c)
	}
	q.sync()
	q.compareHeld()
	if q.t.Failed() {
		q.t.Fatalf("seed %d: a sequence does not begin clean", *seed)
	}
}

// shareID returns a new id.
func (q *sequence) shareID() types.UID {
	q.shares++
	return types.UID(fmt.Sprintf("share-%d", q.shares))
}

// user writes a claim on both sides, as somebody other than the scheduler. Nobody can change an allocation in the API server, so
// the share ids there stay: they are kube-scheduler's.
func (q *sequence) user(c *resourcev1.ResourceClaim) {
	if stored := q.api.claims[c.Name]; stored != nil && stored.Status.Allocation != nil && c.Status.Allocation != nil {
		c = c.DeepCopy()
		c.Status.Allocation = stored.Status.Allocation
	}
	q.set(q.api.put(c))
}

// set keeps a claim on this side.
func (q *sequence) set(c *resourcev1.ResourceClaim) {
	if old := q.claims[c.Name]; old != nil {
		q.ledger.Remove(old, old.Status.Allocation)
	}
	q.ledger.Add(c, c.Status.Allocation)
	q.claims[c.Name] = c
}

// drop removes a claim on both sides.
func (q *sequence) drop(name string) {
	q.api.remove(name)
	q.forget(name)
}

func (q *sequence) forget(name string) {
	c := q.claims[name]
	if c == nil {
		return
	}
	if len(c.Finalizers) > 0 {
		c = c.DeepCopy()
		c.DeletionTimestamp = ptr(metav1.NewTime(time.Unix(1, 0)))
		q.claims[name] = c
		return
	}
	q.ledger.Remove(c, c.Status.Allocation)
	delete(q.claims, name)
}

func statusText(s *fwk.Status) string {
	return strings.TrimSpace(s.Code().String() + " " + s.Message())
}

// pod asks both sides about a new pod and reserves devices where it fits.
func (q *sequence) pod(n int) {
	ctx := q.s.Context()
	var pod *v1.Pod
	if len(q.waiting) > 0 && q.g.chance(30) {
		pod = q.waiting[0]
		q.waiting = q.waiting[1:]
		q.names["a pod tries again"] = true
	} else {
		pod = q.newPod(n)
	}
	q.note("pod %s uses %d claims", pod.Name, len(pod.Spec.ResourceClaims))
	gate := "Success"
	if text := devices.Gate(pod, q); text != "" {
		gate = "UnschedulableAndUnresolvable " + text
	}
	q.fail("PreEnqueue", gate, statusText(q.p.PreEnqueue(ctx, pod)))
	q.names["PreEnqueue "+strings.Fields(gate)[0]] = true

	a := &attempt{pod: pod, state: framework.NewCycleState(), compiled: devices.Compile(pod, q, q.extended)}
	infos, err := q.s.NodeInfos()
	if err != nil {
		q.t.Fatal(err)
	}
	_, status := q.p.PreFilter(ctx, a.state, pod, infos)
	q.fail("PreFilter", strings.TrimSpace(a.compiled.Code().String()+" "+a.compiled.Reason()), statusText(status))
	q.names["PreFilter "+status.Code().String()] = true
	if status.Code() != fwk.Success {
		q.note("  PreFilter %s", statusText(status))
		if status.IsRejected() {
			q.postFilter(a, nil)
		}
		return
	}
	var nodes nodeList
	for _, i := range infos {
		nodes = append(nodes, i.Node())
	}
	state := a.compiled.On(nodes, q.allocator, devices.Clock{Now: time.Now()})
	best, most, failed := -1, int64(-1), false
	for i, info := range infos {
		here := "Success"
		if v := state.Check(i); v != 0 {
			here = strings.TrimSpace(state.Code(v).String() + " " + strings.Join(state.Reasons(v), ", "))
		}
		if cut(here) {
			q.broken = true
			return
		}
		status := q.p.Filter(ctx, a.state, pod, info)
		if cut(status.Message()) {
			q.broken = true
			return
		}
		if !equalText(here, statusText(status)) {
			q.fail("Filter "+nodes[i].Name, here, statusText(status))
		}
		q.note("  Filter %s %s", nodes[i].Name, statusText(status))
		failed = failed || status.Code() == fwk.Error
		if !status.IsSuccess() {
			continue
		}
		raw, status := q.p.Score(ctx, a.state, pod, info)
		q.fail("Score "+nodes[i].Name, fmt.Sprint(state.Raw(i), " Success"), fmt.Sprint(raw, " ", statusText(status)))
		if raw > most {
			best, most = i, raw
		}
	}
	q.normalize(a, state, nodes)
	switch {
	case failed:
	case best < 0:
		q.postFilter(a, state)
	default:
		a.node, a.allocation = nodes[best].Name, state.Allocation(best)
		q.reserve(a)
	}
}

// normalize compares the normalized scores of any raw scores.
func (q *sequence) normalize(a *attempt, state devices.State, nodes nodeList) {
	var list fwk.NodeScoreList
	highest := int64(0)
	for _, n := range nodes {
		score := int64(q.g.IntN(30))
		highest = max(highest, score)
		list = append(list, fwk.NodeScore{Name: n.Name, Score: score})
	}
	var here, there []int64
	for _, x := range list {
		here = append(here, state.Normalize(x.Score, 0, highest))
	}
	if status := q.p.ScoreExtensions().NormalizeScore(q.s.Context(), a.state, a.pod, list); !status.IsSuccess() {
		q.t.Error(status)
	}
	for _, x := range list {
		there = append(there, x.Score)
	}
	q.fail("NormalizeScore", fmt.Sprint(here), fmt.Sprint(there))
}

// postFilter asks what is given back. state is nil when PreFilter rejected the pod.
func (q *sequence) postFilter(a *attempt, state devices.State) {
	q.waiting = append(q.waiting, a.pod)
	_, status := q.p.PostFilter(q.s.Context(), a.state, a.pod, nil)
	if state == nil {
		state = a.compiled.On(nodeList{}, q.allocator, devices.Clock{Now: time.Now()})
		q.names["PostFilter after PreFilter: "+statusText(status)] = true
	}
	release := state.Freed()
	text := preemption.PostFilterText(trial.Linked, preemption.PostFilterOutcome{Devices: release.Reason})
	q.fail("PostFilter", strings.TrimSpace(filter.Unschedulable.String()+" "+text), statusText(status))
	q.names["PostFilter "+release.Reason] = true
	if release.Deallocate != nil {
		q.set(devices.Deallocated(q.deallocated(a, release.Deallocate)))
	}
	if release.Delete != nil {
		c := release.Delete.DeepCopy()
		c.Finalizers = nil
		q.claims[c.Name] = c
		q.forget(c.Name)
	}
}

// deallocated returns the claim that kube-scheduler has deallocated: any of the pod's claims that no other pod has reserved. This side takes
// the first of them.
func (q *sequence) deallocated(a *attempt, first *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	for _, c := range a.compiled.Claims() {
		mine, theirs := q.claims[c.Name], q.api.claims[c.Name]
		if mine == nil || theirs == nil || mine.Status.Allocation == nil || theirs.Status.Allocation != nil {
			continue
		}
		if r := mine.Status.ReservedFor; len(r) == 0 || len(r) == 1 && r[0].UID == a.pod.UID {
			return mine
		}
	}
	return first
}

func (q *sequence) reserve(a *attempt) {
	status := q.p.Reserve(q.s.Context(), a.state, a.pod, a.node)
	q.fail("Reserve", "Success", statusText(status))
	q.note("  Reserve %s", a.node)
	q.names["Reserve"] = true
	a.open = map[int]bool{}
	for k, c := range a.allocation.Claims {
		a.open[k] = true
		if c.UID != "" {
			q.inFlight[c.UID] = &a.allocation.Results[k]
		} else {
			q.names["an extended resource"] = true
		}
		q.ledger.Add(nil, &a.allocation.Results[k])
	}
	switch n := q.g.IntN(10); {
	case n < 1:
		q.unreserve(a)
	case n < 5:
		q.names["Reserve and wait"] = true
		q.reserved = append(q.reserved, a)
	default:
		q.bind(a)
	}
}
