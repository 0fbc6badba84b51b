package cel_test

import (
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/cel"
	"github.com/podberth/podberth/filter"
)

// testdata/plugin.txt has the worked examples of the plugin: one pod p in namespace ns. A case has the lines of
// testdata/worked.txt for slices, classes and claims, and these:
//
//	use CLAIM ...                             entries of spec.resourceClaims; "CLAIM=template" is made from a template and exists,
//	                                          "none" is an entry whose status names no claim, "template" one without status,
//	                                          "empty" an entry without a name
//	node NAME gpu=4 ...                       a node; n1 is the only node of a case without this line
//	container NAME gpu=2 ..., init ..., sidecar ...
//	claim NAME on NODE ... for POD ...        the claim is allocated: its first device is "d" of pool elsewhere
//	claim NAME deleted | foreign | in flight | class "" | untyped | bad selector
//	conditions NAME AGE ready|pending|failed|broken  the claim's device has binding conditions; it was allocated AGE ago
//	provides CLASS RESOURCE AGE               a class with spec.extendedResourceName
//	leftover                                  the claim that a former attempt created for extended resources
//	timeout DURATION                          the binding time-out
//
// The lines of the answer begin with "=": the code and reason before any node; the verdict, score and devices on each node;
// what PostFilter gives back when no node is left.
func TestPluginExamples(t *testing.T) {
	text, err := os.ReadFile("testdata/plugin.txt")
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, block := range strings.Split(string(text), "\n\n") {
		lines := strings.Split(strings.TrimSpace(block), "\n")
		id, why, _ := strings.Cut(strings.TrimPrefix(lines[0], "# "), " ")
		require.False(t, seen[id], id)
		require.NotEmpty(t, why, id)
		seen[id] = true
		t.Run(id, func(t *testing.T) {
			p, want := parsePlugin(t, lines[1:])
			require.Equal(t, strings.Join(want, "\n"), strings.Join(p.answer(), "\n"), why)
		})
	}
	require.Greater(t, len(seen), 35)
}

// plugin is one worked example: the objects that the plugin reads.
type plugin struct {
	*worked
	pod      *v1.Pod
	nodes    []*v1.Node
	inFlight map[types.UID]bool
	now      time.Time
	clock    devices.Clock
}

func parsePlugin(t *testing.T, lines []string) (*plugin, []string) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := &plugin{pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "p"}}, inFlight: map[types.UID]bool{}, now: now, clock: devices.Clock{Now: now}}
	var own, common, want []string
	for _, line := range lines {
		word, _, _ := strings.Cut(line, " ")
		switch word {
		case "=":
			want = append(want, strings.TrimPrefix(line, "= "))
		case "use", "node", "container", "init", "sidecar", "claim", "conditions", "provides", "leftover", "timeout":
			own = append(own, line)
		default:
			common = append(common, line)
		}
	}
	p.worked = parse(t, common)
	for _, c := range p.claims {
		c.UID = types.UID(c.Name)
	}
	for _, line := range own {
		p.line(strings.Fields(line))
	}
	if len(p.nodes) == 0 {
		p.node("n1", nil)
	}
	return p, want
}

func (p *plugin) line(f []string) {
	switch f[0] {
	case "use":
		for _, entry := range f[1:] {
			p.use(entry)
		}
	case "node":
		p.node(f[1], f[2:])
	case "container", "init", "sidecar":
		p.container(f[0], f[1], f[2:])
	case "claim":
		p.change(p.find(f[1]), f[2:])
	case "conditions":
		age, err := time.ParseDuration(f[2])
		require.NoError(p.t, err)
		p.conditions(p.find(f[1]), age, f[3])
	case "provides":
		class := p.classes[f[1]]
		class.Spec.ExtendedResourceName = &f[2]
		class.CreationTimestamp = metav1.NewTime(p.now.Add(-time.Duration(p.number(f[3])) * time.Second))
	case "leftover":
		c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p-extended-resources-x", UID: "x",
			Annotations:     map[string]string{"resource.kubernetes.io/extended-resource-claim": "true"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(p.pod, v1.SchemeGroupVersion.WithKind("Pod"))}}}
		c.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "container-0-request-0", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "c", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}}}
		p.claims = append(p.claims, c)
	case "timeout":
		d, err := time.ParseDuration(f[1])
		require.NoError(p.t, err)
		p.clock.BindingTimeout = d
	}
}

