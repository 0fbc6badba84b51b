package workload

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// statefulSet makes the ordinals that are missing, each with its claims.
func (m *maker) statefulSet(s *appsv1.StatefulSet) {
	if gone(s) {
		return
	}
	o := owner{apps, "StatefulSet", s}
	mine := map[string]bool{}
	for _, p := range m.of(o, s.Spec.Selector) {
		mine[p.Name] = true
	}
	start, want := 0, m.scaled("StatefulSet", s, s.Spec.Replicas)
	if s.Spec.Ordinals != nil {
		start = int(s.Spec.Ordinals.Start)
	}
	if s.Spec.PodManagementPolicy == appsv1.ParallelPodManagement && !m.room(o, want-m.pods.len()) {
		return // even if all pods of the input were of the set
	}
	for i := start; i < start+want; i++ {
		name := fmt.Sprintf("%s-%d", s.Name, i)
		p := m.pods.find(id{s.Namespace, name})
		switch why := obstacle(p, mine[name]); {
		case why != "" && s.Spec.PodManagementPolicy == appsv1.ParallelPodManagement:
			if p.DeletionTimestamp != nil || !mine[name] {
				m.wait(o, name, why)
			}
		case why != "":
			if m.lacks(s, i, start+want) || p.DeletionTimestamp != nil || !mine[name] {
				m.wait(o, name, why)
			}
			return
		case p == nil || podinfo.Finished(p):
			if p != nil {
				m.made.Finished = append(m.made.Finished, p)
			}
			if !m.ordinal(o, s, i, name) {
				return
			}
			if s.Spec.PodManagementPolicy != appsv1.ParallelPodManagement {
				if m.lacks(s, i, start+want) {
					m.wait(o, name, notReady)
				}
				return
			}
		}
	}
}

func (m *maker) wait(o owner, pod, why string) {
	m.made.Waiting = append(m.made.Waiting, Waiting{o.kind, o.GetNamespace(), o.GetName(), pod, why})
}

// lacks reports whether a pod of the ordinals from begin to end is missing.
func (m *maker) lacks(s *appsv1.StatefulSet, begin, end int) bool {
	for i := begin; i < end; i++ {
		if p := m.pods.find(id{s.Namespace, fmt.Sprintf("%s-%d", s.Name, i)}); p == nil || podinfo.Finished(p) {
			return true
		}
	}
	return false
}

const notReady = "is not running and ready"

// obstacle says why a StatefulSet goes no further than this pod; "" when it does, and when the pod is to be made.
func obstacle(p *v1.Pod, mine bool) string {
	switch {
	case p == nil:
		return ""
	case !mine:
		return "has its name and does not belong to it"
	case p.DeletionTimestamp != nil:
		return "is terminating"
	case podinfo.Finished(p):
		return ""
	case p.Status.Phase != v1.PodRunning || !ready(p):
		return notReady
	}
	return ""
}

func ready(p *v1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c v1.PodCondition) bool {
		return c.Type == v1.PodReady && c.Status == v1.ConditionTrue
	})
}

// ordinal makes one pod and those of its claims that do not exist.
func (m *maker) ordinal(o owner, s *appsv1.StatefulSet, i int, name string) bool {
	p := m.pod(o, &s.Spec.Template, s.Name+"-")
	p.Labels[appsv1.StatefulSetPodNameLabel], p.Labels[appsv1.PodIndexLabel] = name, strconv.Itoa(i)
	if r := s.Status.UpdateRevision; r != "" {
		p.Labels[appsv1.ControllerRevisionHashLabelKey] = r
	}
	p.Spec.Hostname, p.Spec.Subdomain = name, s.Spec.ServiceName
	var volumes []v1.Volume
	for k := range s.Spec.VolumeClaimTemplates {
		c := m.claim(s, &s.Spec.VolumeClaimTemplates[k], name)
		volumes = append(volumes, v1.Volume{Name: s.Spec.VolumeClaimTemplates[k].Name, VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: c},
		}})
	}
	for _, v := range p.Spec.Volumes { // a claim takes the place of the template's volume of that name
		if !slices.ContainsFunc(volumes, func(w v1.Volume) bool { return w.Name == v.Name }) {
			volumes = append(volumes, v)
		}
	}
	p.Spec.Volumes = volumes
	return m.add(p, name)
}

// claim makes the claim of a template unless it exists, and returns its name.
func (m *maker) claim(s *appsv1.StatefulSet, template *v1.PersistentVolumeClaim, pod string) string {
	c := template.DeepCopy()
	c.Name, c.Namespace = template.Name+"-"+pod, s.Namespace
	if m.claims[id{c.Namespace, c.Name}] {
		return c.Name
	}
	m.claims[id{c.Namespace, c.Name}] = true
	c.APIVersion, c.Kind = core, "PersistentVolumeClaim"
	if s.Spec.Selector != nil {
		c.Labels = orEmpty(c.Labels)
		maps.Copy(c.Labels, s.Spec.Selector.MatchLabels)
	}
	if r := s.Spec.PersistentVolumeClaimRetentionPolicy; r != nil && r.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
		yes := true
		c.OwnerReferences = append(c.OwnerReferences, metav1.OwnerReference{
			APIVersion: apps, Kind: "StatefulSet", Name: s.Name, UID: s.UID, Controller: &yes, BlockOwnerDeletion: &yes,
		})
	}
	c.Status = v1.PersistentVolumeClaimStatus{Phase: v1.ClaimPending}
	m.made.Claims = append(m.made.Claims, c)
	return c.Name
}
