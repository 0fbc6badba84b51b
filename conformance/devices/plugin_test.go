package devices

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/filter"
)

// podWorld is a world with a pod that uses its claims.
type podWorld struct {
	*world
	pod   *v1.Pod
	extra []*resourcev1.ResourceClaim // claims that are not to be allocated
	asks  bool                        // for extended resources
}

const gpuName = "example.com/gpu"

func (g *generator) podWorld() *podWorld {
	w := &podWorld{world: g.world()}
	w.pod = &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "p"}}
	w.classes[0].Spec.ExtendedResourceName = ptr(gpuName)
	if g.chance(20) {
		w.classes[1].Spec.ExtendedResourceName = ptr(gpuName)
		w.classes[1].CreationTimestamp = metav1.NewTime(time.Unix(int64(g.IntN(3)), 0))
		w.classes[0].CreationTimestamp = metav1.NewTime(time.Unix(int64(g.IntN(3)), 0))
	}
	w.claims = w.claims[:g.IntN(len(w.claims)+1)]
	for _, c := range w.claims {
		g.use(w, c)
	}
	if g.chance(25) {
		g.allocatedClaim(w)
	}
	if g.chance(8) { // an entry that needs no claim
		w.pod.Spec.ResourceClaims = append(w.pod.Spec.ResourceClaims, v1.PodResourceClaim{Name: "none", ResourceClaimTemplateName: ptr("template")})
		w.pod.Status.ResourceClaimStatuses = append(w.pod.Status.ResourceClaimStatuses, v1.PodResourceClaimStatus{Name: "none"})
	}
	if g.chance(3) {
		w.pod.Spec.ResourceClaims = append(w.pod.Spec.ResourceClaims, pick(g,
			v1.PodResourceClaim{Name: "odd"}, v1.PodResourceClaim{Name: "odd", ResourceClaimName: ptr("gone")}, v1.PodResourceClaim{Name: "odd", ResourceClaimTemplateName: ptr("template")}))
	}
	w.asks = g.chance(40)
	g.containers(w)
	g.offers(w)
	if w.asks && g.chance(8) {
		w.extra = append(w.extra, g.leftOver(w))
	}
	return w
}

// use names a claim in the pod.
func (g *generator) use(w *podWorld, c *resourcev1.ResourceClaim) {
	entry := v1.PodResourceClaim{Name: "use-" + c.Name}
	if g.chance(60) {
		entry.ResourceClaimName = &c.Name
	} else {
		entry.ResourceClaimTemplateName = ptr("template")
		w.pod.Status.ResourceClaimStatuses = append(w.pod.Status.ResourceClaimStatuses, v1.PodResourceClaimStatus{Name: entry.Name, ResourceClaimName: &c.Name})
		owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: w.pod.Name, UID: w.pod.UID, Controller: ptr(true)}
		if g.mess(8) {
			owner.UID = "q"
		}
		c.OwnerReferences = append(c.OwnerReferences, owner)
	}
	if g.mess(4) {
		c.DeletionTimestamp = ptr(metav1.NewTime(time.Unix(1, 0)))
		c.Finalizers = []string{resourcev1.Finalizer}
	}
	w.pod.Spec.ResourceClaims = append(w.pod.Spec.ResourceClaims, entry)
}

// allocatedClaim gives the pod a claim that has its devices.
func (g *generator) allocatedClaim(w *podWorld) {
	c := g.claim("have")
	r := resourcev1.DeviceRequestAllocationResult{Request: "r0", Driver: "drv", Pool: "elsewhere", Device: "d"}
	if len(c.Spec.Devices.Requests[0].FirstAvailable) > 0 {
		r.Request = "r0/s0"
	}
	if g.chance(40) {
		r.BindingConditions = []string{"ready"}
		r.BindingFailureConditions = []string{"bad"}
		if g.chance(70) {
			c.Status.Devices = []resourcev1.AllocatedDeviceStatus{{Driver: "drv", Pool: "elsewhere", Device: "d", Conditions: []metav1.Condition{
				{Type: pick(g, "ready", "ready", "bad"), Status: pick(g, metav1.ConditionTrue, metav1.ConditionFalse), Reason: "Broke", Message: "it broke"}}}}
		}
	}
	c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{r}}}
	if g.chance(60) {
		c.Status.Allocation.NodeSelector = &v1.NodeSelector{NodeSelectorTerms: g.selector().NodeSelectorTerms[:1]}
	}
	if g.mess(5) {
		c.Status.Allocation.NodeSelector = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "zone", Operator: "Bad"}}}}}
	}
	if g.chance(40) {
		c.Status.Allocation.AllocationTimestamp = ptr(metav1.NewTime(time.Now().Add(-pick(g, time.Minute, time.Hour))))
	}
	for _, user := range pick(g, nil, nil, []string{"p"}, []string{"q"}, []string{"p", "q"}) {
		c.Status.ReservedFor = append(c.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: user, UID: types.UID(user)})
	}
	w.extra = append(w.extra, c)
	g.use(w, c)
}

