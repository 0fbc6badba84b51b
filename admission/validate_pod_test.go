package admission

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/internal/testkit"
)

// plain is a pod that the API server accepts.
func plain() *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"a": "1"}}, Spec: v1.PodSpec{
		Containers:     []v1.Container{{Resources: v1.ResourceRequirements{Requests: quantities("cpu", "1"), Limits: quantities("cpu", "2")}}},
		InitContainers: []v1.Container{{}},
	}}
}

// quantities makes a list of resources from pairs of names and quantities.
func quantities(pairs ...string) v1.ResourceList {
	list := v1.ResourceList{}
	for k := 0; k+1 < len(pairs); k += 2 {
		list[v1.ResourceName(pairs[k])] = resource.MustParse(pairs[k+1])
	}
	return list
}

// What the API server says about the fields of a pod that no other function checks.
func TestValidatePod(t *testing.T) {
	requests := func(pairs ...string) func(p *v1.Pod) {
		return func(p *v1.Pod) {
			p.Spec.Containers[0].Resources = v1.ResourceRequirements{Requests: quantities(pairs...)}
		}
	}
	limits := func(pairs ...string) func(p *v1.Pod) {
		return func(p *v1.Pod) { p.Spec.Containers[0].Resources.Limits = quantities(pairs...) }
	}
	ports := func(list ...v1.ContainerPort) func(p *v1.Pod) {
		return func(p *v1.Pod) { p.Spec.Containers[0].Ports = list }
	}
	whole := func(limits v1.ResourceList, pairs ...string) func(p *v1.Pod) {
		return func(p *v1.Pod) {
			p.Spec.Resources = &v1.ResourceRequirements{Limits: limits, Requests: quantities(pairs...)}
		}
	}
	yes, no, never := true, false, v1.PreemptNever
	nope, odd := v1.PreemptionPolicy("Nope"), v1.ContainerRestartPolicy("Nope")
	const (
		c   = "spec.containers[0]."
		res = c + "resources."
	)
	type test struct {
		name, why string
		change    func(p *v1.Pod)
		want      []string
	}
	testkit.Run(t, []test{
		{"plain", "nothing wrong", func(*v1.Pod) {}, nil},
		{"label", "a label value", func(p *v1.Pod) { p.Labels["a"] = "b c" }, []string{`metadata.labels: Invalid value: "b c": ` + badValue}},
		{"negative", "amounts", requests("cpu", "-1"), []string{res + `requests[cpu]: Invalid value: "-1": must be greater than or equal to 0`}},
		{"above the limit", "requests", func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("3") },
			[]string{res + `requests: Invalid value: "3": must be less than or equal to cpu limit of 2`}},
		{"other domain without limit", "no overcommitment", requests("example.com/gpu", "1"), []string{res + "limits: Required value: Limit must be set for non overcommitable resources"}},
		{"other domain unequal", "no overcommitment", func(p *v1.Pod) { requests("example.com/gpu", "1")(p); limits("example.com/gpu", "2")(p) },
			[]string{res + `requests: Invalid value: "1": must be equal to example.com/gpu limit of 2`}},
		{"fraction", "extended resources are whole", func(p *v1.Pod) { limits("cpu", "2", "example.com/gpu", "1500m")(p) },
			[]string{res + `limits[example.com/gpu]: Invalid value: "1500m": must be an integer`, res + `requests[example.com/gpu]: Invalid value: "1500m": must be an integer`}},
		{"pods", "a name of quotas, whole", limits("pods", "500m"), []string{
			res + `limits[pods]: Invalid value: "pods": must be a standard resource for containers`, res + `limits[pods]: Invalid value: "500m": must be an integer`,
			res + `requests[pods]: Invalid value: "pods": must be a standard resource for containers`, res + `requests[pods]: Invalid value: "500m": must be an integer`}},
		{"no domain", "not a standard resource", requests("gpu", "1"), []string{
			res + `requests[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified`, res + `requests[gpu]: Invalid value: "gpu": must be a standard resource for containers`}},
		{"quota prefix", "requests. of another domain", func(p *v1.Pod) { limits("cpu", "2", "requests.example.com/x", "1")(p) }, []string{
			res + `limits[requests.example.com/x]: Invalid value: "requests.example.com/x": doesn't follow extended resource name standard`,
			res + `requests[requests.example.com/x]: Invalid value: "requests.example.com/x": doesn't follow extended resource name standard`}},
		{"pages", "multiples of the size, with cpu or memory", func(p *v1.Pod) {
			p.Spec.Containers[0].Resources = v1.ResourceRequirements{Limits: quantities("hugepages-2Mi", "3Mi")}
		}, []string{
			res + `limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi`, res + `requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi`,
			c + "resources: Forbidden: HugePages require cpu or memory"}},
		{"port", "numbers and names", ports(v1.ContainerPort{Name: "Up", HostPort: 70000, Protocol: "ICMP"}), []string{
			c + `ports[0].name: Invalid value: "Up": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)`, c + "ports[0].containerPort: Required value",
			c + "ports[0].hostPort: Invalid value: 70000: must be between 1 and 65535, inclusive", c + `ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"`}},
		{"names twice", "of one container", ports(v1.ContainerPort{Name: "a", ContainerPort: 1}, v1.ContainerPort{Name: "a", ContainerPort: 2}), []string{c + `ports[1].name: Duplicate value: "a"`}},
		{"host port twice", "an absent protocol is TCP", ports(v1.ContainerPort{ContainerPort: 1, HostPort: 80}, v1.ContainerPort{ContainerPort: 2, HostPort: 80, Protocol: "TCP"}),
			[]string{c + `ports[1].hostPort: Duplicate value: "TCP//80"`}},
		{"host port of an init container", "named by index 0", func(p *v1.Pod) {
			twice := []v1.ContainerPort{{ContainerPort: 1, HostPort: 80}, {ContainerPort: 2, HostPort: 80}}
			p.Spec.InitContainers = []v1.Container{{}, {Ports: twice}}
		}, []string{`spec.initContainers[0].ports[1].hostPort: Duplicate value: "TCP//80"`}},
		{"host network", "both ports are one", func(p *v1.Pod) { ports(v1.ContainerPort{ContainerPort: 1, HostPort: 80})(p); p.Spec.HostNetwork = yes },
			[]string{c + "ports[0].hostPort: Invalid value: 80: must match `containerPort` when `hostNetwork` is true"}},
		{"host users", "not in the host's network", func(p *v1.Pod) { p.Spec.HostNetwork, p.Spec.HostUsers = yes, &no }, []string{"spec.hostNetwork: Forbidden: when `hostUsers` is false"}},
		{"restart policy", "of an init container", func(p *v1.Pod) { p.Spec.InitContainers[0].RestartPolicy = &odd },
			[]string{`spec.initContainers[0].restartPolicy: Unsupported value: "Nope": supported values: "Always", "Never", "OnFailure"`}},
		{"whole pod", "not less than its containers", whole(nil, "cpu", "500m"), []string{`spec.resources.requests[cpu]: Invalid value: "500m": must be greater than or equal to aggregate container requests of 1`}},
		{"whole pod pages", "limits of huge pages too", func(p *v1.Pod) {
			p.Spec.Containers[0].Resources = v1.ResourceRequirements{Limits: quantities("cpu", "1", "hugepages-2Mi", "4Mi")}
			whole(quantities("cpu", "1", "hugepages-2Mi", "2Mi"), "cpu", "1", "hugepages-2Mi", "2Mi")(p)
		}, []string{`spec.resources.containers[0][hugepages-2Mi].limits: Invalid value: "4Mi": must be less than or equal to pod limits of 2Mi`,
			`spec.resources.requests[hugepages-2Mi]: Invalid value: "2Mi": must be greater than or equal to aggregate container requests of 4Mi`,
			`spec.resources.limits[hugepages-2Mi]: Invalid value: "2Mi": must be greater than or equal to aggregate container limits of 4Mi`}},
		{"whole pod names", "cpu, memory and huge pages", whole(nil, "cpu", "1", "ephemeral-storage", "1"), []string{`spec.resources.requests[ephemeral-storage]: Unsupported value: "ephemeral-storage": supported values: "cpu", "hugepages-", "memory"`}},
		{"node name", "a DNS subdomain", func(p *v1.Pod) { p.Spec.NodeName = "N" }, []string{`spec.nodeName: Invalid value: "N": a lowercase RFC 1123 subdomain must consist`}},
		{"group", "a DNS subdomain", func(p *v1.Pod) { p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: new("G")} }, []string{`spec.schedulingGroup.podGroupName: Invalid value: "G": a lowercase RFC 1123 subdomain must consist`}},
		{"group without name", "the name is the only member of the union", func(p *v1.Pod) { p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{} }, []string{"spec.schedulingGroup.podGroupName: Invalid value: null: must specify one of: `podGroupName`"}},
		{"gates and node", "a gated pod has no node", func(p *v1.Pod) { p.Spec.NodeName, p.Spec.SchedulingGates = "n", gates("g") }, []string{"spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"}},
		{"policy", "of preemption", func(p *v1.Pod) { p.Spec.PreemptionPolicy = &nope }, []string{`spec.preemptionPolicy: Unsupported value: "Nope": supported values: "PreemptLowerPriority", "Never"`}},
		{"policy empty", "not the default", func(p *v1.Pod) { p.Spec.PreemptionPolicy = new(v1.PreemptionPolicy) }, []string{"spec.preemptionPolicy: Required value"}},
		{"policy Never", "legal", func(p *v1.Pod) { p.Spec.PreemptionPolicy = &never }, nil},
		{"overhead", "as a list of limits", func(p *v1.Pod) { p.Spec.Overhead = quantities("cpu", "-1") }, []string{`spec.overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0`}},
		{"no action", "the field has no default", func(p *v1.Pod) {
			p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone"}}
		}, []string{`spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "": supported values: "DoNotSchedule", "ScheduleAnyway"`}},
		{"order", "as the server checks", func(p *v1.Pod) {
			p.Spec.Tolerations, p.Spec.NodeSelector, p.Spec.SchedulingGates = tols(tol("a Exists v _")), map[string]string{"a b": ""}, gates("g", "g")
			requests("cpu", "-1")(p)
			p.Labels["a"] = "b c"
			p.Spec.Overhead = quantities("cpu", "-1")
			p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{TopologyKey: "zone", WhenUnsatisfiable: "DoNotSchedule"}}
		}, []string{"metadata.labels", res, "spec.nodeSelector", "spec.schedulingGates[1]", "spec.topologySpreadConstraints[0]", "spec.tolerations[0]", "spec.overhead"}},
	}, func(t *testing.T, x test) {
		p := plain()
		x.change(p)
		requirePrefixes(t, x.want, messages(Validate(p, Options{})), x.why)
	})
}