func (p *plugin) use(entry string) {
	name, how, _ := strings.Cut(entry, "=")
	e := v1.PodResourceClaim{Name: "use-" + name}
	template := "template"
	switch {
	case name == "empty":
	case name == "template":
		e.ResourceClaimTemplateName = &template
	case name == "none":
		e.ResourceClaimTemplateName = &template
		p.pod.Status.ResourceClaimStatuses = append(p.pod.Status.ResourceClaimStatuses, v1.PodResourceClaimStatus{Name: e.Name})
	case how == "template":
		e.ResourceClaimTemplateName = &template
		p.pod.Status.ResourceClaimStatuses = append(p.pod.Status.ResourceClaimStatuses, v1.PodResourceClaimStatus{Name: e.Name, ResourceClaimName: &name})
		c := p.find(name)
		c.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(p.pod, v1.SchemeGroupVersion.WithKind("Pod"))}
	default:
		e.ResourceClaimName = &name
	}
	p.pod.Spec.ResourceClaims = append(p.pod.Spec.ResourceClaims, e)
}

// resourceName completes the short names of the examples.
func resourceName(short string) v1.ResourceName {
	switch {
	case short == "cpu":
		return v1.ResourceCPU
	case strings.Contains(short, "/"):
		return v1.ResourceName(short)
	}
	return v1.ResourceName("example.com/" + short)
}

func amounts(fields []string) v1.ResourceList {
	out := v1.ResourceList{}
	for _, f := range fields {
		name, amount, _ := strings.Cut(f, "=")
		out[resourceName(name)] = resource.MustParse(amount)
	}
	return out
}

func (p *plugin) node(name string, offers []string) {
	p.nodes = append(p.nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": "a"}}, Status: v1.NodeStatus{Allocatable: amounts(offers)}})
}

func (p *plugin) container(kind, name string, asks []string) {
	c := v1.Container{Name: name, Resources: v1.ResourceRequirements{Requests: amounts(asks)}}
	switch kind {
	case "container":
		p.pod.Spec.Containers = append(p.pod.Spec.Containers, c)
	case "sidecar":
		always := v1.ContainerRestartPolicyAlways
		c.RestartPolicy = &always
		fallthrough
	case "init":
		p.pod.Spec.InitContainers = append(p.pod.Spec.InitContainers, c)
	}
}

func (p *plugin) find(name string) *resourcev1.ResourceClaim {
	at := slices.IndexFunc(p.claims, func(c *resourcev1.ResourceClaim) bool { return c.Name == name })
	require.GreaterOrEqual(p.t, at, 0, name)
	return p.claims[at]
}

func (p *plugin) change(c *resourcev1.ResourceClaim, how []string) {
	r := &c.Spec.Devices.Requests[0]
	switch how[0] {
	case "deleted":
		now := metav1.NewTime(p.now)
		c.DeletionTimestamp = &now
	case "foreign":
		c.OwnerReferences[0].UID = "q"
	case "in":
		p.inFlight[c.UID] = true
	case "class":
		if r.Exactly != nil {
			r.Exactly.DeviceClassName = ""
		} else {
			r.FirstAvailable[0].DeviceClassName = ""
		}
	case "untyped":
		r.Exactly, r.FirstAvailable = nil, nil
	case "bad":
		term := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "zone", Operator: "Bad"}}}
		c.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}}}
	case "on":
		users := slices.Index(how, "for")
		if users < 0 {
			users = len(how)
		}
		nodes := how[1:users]
		name := r.Name
		if len(r.FirstAvailable) > 0 {
			name += "/" + r.FirstAvailable[len(r.FirstAvailable)-1].Name
		}
		term := v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: nodes}}}
		c.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}},
			Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Request: name, Driver: "drv", Pool: "elsewhere", Device: "d"}}}}
		for _, user := range how[min(users+1, len(how)):] {
			c.Status.ReservedFor = append(c.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: user, UID: types.UID(user)})
		}
	default:
		p.t.Fatalf("unknown change %q", how)
	}
}