// containers ask for extended resources at times.
func (g *generator) containers(w *podWorld) {
	container := func(name string) v1.Container {
		c := v1.Container{Name: name, Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}}}
		if !w.asks {
			return c
		}
		if g.chance(60) {
			c.Resources.Requests[gpuName] = resource.MustParse(pick(g, "0", "1", "1", "2"))
		}
		if g.chance(20) && w.classes[1].Spec.ExtendedResourceName == nil { // kube-scheduler maps no implicit name of a class whose explicit name is another's
			c.Resources.Requests["deviceclass.resource.kubernetes.io/c2"] = resource.MustParse("1")
		}
		if g.chance(8) {
			c.Resources.Requests["example.com/fpga"] = resource.MustParse("1")
		}
		return c
	}
	for k := range pick(g, 0, 0, 1, 2) {
		c := container(fmt.Sprintf("i%d", k))
		if g.chance(40) {
			c.RestartPolicy = ptr(v1.ContainerRestartPolicyAlways)
		}
		w.pod.Spec.InitContainers = append(w.pod.Spec.InitContainers, c)
	}
	for k := range 1 + g.IntN(2) {
		w.pod.Spec.Containers = append(w.pod.Spec.Containers, container(fmt.Sprintf("c%d", k)))
	}
}

// offers gives the nodes their resources.
func (g *generator) offers(w *podWorld) {
	for _, n := range w.nodes {
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("8"), v1.ResourcePods: resource.MustParse("10")}
		for _, name := range []v1.ResourceName{gpuName, "example.com/fpga"} {
			if g.chance(20) {
				n.Status.Allocatable[name] = resource.MustParse(pick(g, "0", "4"))
			}
		}
	}
}

// leftOver returns the claim that a former attempt of the pod created.
func (g *generator) leftOver(w *podWorld) *resourcev1.ResourceClaim {
	name := w.pod.Name + "-extended-resources-x"
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Annotations: map[string]string{"resource.kubernetes.io/extended-resource-claim": "true"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: w.pod.Name, UID: w.pod.UID, Controller: ptr(true)}}}}
	c.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "container-0-request-0", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "c", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}}}
	return c
}

func (w *podWorld) all() []*resourcev1.ResourceClaim {
	return slices.Concat(w.running, w.claims, w.extra)
}

// objects answers for package devices.
type objects struct{ *podWorld }

func (o objects) ResourceClaim(namespace, name string) *resourcev1.ResourceClaim {
	for _, c := range o.all() {
		if c.Namespace == namespace && c.Name == name {
			return c
		}
	}
	return nil
}

func (o objects) ResourceClaims(namespace string) iter.Seq[*resourcev1.ResourceClaim] {
	return func(yield func(*resourcev1.ResourceClaim) bool) {
		for _, c := range o.all() {
			if c.Namespace == namespace && !yield(c) {
				return
			}
		}
	}
}

func (objects) InFlight(types.UID) bool { return false }
func (o objects) DeviceClass(name string) *resourcev1.DeviceClass {
	return classList(o.classes).find(name)
}

// nodeList is a cluster of nodes.
type nodeList []*v1.Node

func (l nodeList) Len() int            { return len(l) }
func (l nodeList) Node(i int) *v1.Node { return l[i] }

// nodesOf returns the nodes in the order in which the real scheduler has them.
func nodesOf(s *real.Scheduler) (nodes nodeList, err error) {
	infos, err := s.NodeInfos()
	for _, n := range infos {
		nodes = append(nodes, n.Node())
	}
	return nodes, err
}

