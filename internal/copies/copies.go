// Package copies makes more pods like one pod, with what the controllers make for each.
package copies

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/internal/podinfo"
)

// SetClaims makes the claims that the controllers would make for a copy, and names those of templates in its status. The error is that of
// [cluster.Snapshot.Set]; then no claim is made.
func SetClaims(s *cluster.Snapshot, c *v1.Pod) error {
	var claims []metav1.Object
	for _, claim := range podinfo.EphemeralClaims(c) {
		claims = append(claims, claim)
	}
	for _, claim := range templateClaims(s, c) {
		claims = append(claims, claim)
	}
	for k, claim := range claims {
		if err := s.Set(claim); err != nil {
			for _, made := range claims[:k] {
				err = errors.Join(err, s.Remove(made))
			}
			return err
		}
	}
	return nil
}

// Of returns the pod under a name that no pod of the snapshot has, and that is not in used.
func Of(s *cluster.Snapshot, pod *v1.Pod, n int, used map[string]bool) *v1.Pod {
	c := *pod
	c.Name = fmt.Sprintf("%s-%d", pod.Name, n)
	for k := 2; s.Pod(c.Namespace, c.Name) != nil || used[c.Name]; k++ {
		c.Name = fmt.Sprintf("%s-%d-%d", pod.Name, n, k)
	}
	c.UID = types.UID(c.Namespace + "/" + c.Name)
	c.Status.NominatedNodeName = ""
	return &c
}

// RemoveClaims takes back what SetClaims made. The error is that of [cluster.Snapshot.Remove].
func RemoveClaims(s *cluster.Snapshot, c *v1.Pod) error {
	var errs []error
	for _, claim := range podinfo.EphemeralClaims(c) {
		errs = append(errs, s.Remove(claim))
	}
	for _, status := range c.Status.ResourceClaimStatuses {
		if status.ResourceClaimName == nil {
			continue
		}
		claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: *status.ResourceClaimName}}
		errs = append(errs, s.Remove(claim))
	}
	return errors.Join(errs...)
}

// templateClaims returns the claims that the resource claim controller would make for the copy of a pod, and names them in the
// status of the copy. A template that the snapshot does not have is read off the claim that the pod itself has.
func templateClaims(s *cluster.Snapshot, pod *v1.Pod) (out []*resourcev1.ResourceClaim) {
	var status []v1.PodResourceClaimStatus
	own := func(entry string) *v1.PodResourceClaimStatus {
		for k := range pod.Status.ResourceClaimStatuses {
			if x := &pod.Status.ResourceClaimStatuses[k]; x.Name == entry {
				return x
			}
		}
		return nil
	}
	for k := range pod.Spec.ResourceClaims {
		e := &pod.Spec.ResourceClaims[k]
		if e.ResourceClaimTemplateName == nil {
			continue
		}
		old := own(e.Name)
		if old != nil && old.ResourceClaimName == nil { // the entry needs no claim
			status = append(status, *old)
			continue
		}
		template, ok := cluster.List[*resourcev1.ResourceClaimTemplate](s).Get(pod.Namespace, *e.ResourceClaimTemplateName)
		if !ok && old != nil {
			var claim *resourcev1.ResourceClaim
			if claim, ok = cluster.List[*resourcev1.ResourceClaim](s).Get(pod.Namespace, *old.ResourceClaimName); ok {
				template = &resourcev1.ResourceClaimTemplate{Spec: resourcev1.ResourceClaimTemplateSpec{Spec: claim.Spec}}
			}
		}
		if ok {
			claim := devices.ClaimFromTemplate(pod, e.Name, template, "copy")
			out = append(out, claim)
			status = append(status, v1.PodResourceClaimStatus{Name: e.Name, ResourceClaimName: &claim.Name})
		}
	}
	pod.Status.ResourceClaimStatuses = status
	return out
}