func TestValidatePodUpdate(t *testing.T) {
	const kept = "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`"
	type test struct {
		name, why string
		change    func(p *v1.Pod)
		want      []string
	}
	testkit.Run(t, []test{
		{"nothing", "equal pods", func(*v1.Pod) {}, nil},
		{"same amount", "amounts are compared, not texts", func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests = quantities("cpu", "1000m") }, nil},
		{"image", "may change", func(p *v1.Pod) { p.Spec.Containers[0].Image = "i" }, nil},
		{"label", "may change", func(p *v1.Pod) { p.Labels["b"] = "2" }, nil},
		{"bad label", "must be one", func(p *v1.Pod) { p.Labels["b"] = "2 3" }, []string{"metadata.labels: Invalid value"}},
		{"toleration", "may be added", func(p *v1.Pod) { p.Spec.Tolerations = append(p.Spec.Tolerations, tol("b Exists _ _")) }, nil},
		{"toleration gone", "must stay", func(p *v1.Pod) { p.Spec.Tolerations = nil }, []string{"spec.tolerations: Forbidden: existing toleration can not be modified"}},
		{"gate", "comes at creation only", func(p *v1.Pod) { p.Spec.SchedulingGates = gates("g") }, []string{"spec.schedulingGates[0].name: Forbidden: only deletion is allowed"}},
		{"node", "is set by binding", func(p *v1.Pod) { p.Spec.NodeName = "n" }, []string{kept}},
		{"cpu", "is changed by a resize", func(p *v1.Pod) { p.Spec.Containers[0].Resources.Limits = quantities("cpu", "3") }, []string{kept}},
		{"priority class", "its value is in the pod already", func(p *v1.Pod) { p.Spec.PriorityClassName = "high" }, []string{kept}},
		{"priority", "is set by admission", func(p *v1.Pod) { p.Spec.Priority = new(int32(7)) }, []string{kept}},
		{"port", "the port of the node is taken when the pod is placed", func(p *v1.Pod) { p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 8080, HostPort: 80}} }, []string{kept}},
		{"containers", "their number stays", func(p *v1.Pod) { p.Spec.Containers = append(p.Spec.Containers, v1.Container{}) }, []string{"spec.containers: Forbidden: pod updates may not add or remove containers"}},
		{"spread", "stays", func(p *v1.Pod) {
			p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: v1.DoNotSchedule}}
		}, []string{kept}},
	}, func(t *testing.T, x test) {
		old := plain()
		old.Spec.Tolerations = tols(tol("a Exists _ _"))
		p := old.DeepCopy()
		x.change(p)
		requirePrefixes(t, x.want, messages(ValidateUpdate(p, old, Options{})), x.why)
		requirePrefixes(t, x.want, messages(ValidateUpdate(p, old, Options{})), x.why)
	})
}

