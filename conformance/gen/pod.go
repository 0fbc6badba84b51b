package gen

import (
	"fmt"
	"math"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pod is a new pending pod that the API server accepts.
func (g *generator) pod(name string) *v1.Pod {
	for {
		p := g.draft(name)
		if admitted, err := Admit(p); err == nil {
			g.ephemeralClaims(admitted)
			return admitted
		}
		Refused.Add(1)
	}
}

func (g *generator) draft(name string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: g.meta(pick(g, []string{"default", "default", "n1", "n2"}), name)}
	p.Labels = g.podLabels()
	if g.one(3) {
		p.OwnerReferences = g.owner(p.Namespace)
	}
	s := &p.Spec
	for i := range 1 + g.Intn(5)/3 {
		s.Containers = append(s.Containers, g.container(fmt.Sprintf("c%d", i)))
	}
	if g.one(5) || g.focus&OddResources != 0 && g.one(2) {
		for i := range 1 + g.Intn(3) {
			c := g.container(fmt.Sprintf("i%d", i))
			if g.one(2) {
				always := v1.ContainerRestartPolicyAlways
				c.RestartPolicy = &always
			}
			s.InitContainers = append(s.InitContainers, c)
		}
	}
	if g.focus&Images != 0 && g.one(3) { // since v1.36 its size counts
		image := &v1.ImageVolumeSource{Reference: g.imageName(), PullPolicy: v1.PullIfNotPresent}
		s.Volumes = append(s.Volumes, v1.Volume{Name: "image", VolumeSource: v1.VolumeSource{Image: image}})
	}
	if g.with(OddResources) {
		g.oddResources(p)
	}
	if g.with(Taints) {
		for range 1 + g.Intn(3) {
			s.Tolerations = append(s.Tolerations, g.toleration())
		}
	}
	if g.with(NodeAffinity) {
		g.nodeAffinity(p)
	}
	if g.with(PodAffinity) {
		g.podAffinity(p)
	}
	if g.with(Spread) {
		for range 1 + g.Intn(3) {
			s.TopologySpreadConstraints = append(s.TopologySpreadConstraints, g.constraint())
		}
	}
	if g.with(Features) {
		no, never := false, v1.ContainerRestartPolicyNever
		switch g.Intn(3) {
		case 0:
			s.HostUsers = &no
		case 1:
			s.HostUsers, s.HostNetwork = &no, true
		case 2:
			codes := &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}}
			s.Containers[0].RestartPolicy = &never
			s.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{Action: v1.ContainerRestartRuleActionRestartAllContainers, ExitCodes: codes}}
		}
	}
	if g.shape.Volumes && !g.shape.Roomy && g.with(Volumes) {
		g.mount(p)
	}
	priority := pick(g, []int32{0, 0, 0, 5, 10, -1, 100})
	s.Priority = &priority
	if g.shape.Roomy {
		g.relax(p)
	}
	if g.shape.Crowded || g.shape.Urgent {
		if g.one(4) {
			priority = math.MinInt32 // adds nothing to the sum of victims
		}
		if name[0] == 'p' {
			priority = pick(g, []int32{5, 10, 50, 200})
		}
	}
	if g.shape.Crowded {
		requests := v1.ResourceList{v1.ResourceCPU: resource.MustParse(pick(g, []string{"500m", "1", "1500m"}))}
		if g.one(3) {
			requests[v1.ResourceMemory] = resource.MustParse(pick(g, []string{"512Mi", "1Gi"}))
		}
		s.Containers[0].Resources = v1.ResourceRequirements{Requests: requests}
	}
	if g.one(8) {
		never := v1.PreemptNever
		s.PreemptionPolicy = &never
	}
	return p
}

