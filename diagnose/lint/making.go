package lint

import (
	"fmt"
	"maps"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/planning/workload"
)

// mostReplicas is the number of replicas of a workload that are made at most. More of them do not fit in any cluster that a linter sees.
const mostReplicas = 10000

// making finds what one manifest makes on the cluster. It has the objects of the cluster by their owners.
type making struct {
	c         *checker
	owned     map[string][]*v1.Pod // placed pods by "Kind namespace/name" of the controller
	orphans   map[string][]*v1.Pod // placed pods without a controller by namespace
	hashed    map[string][]*v1.Pod // placed pods of ReplicaSets that the cluster lacks, by "Deployment namespace/name"
	sets      map[string][]*appsv1.ReplicaSet
	claims    map[string][]*v1.PersistentVolumeClaim // by namespace
	templates map[string][]*resourcev1.ResourceClaimTemplate
	devices   map[string][]*resourcev1.ResourceClaim
}

func newMaking(c *checker) *making {
	m := &making{c: c, owned: map[string][]*v1.Pod{}, orphans: map[string][]*v1.Pod{}, hashed: map[string][]*v1.Pod{}, sets: map[string][]*appsv1.ReplicaSet{},
		claims: map[string][]*v1.PersistentVolumeClaim{}, templates: map[string][]*resourcev1.ResourceClaimTemplate{}, devices: map[string][]*resourcev1.ResourceClaim{}}
	o, known := c.in.Cluster, map[string]bool{}
	for _, r := range o.ReplicaSets {
		known["ReplicaSet "+r.Namespace+"/"+r.Name] = true
	}
	for _, p := range o.Pods {
		if p.Spec.NodeName == "" {
			continue
		}
		if at := controller(p); at != "" {
			m.owned[at] = append(m.owned[at], p)
			if name, is := strings.CutSuffix(at, "-"+p.Labels[appsv1.DefaultDeploymentUniqueLabelKey]); is && !known[at] && strings.HasPrefix(name, "ReplicaSet ") {
				name = "Deployment " + strings.TrimPrefix(name, "ReplicaSet ")
				m.hashed[name] = append(m.hashed[name], p)
			}
		} else {
			m.orphans[p.Namespace] = append(m.orphans[p.Namespace], p)
		}
	}
	for _, r := range o.ReplicaSets {
		if at := controller(r); at != "" {
			m.sets[at] = append(m.sets[at], r)
		}
	}
	for _, x := range o.Claims {
		m.claims[x.Namespace] = append(m.claims[x.Namespace], x)
	}
	for _, x := range o.ResourceClaimTemplates {
		m.templates[x.Namespace] = append(m.templates[x.Namespace], x)
	}
	for _, x := range o.ResourceClaims {
		m.devices[x.Namespace] = append(m.devices[x.Namespace], x)
	}
	return m
}

// controller returns the controller of an object as "Kind namespace/name", "" without one.
func controller(o metav1.Object) string {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		return fmt.Sprintf("%s %s/%s", ref.Kind, o.GetNamespace(), ref.Name)
	}
	return ""
}

