package admission

import (
	"cmp"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/overhead/kubelet"
	"github.com/podberth/podberth/overhead/runtimeclass"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/taints"
)

// Cluster has the objects that decide how the API server changes new pods. A nil list is an empty list, and nil entries are
// ignored.
type Cluster struct {
	PriorityClasses []*schedulingv1.PriorityClass
	RuntimeClasses  []*nodev1.RuntimeClass
	LimitRanges     []*v1.LimitRange // of any namespaces
	Namespaces      []*v1.Namespace  // read with Options.TolerationRestriction only
}

// Options say how the API server is configured. The zero value is its default.
type Options struct {
	// Release is the API server's release (rules L15.4 and L15.5).
	Release release.Version

	DefaultSeconds DefaultSeconds

	// TolerationRestriction turns on the plugin PodTolerationRestriction, ExtendedResources the plugin
	// ExtendedResourceToleration.
	TolerationRestriction *TolerationRestriction
	ExtendedResources     bool

	// Tolerations says whether [Validate], [ValidateUpdate] and [Accept] take the operators Gt and Lt, as an API server with their
	// feature gate does.
	Tolerations taints.Options

	// SkipChanges leaves out the list of changes of Admit and Accept, which costs more than the steps.
	SkipChanges bool
}

// Change is what one step of [Admit] changed.
type Change struct {
	By     string   // the admission plugin, "defaults", "label keys" or "pod-level resources"
	Fields []string // the paths of the fields that were added, changed or removed, in the order of the API
}

// Admit returns a new pod as the API server stores it, as far as scheduling and eviction read it, and what changed it. Use it
// for pods that were made from a template or written by hand; pods of a server have been through it. The steps, in the API
// server's order:
//
//  1. "defaults": [overhead.Default]; schedulerName default-scheduler, restartPolicy Always, terminationGracePeriodSeconds 30,
//     protocol TCP of ports, when they are not given.
//  2. "LimitRanger": [WithLimitRanges].
//  3. "Priority": [AdmitPriority].
//  4. "DefaultTolerationSeconds": [WithDefaultSeconds].
//  5. "PodTolerationRestriction": [TolerationRestriction.Admit], when the option is set.
//  6. "ExtendedResourceToleration": [WithExtendedResources], when the option is set.
//  7. "RuntimeClass": runtimeclass.Admit.
//  8. "label keys": [MergeLabelKeys].
//  9. "pod-level resources": spec.resources is filled here in v1.37, and at step 1 before.
//  10. LimitRanger looks at the result: [CheckLimitRanges].
//  11. PodTolerationRestriction looks at the result: its whitelist must cover the tolerations of the later steps too.
//
// A step that changes nothing has no [Change]; with [Options.SkipChanges] no step has one. The error is that of the first step that
// refuses the pod, with the API server's text; the pod is then nil. Classes of the names system-node-critical and
// system-cluster-critical exist in every cluster: pass [SystemPriorityClasses] too. A nil pod gives nil. A second call for the same pod merges label keys again.
//
// Admit does not validate fields, charge quotas (overhead/quota) or call webhooks. Cost: O(size of the pod + objects of
// [Cluster]).
func Admit(pod *v1.Pod, c Cluster, o Options) (*v1.Pod, []Change, error) {
	if pod == nil {
		return nil, nil, nil
	}
	steps := []struct {
		by string
		do func(*v1.Pod) (*v1.Pod, error)
	}{
		{"defaults", func(p *v1.Pod) (*v1.Pod, error) { return withDefaults(p, o.Release), nil }},
		{"LimitRanger", func(p *v1.Pod) (*v1.Pod, error) { return WithLimitRanges(p, c.LimitRanges), nil }},
		{"Priority", func(p *v1.Pod) (*v1.Pod, error) { return AdmitPriority(p, c.PriorityClasses) }},
		{"DefaultTolerationSeconds", func(p *v1.Pod) (*v1.Pod, error) { return WithDefaultSeconds(p, o.DefaultSeconds), nil }},
		{"PodTolerationRestriction", func(p *v1.Pod) (*v1.Pod, error) { return o.restrict(p, c.Namespaces) }},
		{"ExtendedResourceToleration", func(p *v1.Pod) (*v1.Pod, error) {
			if !o.ExtendedResources {
				return p, nil
			}
			return WithExtendedResources(p), nil
		}},
		{"RuntimeClass", func(p *v1.Pod) (*v1.Pod, error) { return runtimeclass.Admit(p, c.RuntimeClasses) }},
		{"label keys", func(p *v1.Pod) (*v1.Pod, error) {
			return MergeLabelKeys(p), nil
		}},
		{"pod-level resources", func(p *v1.Pod) (*v1.Pod, error) {
			if !fillsLate(o.Release) {
				return p, nil
			}
			return withPodLevel(p), nil
		}},
	}
	called := pod.Name
	if called == "" { // the texts of refusals need a name
		pod = pod.DeepCopy()
		pod.Name = cmp.Or(pod.GenerateName, "Unknown")
	}
	var changes []Change
	for _, s := range steps {
		next, err := s.do(pod)
		if err != nil {
			return nil, nil, err
		}
		if next != pod && !o.SkipChanges {
			if fields := changed(pod, next); len(fields) > 0 {
				changes = append(changes, Change{s.by, fields})
			}
		}
		pod = next
	}
	if err := CheckLimitRanges(pod, c.LimitRanges); err != nil {
		return nil, nil, err
	}
	if err := o.checkTolerations(pod, c.Namespaces); err != nil {
		return nil, nil, err
	}
	pod.Name = called
	return pod, changes, nil
}