func (p *plugin) conditions(c *resourcev1.ResourceClaim, age time.Duration, state string) {
	a := c.Status.Allocation
	at := metav1.NewTime(p.now.Add(-age))
	a.AllocationTimestamp = &at
	r := &a.Devices.Results[0]
	r.BindingConditions, r.BindingFailureConditions = []string{"ready"}, []string{"bad"}
	status := resourcev1.AllocatedDeviceStatus{Driver: r.Driver, Pool: r.Pool, Device: r.Device}
	switch state {
	case "ready":
		status.Conditions = []metav1.Condition{{Type: "ready", Status: metav1.ConditionTrue}}
	case "broken":
		status.Conditions = []metav1.Condition{{Type: "bad", Status: metav1.ConditionTrue}}
	case "failed":
		status.Conditions = []metav1.Condition{{Type: "ready", Status: metav1.ConditionTrue}, {Type: "bad", Status: metav1.ConditionTrue, Reason: "Broke", Message: "it broke"}}
	}
	c.Status.Devices = []resourcev1.AllocatedDeviceStatus{status}
}

func (p *plugin) Len() int            { return len(p.nodes) }
func (p *plugin) Node(i int) *v1.Node { return p.nodes[i] }

func (p *plugin) ResourceClaim(namespace, name string) *resourcev1.ResourceClaim {
	for c := range p.ResourceClaims(namespace) {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func (p *plugin) ResourceClaims(namespace string) iter.Seq[*resourcev1.ResourceClaim] {
	return func(yield func(*resourcev1.ResourceClaim) bool) {
		for _, c := range p.claims {
			if c.Namespace == namespace && !yield(c) {
				return
			}
		}
	}
}

func (p *plugin) InFlight(uid types.UID) bool                     { return p.inFlight[uid] }
func (p *plugin) DeviceClass(name string) *resourcev1.DeviceClass { return p.classes[name] }

func (p *plugin) answer() []string {
	names := []string{}
	for name := range p.classes {
		names = append(names, name)
	}
	slices.Sort(names)
	extended := devices.NewExtendedResources(func(yield func(*resourcev1.DeviceClass) bool) {
		for _, name := range names {
			if !yield(p.classes[name]) {
				return
			}
		}
	})
	var out []string
	if reason := devices.Gate(p.pod, p); reason != "" {
		out = append(out, "gate "+reason)
	}
	pod := devices.Compile(p.pod, p, extended)
	allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory(p.slices), append(p.running, p.claims...)...), p.DeviceClass, cel.NewCompiler(), p.options)
	state := pod.On(p, allocator, p.clock)
	if pod.Code() != filter.Success {
		out = append(out, strings.TrimSpace(pod.Code().String()+" "+pod.Reason()))
		if pod.Code() == filter.Skip {
			out = append(out, "post "+state.Freed().Reason)
		}
		return out
	}
	fits := false
	for i, n := range p.nodes {
		v := state.Check(i)
		if v != 0 {
			out = append(out, n.Name+" "+state.Code(v).String()+" "+firstLine(strings.Join(state.Reasons(v), ", ")))
			continue
		}
		fits = true
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %d %s", n.Name, state.Raw(i), allocation(state.Allocation(i)))))
	}
	if fits {
		return out
	}
	release := state.Freed()
	text := "post " + release.Reason
	if release.Deallocate != nil {
		text += ": " + release.Deallocate.Name
		c := devices.Deallocated(release.Deallocate)
		require.Nil(p.t, c.Status.Allocation)
		require.Empty(p.t, c.Status.ReservedFor)
		require.Equal(p.t, release.Deallocate.Finalizers, c.Finalizers)
	}
	if release.Delete != nil {
		text += ": " + release.Delete.Name
	}
	return append(out, text)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// allocation prints the devices of each claim, the requests of the claim for extended resources and its mappings.
func allocation(a devices.Allocation) string {
	var out []string
	for k, c := range a.Claims {
		text := c.Name + "["
		for j, r := range a.Results[k].Devices.Results {
			if j > 0 {
				text += " "
			}
			text += r.Request + "=" + r.Device
		}
		out = append(out, text+"]")
	}
	for _, m := range a.Mappings {
		out = append(out, m.ContainerName+":"+strings.TrimPrefix(m.ResourceName, "example.com/")+"->"+m.RequestName)
	}
	return strings.Join(out, " ")
}