func (g *generator) container(name string) v1.Container {
	c := v1.Container{Name: name, Image: pick(g, []string{"web:1", "web", "db:2", "registry.example.com/big", "one", "docker.io/library/one:1.0"})}
	requests, limits := v1.ResourceList{}, v1.ResourceList{}
	set := func(l v1.ResourceList, name v1.ResourceName, values ...string) {
		if !g.one(3) {
			l[name] = resource.MustParse(pick(g, values))
		}
	}
	if g.with(Resources) || g.one(2) {
		set(requests, v1.ResourceCPU, "100m", "250m", "500m", "1", "1500m", "2", "0", "37m", "3", "611m")
		set(requests, v1.ResourceMemory, "128Mi", "256Mi", "512Mi", "1Gi", "0", "700M", "1", "3Gi", "333Mi")
		if g.one(5) {
			set(requests, v1.ResourceEphemeralStorage, "1Gi", "0", "5Gi", "20Gi")
		}
		if g.one(4) {
			set(limits, v1.ResourceCPU, "2", "3", "500m")
			set(limits, v1.ResourceMemory, "1Gi", "4Gi")
		}
	}
	if g.focus&OddResources != 0 && g.one(2) || g.one(30) {
		q := resource.MustParse(pick(g, []string{"1", "2", "0", "3"}))
		requests[gpu], limits[gpu] = q, q
	}
	if g.focus&OddResources != 0 && g.one(4) {
		names := 15
		if g.shape.FewNames || g.shape.Nominated || g.shape.Crowded || g.shape.Urgent {
			names = 8
		}
		for k := range 3 + g.Intn(names-2) {
			requests[device(k)], limits[device(k)] = resource.MustParse("1"), resource.MustParse("1")
		}
	}
	if g.one(20) {
		q := resource.MustParse(pick(g, []string{"2Mi", "4Mi", "8Mi"}))
		requests["hugepages-2Mi"], limits["hugepages-2Mi"] = q, q
	}
	if len(requests) > 0 {
		c.Resources.Requests = requests
	}
	if len(limits) > 0 {
		c.Resources.Limits = limits
	}
	if g.with(Ports) {
		for range 1 + g.Intn(2) {
			port := v1.ContainerPort{ContainerPort: pick(g, []int32{80, 81}), Protocol: pick(g, []v1.Protocol{v1.ProtocolTCP, v1.ProtocolTCP, v1.ProtocolUDP, ""})}
			port.HostPort = pick(g, []int32{80, 80, 81, 0, 8080})
			port.HostIP = pick(g, []string{"", "", "0.0.0.0", "127.0.0.1", "10.0.0.1"})
			c.Ports = append(c.Ports, port)
		}
	}
	return c
}

func (g *generator) oddResources(p *v1.Pod) {
	list := func() v1.ResourceList {
		return v1.ResourceList{v1.ResourceCPU: resource.MustParse(pick(g, []string{"1", "2", "250m", "3"})),
			v1.ResourceMemory: resource.MustParse(pick(g, []string{"1Gi", "128Mi", "2Gi"}))}
	}
	if g.one(2) {
		p.Spec.Resources = &v1.ResourceRequirements{}
		if !g.one(4) {
			p.Spec.Resources.Requests = list()
		}
		if g.one(2) {
			p.Spec.Resources.Limits = list()
		}
	}
	if g.one(3) {
		name := "kata"
		p.Spec.RuntimeClassName = &name
		p.Spec.Overhead = v1.ResourceList{v1.ResourceCPU: resource.MustParse("250m")}
		if g.one(2) {
			p.Spec.Overhead[v1.ResourceMemory] = resource.MustParse("120Mi")
		}
	}
}

func (g *generator) toleration() v1.Toleration {
	t := v1.Toleration{Key: pick(g, append([]string{""}, taintKeys...)), Operator: v1.TolerationOpExists}
	if t.Key != "" && g.one(2) {
		t.Operator, t.Value = pick(g, []v1.TolerationOperator{"", v1.TolerationOpEqual}), pick(g, []string{"", "v", "w"})
	}
	if t.Key != "" && g.shape.Numeric && !g.one(3) {
		t.Operator, t.Value = pick(g, []v1.TolerationOperator{v1.TolerationOpGt, v1.TolerationOpLt}), pick(g, []string{"5", "4", "10", "-1"})
	}
	t.Effect = pick(g, append([]v1.TaintEffect{""}, effects...))
	if t.Effect == v1.TaintEffectNoExecute && g.one(2) {
		seconds := int64(g.Intn(3) * 100)
		t.TolerationSeconds = &seconds
	}
	return t
}