// Validate, ValidateUpdate and Refusal join the checks of all kinds.
func TestValidate(t *testing.T) {
	bad := plain()
	bad.Spec.NodeName = "N"
	negative := intstr.FromInt32(-1)
	class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Handler: "h", Overhead: &nodev1.Overhead{PodFixed: quantities("cpu", "-1")},
		Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{"a": "b c"}, Tolerations: tols(tol("a Exists v _"))}}
	type test struct {
		name   string
		object metav1.Object
		want   string
	}
	testkit.Run(t, []test{
		{"pod", bad, `Pod "p" is invalid: spec.nodeName: Invalid value: "N": `},
		{"node", &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: v1.NodeSpec{Taints: taintList("a=b")}}, `Node "n" is invalid: metadata.taints[0].effect: Required value`},
		{"priority class", &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Value: 2000000000},
			`PriorityClass.scheduling.k8s.io "c" is invalid: value: Forbidden: maximum allowed value of a user defined priority is 1000000000`},
		{"runtime class", class, `RuntimeClass.node.k8s.io "r" is invalid: [overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0, scheduling.nodeSelector: Invalid value: "b c"`},
		{"budget", &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &negative}},
			`PodDisruptionBudget.policy "b" is invalid: spec.minAvailable: Invalid value: -1: must be greater than or equal to 0`},
	}, func(t *testing.T, x test) {
		err := Refusal(x.object, Validate(x.object, Options{}))
		require.ErrorContains(t, err, x.want)
		require.ErrorContains(t, err, x.want[:8])
	})
	require.Empty(t, Validate(&v1.Service{}, Options{}), "a kind without checks")
	require.Empty(t, ValidateUpdate(&v1.Service{}, &v1.Service{}, Options{}), "a kind without checks")
	require.NoError(t, Refusal(plain(), nil))
	require.EqualError(t, Refusal(&v1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, Validate(bad, Options{})[:1]), "object \"s\" is invalid: "+Validate(bad, Options{})[0].Error())

	twice := class.DeepCopy()
	twice.Overhead, twice.Scheduling = nil, &nodev1.Scheduling{Tolerations: tols(tol("a Exists _ _"), tol("a Exists _ _"))}
	require.Equal(t, []string{`scheduling.tolerations[1]: Duplicate value: {"Key":"a","Operator":"Exists","Value":"","Effect":"","TolerationSeconds":null}`}, messages(Validate(twice, Options{})))

	old, now := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Value: 1}, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Value: 2}
	require.Equal(t, []string{"value: Forbidden: may not be changed in an update."}, messages(ValidateUpdate(now, old, Options{})))
	handler := class.DeepCopy()
	handler.Handler, handler.Overhead, handler.Scheduling = "other", nil, nil
	require.Equal(t, []string{`handler: Invalid value: null: field is immutable`}, messages(ValidateUpdate(handler, class, Options{})))
	require.Empty(t, ValidateUpdate(handler, old, Options{}), "objects of two kinds")
	require.Empty(t, ValidateUpdate(now, class, Options{}), "objects of two kinds")
	require.Empty(t, ValidateUpdate(bad, class, Options{}), "objects of two kinds")
}
