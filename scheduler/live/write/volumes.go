package write

import (
	"context"
	"fmt"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/podberth/podberth/volumes"
)

// Annotations that the controllers of volumes write.
const (
	annBindCompleted = "pv.kubernetes.io/bind-completed"
	annSelectedNode  = volumes.AnnSelectedNode
)

// checkPeriod is how often the binding of volumes is checked when no report comes.
const checkPeriod = time.Second

// BindVolumes writes the volumes and claims of a decision, and waits until the controllers have bound every claim and the
// scheduler knows it. It returns early when ctx is cancelled, with the cause.
func (c *Client) BindVolumes(ctx context.Context, pod *v1.Pod, d volumes.Decision) error {
	volumes, claims := d.Objects()
	written := map[string]int64{} // resource and name -> the version that the API server answered
	for _, pv := range volumes {
		request, cancel := c.request()
		now, err := c.api.CoreV1().PersistentVolumes().Update(request, pv, metav1.UpdateOptions{})
		cancel()
		if err != nil {
			return err
		}
		written[volumeResource+"/"+now.Name] = version(now)
	}
	for _, claim := range claims {
		request, cancel := c.request()
		now, err := c.api.CoreV1().PersistentVolumeClaims(claim.Namespace).Update(request, claim, metav1.UpdateOptions{})
		cancel()
		if err != nil {
			return err
		}
		written[claimResource+"/"+now.Name] = version(now)
	}
	limit := time.After(c.o.waits(pod).Volumes)
	for {
		changed := c.view.Changed()
		done, err := c.volumesBound(pod, d, written)
		switch {
		case err != nil:
			return fmt.Errorf("binding volumes: %w", err)
		case done:
			return nil
		}
		select {
		case <-changed:
		case <-time.After(checkPeriod):
		case <-limit:
			return fmt.Errorf("binding volumes: %w", context.DeadlineExceeded)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.life.Done():
			return c.life.Err()
		}
	}
}

// The resources that volumesBound reads.
const volumeResource, claimResource, nodeResource = "persistentvolumes", "persistentvolumeclaims", "nodes"

func version(o metav1.Object) int64 {
	n, err := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0 // an opaque version is never older than what was written
	}
	return n
}

// volumesBound reports whether every claim of a decision is bound. An error ends the attempt: the node, the pod, the volume or
// the claim is not any more what the decision was made for.
func (c *Client) volumesBound(pod *v1.Pod, d volumes.Decision, written map[string]int64) (bool, error) {
	node, ok := c.view.Reported(nodeResource, "", d.Node).(*v1.Node)
	if !ok {
		return false, fmt.Errorf("failed to get node %q: node %q not found", d.Node, d.Node)
	}
	if now := c.view.Pod(pod.Namespace, pod.Name); now == nil || now.UID != pod.UID {
		return false, fmt.Errorf("pod does not exist any more: pod %q not found", pod.Name)
	}
	all := true
	for _, m := range d.Bind {
		pv, ok := c.view.Reported(volumeResource, "", m.Volume.Name).(*v1.PersistentVolume)
		if !ok {
			return false, fmt.Errorf("failed to get pv %q: persistentvolume %q not found", m.Volume.Name, m.Volume.Name)
		}
		if n := version(pv); n > 0 && n < written[volumeResource+"/"+pv.Name] {
			all = false // the report of the write is on its way
			continue
		}
		if err := reaches(pv, node); err != nil {
			return false, err
		}
		if ref := pv.Spec.ClaimRef; ref == nil || ref.UID == "" {
			return false, fmt.Errorf("ClaimRef got reset for pv %q", pv.Name)
		}
		claim, ok := c.view.Reported(claimResource, m.Claim.Namespace, m.Claim.Name).(*v1.PersistentVolumeClaim)
		if !ok {
			return false, fmt.Errorf("failed to get pvc %q: persistentvolumeclaim %q not found", m.Claim.Name, m.Claim.Name)
		}
		all = all && bound(claim)
	}
	for _, want := range d.Provision {
		claim, ok := c.view.Reported(claimResource, want.Namespace, want.Name).(*v1.PersistentVolumeClaim)
		if !ok {
			return false, fmt.Errorf("failed to get pvc %q: persistentvolumeclaim %q not found", want.Name, want.Name)
		}
		if n := version(claim); n > 0 && n < written[claimResource+"/"+claim.Name] {
			all = false
			continue
		}
		switch selected, ok := claim.Annotations[annSelectedNode]; {
		case claim.Annotations == nil:
			return false, fmt.Errorf("selectedNode annotation reset for PVC %q", claim.Name)
		case !ok:
			return false, fmt.Errorf("provisioning failed for PVC %q", claim.Name)
		case selected != d.Node:
			return false, fmt.Errorf("selectedNode annotation value %q not set to scheduled node %q", selected, d.Node)
		}
		if name := claim.Spec.VolumeName; name != "" {
			pv, ok := c.view.Reported(volumeResource, "", name).(*v1.PersistentVolume)
			if !ok {
				all = false // the volume's report is on its way
				continue
			}
			if err := reaches(pv, node); err != nil {
				return false, err
			}
		}
		all = all && bound(claim)
	}
	return all, nil
}

func bound(claim *v1.PersistentVolumeClaim) bool {
	_, complete := claim.Annotations[annBindCompleted]
	return claim.Spec.VolumeName != "" && complete
}

// reaches returns an error if the node cannot reach the volume.
func reaches(pv *v1.PersistentVolume, node *v1.Node) error {
	if a := pv.Spec.NodeAffinity; a != nil && a.Required != nil {
		selector, err := nodeaffinity.NewNodeSelector(a.Required)
		if err == nil && !selector.Match(node) {
			err = fmt.Errorf("no matching NodeSelectorTerms")
		}
		if err != nil {
			return fmt.Errorf("pv %q node affinity doesn't match node %q: %w", pv.Name, node.Name, err)
		}
	}
	return nil
}
