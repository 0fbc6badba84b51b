// Package situation reads and prints situations of groups of pods: a few nodes, groups and pods in a line of text each.
//
//	node n1:4 zone=a
//	composite job gang2 ^10 key=zone all
//	group g gang2 ^10 key=zone all parent=job
//	pod a,b:1 in=g ^10 nominated=n1 select=zone=a
//	pod r:1 in=g on=n1 ^5 label=app=x started=7 terminating
//	budget pdb label=app=x allowed=0
//	devices n1:2
//	claim c1 on=n1 for=g
//	group g gang2 claim=x=c1
//	pod c:1 in=g claim=x=c1
//
// A pod without on= is queued. Lines may be separated by semicolons. "basic" is the policy without a number. gates= takes T, C, P, D for
// topology, composites, the preemption policy of groups, and claims.
package situation

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/podgroup"
)

// Namespace is that of all pods and groups.
const Namespace = "d"

// Noon is when the situation begins. Objects are created a minute apart, in their order.
var Noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Situation has the objects.
type Situation struct {
	Gates      podgroup.Gates
	Nodes      []*v1.Node
	Groups     []*podgroup.Group
	Composites []*podgroup.Composite
	Running    []*v1.Pod
	Queued     []*v1.Pod
	Budgets    []*policyv1.PodDisruptionBudget
	Slices     []*resourcev1.ResourceSlice
	Claims     []*resourcev1.ResourceClaim

	objects int
}

// Parse reads a situation.
func Parse(text string) (*Situation, error) {
	s := &Situation{}
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ';' || r == '\n' }) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if err := s.line(words); err != nil {
			return nil, fmt.Errorf("%s: %w", strings.TrimSpace(line), err)
		}
	}
	return s, nil
}

func (s *Situation) line(words []string) error {
	if gates, ok := strings.CutPrefix(words[0], "gates="); ok {
		s.Gates = podgroup.Gates{
			Topology: strings.ContainsAny(gates, "TC"), Composites: strings.Contains(gates, "C"),
			PreemptionPolicy: strings.Contains(gates, "P"), Claims: strings.Contains(gates, "D"),
		}
		return nil
	}
	if len(words) < 2 {
		return fmt.Errorf("a name is missing")
	}
	names, amount, _ := strings.Cut(words[1], ":")
	for name := range strings.SplitSeq(names, ",") {
		switch words[0] {
		case "node":
			s.Nodes = append(s.Nodes, node(s.meta(name), amount, words[2:]))
		case "group", "composite":
			spec, claims, err := specOf(words[2:])
			if err != nil {
				return err
			}
			if words[0] == "group" {
				s.Groups = append(s.Groups, &podgroup.Group{ObjectMeta: s.meta(name), Spec: spec, Claims: claims})
			} else {
				s.Composites = append(s.Composites, &podgroup.Composite{ObjectMeta: s.meta(name), Spec: spec})
			}
		case "pod":
			if err := s.pod(s.meta(name), amount, words[2:]); err != nil {
				return err
			}
		case "devices":
			if err := s.devices(s.meta(name), amount); err != nil {
				return err
			}
		case "claim":
			if err := s.claim(s.meta(name), words[2:]); err != nil {
				return err
			}
		case "budget":
			if err := s.budget(s.meta(name), words[2:]); err != nil {
				return err
			}
		default:
			return fmt.Errorf("unknown word %q", words[0])
		}
	}
	return nil
}

func (s *Situation) meta(name string) metav1.ObjectMeta {
	s.objects++
	return metav1.ObjectMeta{
		Namespace: Namespace, Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{},
		CreationTimestamp: metav1.NewTime(Noon.Add(time.Duration(s.objects) * time.Minute)),
	}
}

func node(m metav1.ObjectMeta, cpu string, words []string) *v1.Node {
	m.Namespace = ""
	m.Labels[v1.LabelHostname] = m.Name
	for _, w := range words {
		k, v, _ := strings.Cut(w, "=")
		m.Labels[k] = v
	}
	offers := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourcePods: resource.MustParse("110")}
	if n, ok := m.Labels["pods"]; ok {
		offers[v1.ResourcePods] = resource.MustParse(n)
	}
	return &v1.Node{ObjectMeta: m, Status: v1.NodeStatus{Allocatable: offers, Capacity: offers}}
}

func number(text string) (*int32, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	out := int32(n)
	return &out, err
}