func (g *generator) constraint() v1.TopologySpreadConstraint {
	c := v1.TopologySpreadConstraint{MaxSkew: int32(1 + g.Intn(5)/2), TopologyKey: pick(g, zoneKeys), LabelSelector: g.selector()}
	c.WhenUnsatisfiable = pick(g, []v1.UnsatisfiableConstraintAction{v1.DoNotSchedule, v1.ScheduleAnyway})
	if c.WhenUnsatisfiable == v1.DoNotSchedule && g.one(3) {
		n := int32(1 + g.Intn(4))
		c.MinDomains = &n
	}
	honor, ignore := v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore
	policies := []*v1.NodeInclusionPolicy{nil, nil, &honor, &ignore}
	c.NodeAffinityPolicy, c.NodeTaintsPolicy = pick(g, policies), pick(g, policies)
	if c.LabelSelector != nil && g.one(5) {
		c.MatchLabelKeys = []string{pick(g, []string{"pod-template-hash", "gone2", "tier"})}
	}
	return c
}

// running is a pod on a node.
func (g *generator) running(i int) *v1.Pod {
	p := g.pod(fmt.Sprintf("r%d", i))
	p.Spec.NodeName = pick(g, g.c.Nodes).Name
	if g.shape.Roomy && g.focus&Spread != 0 {
		p.Spec.NodeName = g.crowd().Name
	}
	if g.one(80) {
		p.Spec.NodeName = "gone"
	}
	p.Status.Phase = v1.PodRunning
	switch {
	case g.one(25):
		p.Status.Phase = pick(g, []v1.PodPhase{v1.PodSucceeded, v1.PodFailed})
	case g.one(10):
		at := metav1.NewTime(Epoch.Add(time.Minute))
		seconds := int64(30)
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &at, &seconds
		if g.one(2) {
			p.Status.Conditions = append(p.Status.Conditions, v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue,
				Reason: pick(g, []string{v1.PodReasonPreemptionByScheduler, "EvictionByEvictionAPI"})})
		}
	}
	started := metav1.NewTime(Epoch.Add(time.Duration(g.Intn(4)) * time.Second))
	if !g.one(5) {
		p.Status.StartTime = &started
	}
	if g.focus&OddResources != 0 && g.one(2) {
		g.resize(p)
	}
	return p
}

// resize puts the pod in some state of in-place resizing.
func (g *generator) resize(p *v1.Pod) {
	if g.one(2) {
		kind := pick(g, []v1.PodConditionType{v1.PodResizePending, v1.PodResizeInProgress})
		p.Status.Conditions = append(p.Status.Conditions, v1.PodCondition{Type: kind, Status: v1.ConditionTrue,
			Reason: pick(g, []string{v1.PodReasonInfeasible, v1.PodReasonDeferred})})
	}
	list := func() v1.ResourceList {
		return v1.ResourceList{v1.ResourceCPU: resource.MustParse(pick(g, []string{"1", "2", "100m", "3"})),
			v1.ResourceMemory: resource.MustParse(pick(g, []string{"1Gi", "64Mi", "2Gi"}))}
	}
	states := func(containers []v1.Container) (out []v1.ContainerStatus) {
		for _, c := range containers {
			if g.one(4) {
				continue
			}
			s := v1.ContainerStatus{Name: c.Name}
			if !g.one(4) {
				s.AllocatedResources = list()
			}
			if !g.one(4) {
				s.Resources = &v1.ResourceRequirements{Requests: list()}
			}
			out = append(out, s)
		}
		return out
	}
	p.Status.ContainerStatuses = states(p.Spec.Containers)
	p.Status.InitContainerStatuses = states(p.Spec.InitContainers)
	if p.Spec.Resources != nil && g.one(2) {
		p.Status.AllocatedResources = list()
		p.Status.Resources = &v1.ResourceRequirements{Requests: list()}
	}
}