// of returns the pods that the controller of a manifest would make now, with their claims. Pods that run already are not among them. The
// error is that of workload.Make, for a manifest that the API server refuses.
func (m *making) of(w *work) (*workload.Made, error) {
	ns := w.given.Namespace
	o := workload.Objects{Pods: append(m.owned[w.object][:len(m.owned[w.object]):len(m.owned[w.object])], m.orphans[ns]...)}
	if len(w.given.Spec.Volumes) > 0 || w.kind == "StatefulSet" {
		o.Claims = m.claims[ns]
	}
	if len(w.given.Spec.ResourceClaims) > 0 {
		o.ClaimTemplates, o.ResourceClaims = m.templates[ns], m.devices[ns]
	}
	if w.scaler != nil {
		o.Autoscalers = []*autoscalingv2.HorizontalPodAutoscaler{copied(w.scaler, ns)}
	}
	switch x := w.manifest.(type) {
	case *v1.Pod:
		p := x.DeepCopy()
		p.Namespace, p.Spec.NodeName = ns, ""
		o.Pods = []*v1.Pod{p}
		made, err := workload.Make(o, workload.Options{})
		if err != nil {
			return nil, err
		}
		if made.Pods = []*v1.Pod{p}; len(made.Claiming) > 0 {
			made.Pods = made.Claiming
		}
		return made, nil
	case *appsv1.Deployment:
		d := copied(x, ns)
		d.Spec.Replicas, o.Deployments, o.ReplicaSets = fewer(d.Spec.Replicas), []*appsv1.Deployment{d}, m.sets[w.object]
		o.Pods = append(o.Pods, m.hashed[w.object]...)
		for _, r := range o.ReplicaSets {
			o.Pods = append(o.Pods, m.owned[fmt.Sprintf("ReplicaSet %s/%s", r.Namespace, r.Name)]...)
		}
	case *appsv1.ReplicaSet:
		r := copied(x, ns)
		r.Spec.Replicas, o.ReplicaSets = fewer(r.Spec.Replicas), []*appsv1.ReplicaSet{r}
	case *appsv1.StatefulSet: // all replicas: each comes when the one before runs
		s := copied(x, ns)
		s.Spec.Replicas, s.Spec.PodManagementPolicy, o.StatefulSets = fewer(s.Spec.Replicas), appsv1.ParallelPodManagement, []*appsv1.StatefulSet{s}
	case *appsv1.DaemonSet:
		o.DaemonSets, o.Nodes = []*appsv1.DaemonSet{copied(x, ns)}, m.c.nodes
	case *batchv1.Job:
		j := copied(x, ns)
		j.Spec.Parallelism, o.Jobs = fewer(j.Spec.Parallelism), []*batchv1.Job{j}
	case *batchv1.CronJob:
		j := copied(x, ns)
		j.Spec.JobTemplate.Spec.Parallelism, o.CronJobs = fewer(j.Spec.JobTemplate.Spec.Parallelism), []*batchv1.CronJob{j}
	case *v1.ReplicationController:
		r := copied(x, ns)
		r.Spec.Replicas, o.ReplicationControllers = fewer(r.Spec.Replicas), []*v1.ReplicationController{r}
	}
	return workload.Make(o, workload.Options{Tolerations: m.c.in.Plugins.Taints})
}

// copied returns a shallow copy of a manifest in its namespace.
func copied[T any, P interface {
	*T
	metav1.Object
}](x P, ns string) P {
	c := *x
	P(&c).SetNamespace(ns)
	return &c
}

func fewer(n *int32) *int32 {
	if n == nil || *n <= mostReplicas {
		return n
	}
	return new(int32(mostReplicas))
}

// admitted returns the pods after admission, as far as the API server admits them, and its first refusal. Quotas are charged in a copy.
// Pods of one template are admitted once and then differ in name, labels, owner and affinity only.
func (c *checker) admitted(w *work, pods []*v1.Pod) (out []*v1.Pod, refusal error) {
	quotas := c.quotas
	if quotas.Limits(w.given.Namespace) {
		quotas = quotas.Clone()
	}
	var model *v1.Pod
	with, apart := podinfo.PodAffinity(w.given)
	alike := with == nil && apart == nil && len(w.given.Spec.TopologySpreadConstraints) == 0 || w.kind != "DaemonSet" && w.kind != "StatefulSet" && w.kind != "Job" && w.kind != "CronJob"
	for _, p := range pods {
		var err error
		next := p
		switch {
		case model == nil:
			if next, _, err = admission.Accept(p, c.admits, quotas, c.options()); err == nil && alike {
				model = next
			}
		default:
			next = &v1.Pod{ObjectMeta: p.ObjectMeta, Spec: model.Spec, Status: p.Status}
			next.Annotations = maps.Clone(model.Annotations)
			next.Spec.Affinity, next.Spec.Volumes, next.Spec.Hostname = p.Spec.Affinity, p.Spec.Volumes, p.Spec.Hostname
			if w.kind != "DaemonSet" {
				next.Spec.Affinity = model.Spec.Affinity
			}
			err = quotas.Charge(next)
		}
		if err != nil {
			if refusal == nil {
				refusal = err
			}
			continue
		}
		out = append(out, next)
	}
	return out, refusal
}

// options say how the API server is configured.
func (c *checker) options() admission.Options {
	return admission.Options{Tolerations: c.in.Plugins.Taints, SkipChanges: true}
}