func specOf(words []string) (spec podgroup.Spec, claims []podgroup.Claim, err error) {
	for _, w := range words {
		if c, ok := groupClaim(w); ok {
			claims = append(claims, c)
			continue
		}
		switch key, value, _ := strings.Cut(w, "="); {
		case w == "basic":
		case w == "all":
			spec.DisruptAll = true
		case w == "never":
			never := v1.PreemptNever
			spec.PreemptionPolicy = &never
		case strings.HasPrefix(w, "gang"):
			spec.Minimum, err = number(w[len("gang"):])
		case strings.HasPrefix(w, "^"):
			spec.Priority, err = number(w[1:])
		case key == "parent":
			spec.Parent = value
		case key == "key" && value == "":
			spec.Constraints = &podgroup.Constraints{}
		case key == "key":
			spec.Constraints = &podgroup.Constraints{Topology: []string{value}}
		default:
			err = fmt.Errorf("unknown word %q", w)
		}
		if err != nil {
			return spec, nil, err
		}
	}
	return spec, claims, nil
}

func (s *Situation) budget(m metav1.ObjectMeta, words []string) error {
	b := &policyv1.PodDisruptionBudget{ObjectMeta: m}
	for _, w := range words {
		switch key, value, _ := strings.Cut(w, "="); key {
		case "label":
			k, v, _ := strings.Cut(value, "=")
			b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{k: v}}
		case "allowed":
			n, err := number(value)
			if err != nil {
				return err
			}
			b.Status.DisruptionsAllowed = *n
		default:
			return fmt.Errorf("unknown word %q", w)
		}
	}
	s.Budgets = append(s.Budgets, b)
	return nil
}

func (s *Situation) pod(m metav1.ObjectMeta, cpu string, words []string) (err error) {
	p := &v1.Pod{ObjectMeta: m}
	p.Spec.SchedulerName = v1.DefaultSchedulerName
	p.Spec.Containers = []v1.Container{{Name: "c", Image: "i"}}
	if cpu != "" {
		p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}
	}
	for _, w := range words {
		if err := podWord(p, w); err != nil {
			return err
		}
	}
	if p.Spec.NodeName == "" {
		s.Queued = append(s.Queued, p)
		return nil
	}
	p.Status.Phase = v1.PodRunning
	if p.Status.StartTime == nil {
		p.Status.StartTime = &m.CreationTimestamp
	}
	s.Running = append(s.Running, p)
	return nil
}

func podWord(p *v1.Pod, w string) (err error) {
	key, value, _ := strings.Cut(w, "=")
	k, v, _ := strings.Cut(value, "=")
	switch {
	case strings.HasPrefix(w, "^"):
		p.Spec.Priority, err = number(w[1:])
	case key == "in":
		p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &value}
	case key == "on":
		p.Spec.NodeName = value
	case key == "nominated":
		p.Status.NominatedNodeName = value
	case key == "select":
		p.Spec.NodeSelector = map[string]string{k: v}
	case key == "label":
		p.Labels[k] = v
	case key == "claim":
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, claimOf(value))
	case key == "scheduler":
		p.Spec.SchedulerName = value
	case key == "apart", key == "with": // apart=KEY=APP: no pod with the label app=APP in the domain of KEY
		term := v1.PodAffinityTerm{TopologyKey: k, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": v}}}
		p.Spec.Affinity = &v1.Affinity{}
		if key == "apart" {
			p.Spec.Affinity.PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}
		} else {
			p.Spec.Affinity.PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}
		}
	case key == "spread": // spread=KEY=APP
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: k, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": v}},
		}}
	case key == "port":
		n, err := number(value)
		if err != nil {
			return err
		}
		p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: *n, HostPort: *n, Protocol: v1.ProtocolTCP}}
	case key == "started":
		n, err := number(value)
		if err != nil {
			return err
		}
		at := metav1.NewTime(Noon.Add(time.Duration(*n) * time.Minute))
		p.Status.StartTime = &at
	case w == "never":
		never := v1.PreemptNever
		p.Spec.PreemptionPolicy = &never
	case w == "terminating", w == "preempted":
		at := metav1.NewTime(Noon)
		p.DeletionTimestamp, p.Finalizers = &at, []string{"example.com/x"}
		if w == "preempted" {
			p.Status.Conditions = []v1.PodCondition{{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonPreemptionByScheduler}}
		}
	default:
		err = fmt.Errorf("unknown word %q", w)
	}
	return err
}