// askReal asks the real plugin before any node, about each node, and for the raw score of each node that it allows.
func askReal(s *real.Scheduler, pod *v1.Pod) (pre string, verdicts []string, err error) {
	p, err := s.Plugin("DynamicResources")
	if err != nil {
		return "", nil, err
	}
	infos, err := s.NodeInfos()
	if err != nil {
		return "", nil, err
	}
	state := framework.NewCycleState()
	_, status := p.(fwk.PreFilterPlugin).PreFilter(s.Context(), state, pod, infos)
	pre = status.Code().String() + " " + status.Message()
	if !status.IsSuccess() {
		return pre, nil, nil
	}
	for _, n := range infos {
		f := p.(fwk.FilterPlugin).Filter(s.Context(), state, pod, n)
		text := f.Code().String() + " " + f.Message()
		if f.IsSuccess() {
			score, status := p.(fwk.ScorePlugin).Score(s.Context(), state, pod, n)
			if !status.IsSuccess() {
				return "", nil, status.AsError()
			}
			text += strconv.FormatInt(score, 10)
		}
		verdicts = append(verdicts, text)
	}
	return pre, verdicts, nil
}

// oursOfPod prints package devices' answers before any node and about each node.
func oursOfPod(w *podWorld, nodes []*v1.Node) (pre string, verdicts []string) {
	pod := devices.Compile(w.pod, objects{w}, devices.NewExtendedResources(slices.Values(w.classes)))
	if pod.Code() != filter.Success {
		return pod.Code().String() + " " + pod.Reason(), nil
	}
	ledger := devices.NewLedger(devices.NewInventory(w.slices), w.all()...)
	allocator := devices.NewAllocator(ledger, classList(w.classes).find, compiler, devices.Options{Steps: steps, Release: trial.Linked})
	state := pod.On(nodeList(nodes), allocator, devices.Clock{Now: time.Now()})
	for i := range nodes {
		if v := state.Check(i); v != 0 {
			verdicts = append(verdicts, state.Code(v).String()+" "+strings.Join(state.Reasons(v), ", "))
		} else {
			verdicts = append(verdicts, "Success "+strconv.FormatInt(state.Raw(i), 10))
		}
	}
	return "Success ", verdicts
}

// kube starts kube-scheduler with the default profile, but for the time that a search may take on one node.
func kube(t *testing.T, filterTimeout time.Duration) *real.Scheduler {
	t.Helper()
	profile, err := real.DefaultProfile()
	if err != nil {
		t.Fatal(err)
	}
	for k := range profile.PluginConfig {
		if args, ok := profile.PluginConfig[k].Args.(*config.DynamicResourcesArgs); ok {
			args = args.DeepCopy()
			args.FilterTimeout = &metav1.Duration{Duration: filterTimeout}
			profile.PluginConfig[k].Args = args
		}
	}
	s, err := real.New(t.Context(), profile)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Codes, texts and raw scores equal those of the real plugin, before any node and about each node.
func TestPlugin(t *testing.T) {
	s := kube(t, endless)
	outcomes, slow := map[string]int{}, 0
	for k := range *clusters {
		theirs := newGenerator(k).podWorld()
		if err := s.Load(cluster.Objects{Nodes: theirs.nodes}); err != nil {
			t.Fatal(err)
		}
		if err := s.LoadDevices(theirs.slices, theirs.classes, theirs.all()); err != nil {
			t.Fatal(err)
		}
		w := newGenerator(k).podWorld()
		nodes, err := nodesOf(s)
		if err != nil {
			t.Fatal(err)
		}
		pre, verdicts := oursOfPod(w, nodes)
		if slices.ContainsFunc(verdicts, cut) {
			slow++
			continue
		}
		want, theirVerdicts, err := askReal(s, theirs.pod)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(theirVerdicts, cut) {
			slow++
			continue
		}
		if pre != want {
			t.Fatalf("seed %d case %d\nhere:  %s\nthere: %s\n%s", *seed, k, pre, want, w.podYAML(t))
		}
		outcomes[strings.Fields(pre)[0]]++
		for i, want := range theirVerdicts {
			outcomes[kind(verdicts[i])]++
			if !equalText(verdicts[i], want) {
				t.Fatalf("seed %d case %d, node %s\nhere:  %s\nthere: %s\n%s", *seed, k, nodes[i].Name, verdicts[i], want, w.podYAML(t))
			}
		}
	}
	t.Logf("%d of %d cases were left out because their search tries more than %d devices, or takes kube-scheduler %v", slow, *clusters, steps, endless)
	for text, n := range outcomes {
		t.Logf("%6d %s", n, text)
	}
}

func (w *podWorld) podYAML(t *testing.T) string {
	x := *w.world
	x.running = w.all()
	x.claims = nil
	return x.yaml(t) + yamlOf(t, w.pod)
}

// kind shortens a verdict for counting: errors by their first words.
func kind(verdict string) string {
	if strings.HasPrefix(verdict, "Error") {
		return "Error"
	}
	return verdict
}