// withDefaults returns a copy of the pod with the defaults of the API (API reference, PodSpec) that scheduling and eviction
// read. In v1.37 spec.resources is filled later.
func withDefaults(pod *v1.Pod, v release.Version) *v1.Pod {
	given := pod.Spec.Resources
	if fillsLate(v) {
		pod = pod.DeepCopy()
		pod.Spec.Resources = nil
	}
	pod = overhead.Default(pod)
	s := &pod.Spec
	if fillsLate(v) {
		s.Resources = given // a later step copies them
	}
	if s.SchedulerName == "" {
		s.SchedulerName = v1.DefaultSchedulerName
	}
	if s.RestartPolicy == "" {
		s.RestartPolicy = v1.RestartPolicyAlways
	}
	if s.TerminationGracePeriodSeconds == nil {
		seconds := int64(v1.DefaultTerminationGracePeriodSeconds)
		s.TerminationGracePeriodSeconds = &seconds
	}
	for _, containers := range [...][]v1.Container{s.InitContainers, s.Containers} {
		for i := range containers {
			for k := range containers[i].Ports {
				if p := &containers[i].Ports[k]; p.Protocol == "" {
					p.Protocol = v1.ProtocolTCP
				}
			}
		}
	}
	return pod
}

// restrict runs PodTolerationRestriction when it is on.
func (o Options) restrict(pod *v1.Pod, namespaces []*v1.Namespace) (*v1.Pod, error) {
	if o.TolerationRestriction == nil {
		return pod, nil
	}
	n := namespaceOf(pod, namespaces)
	if n == nil {
		return nil, fmt.Errorf("namespaces %q not found", pod.Namespace)
	}
	return o.TolerationRestriction.Admit(pod, n, kubelet.QoS(pod, o.Release))
}

// checkTolerations looks at the pod after all steps when PodTolerationRestriction is on.
func (o Options) checkTolerations(pod *v1.Pod, namespaces []*v1.Namespace) error {
	if o.TolerationRestriction == nil {
		return nil
	}
	return o.TolerationRestriction.check(pod, namespaceOf(pod, namespaces))
}

func namespaceOf(pod *v1.Pod, namespaces []*v1.Namespace) *v1.Namespace {
	for _, n := range namespaces {
		if n != nil && n.Name == pod.Namespace {
			return n
		}
	}
	return nil
}

// refused returns the error of an admission plugin that forbids a pod.
func refused(pod *v1.Pod, why error) error {
	return fmt.Errorf("pods %q is forbidden: %w", cmp.Or(pod.Name, pod.GenerateName, "Unknown"), why)
}

var errWhitelist = errors.New("pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist")
