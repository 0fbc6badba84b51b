package write

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/podberth/podberth/scheduler"
)

const deviceClaims = "resourceclaims.resource.k8s.io"

// WriteClaims writes the claims of a pod: the finalizers, then the status. A claim without a UID is created first, and at last the pod's status
// gets its name. It is deleted again when a later write fails or when the pod does not wait to the end, because the next attempt makes another.
// WriteClaims returns when the scheduler knows every change, and when the devices of the pod are ready.
func (c *Client) WriteClaims(ctx context.Context, pod *v1.Pod, w scheduler.ClaimWrites) error {
	var created []*resourcev1.ResourceClaim
	err := c.writeClaims(ctx, pod, w, &created)
	if err != nil {
		var gone []*resourcev1.ResourceClaim
		for _, claim := range created {
			if e := c.undo(claim); e != nil {
				c.o.OnError(fmt.Errorf("deleting claim %s/%s: %w", claim.Namespace, claim.Name, e))
				continue
			}
			gone = append(gone, claim)
		}
		// The scheduler deletes what it still finds reserved for the pod.
		if e := c.claimsReported(ctx, nil, gone); e != nil && ctx.Err() == nil {
			c.o.OnError(e)
		}
	}
	return err
}

// undo deletes a claim that was created, whatever was written to it since.
func (c *Client) undo(created *resourcev1.ResourceClaim) error {
	now, err := c.readClaim(created.Namespace, created.Name)
	if err == nil && now.UID == created.UID {
		err = c.deleteClaim(now)
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (c *Client) readClaim(namespace, name string) (*resourcev1.ResourceClaim, error) {
	ctx, cancel := c.request()
	defer cancel()
	return c.api.ResourceV1().ResourceClaims(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (c *Client) writeClaims(ctx context.Context, pod *v1.Pod, w scheduler.ClaimWrites, created *[]*resourcev1.ResourceClaim) error {
	written := make([]*resourcev1.ResourceClaim, 0, len(w.Set))
	for k, claim := range w.Set {
		now, err := c.writeClaim(ctx, claim, w, created)
		if err != nil {
			return err
		}
		if claim.UID == "" && k == len(w.Set)-1 && len(w.Mappings) > 0 {
			if err := c.writeExtended(pod, &v1.PodExtendedResourceClaimStatus{ResourceClaimName: now.Name, RequestMappings: w.Mappings}); err != nil {
				return err
			}
		}
		written = append(written, now)
	}
	for _, claim := range w.Unreserve {
		now, err := c.unreserve(pod, claim)
		if err != nil {
			return err
		}
		if now != nil {
			written = append(written, now)
		}
	}
	for _, claim := range w.Delete {
		if err := c.deleteClaim(claim); err != nil {
			return err
		}
	}
	if err := c.claimsReported(ctx, written, w.Delete); err != nil {
		return err
	}
	return c.devicesReady(ctx, w.Ready, c.o.waits(pod).Devices)
}

// conflictRetry has the tries of a write that meets a newer version of a claim.
var conflictRetry = retry.DefaultRetry

// writeClaim writes one claim of the pod.
func (c *Client) writeClaim(ctx context.Context, claim *resourcev1.ResourceClaim, w scheduler.ClaimWrites, created *[]*resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	have, _ := c.view.Reported(deviceClaims, claim.Namespace, claim.Name).(*resourcev1.ResourceClaim)
	wanted := claim
	if claim.UID == "" {
		now, err := c.createClaim(claim)
		if err != nil {
			return nil, err
		}
		*created = append(*created, now)
		have, wanted = now, now.DeepCopy()
		wanted.Finalizers, wanted.Status = claim.Finalizers, claim.Status
	}
	turn, release, err := c.claims.take(ctx, wanted.UID)
	if err != nil {
		return nil, err
	}
	defer release()
	if turn.newest != nil && w.Again != nil {
		have = turn.newest
		if wanted, err = w.Again(claim, have); err != nil {
			return nil, err
		}
	}
	pauses := conflictRetry
	for {
		now, err := c.replaceClaim(have, wanted)
		if err == nil {
			turn.newest = now
		}
		if !apierrors.IsConflict(err) || w.Again == nil || pauses.Steps <= 1 || !c.pauseFor(pauses.Step()) {
			return now, err
		}
		if have, err = c.readClaim(wanted.Namespace, wanted.Name); err != nil {
			return nil, err
		}
		if wanted, err = w.Again(claim, have); err != nil {
			return nil, err
		}
	}
}

// replaceClaim writes the finalizers of a claim if they change, then the status. have is the claim as it is known; nil: not at all.
func (c *Client) replaceClaim(have, wanted *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	if have == nil || !slices.Equal(have.Finalizers, wanted.Finalizers) {
		ctx, cancel := c.request()
		defer cancel()
		now, err := c.api.ResourceV1().ResourceClaims(wanted.Namespace).Update(ctx, wanted, metav1.UpdateOptions{})
		if err != nil {
			return nil, err
		}
		have = now
	} else {
		have = wanted
	}
	return c.writeClaimStatus(have, wanted.Status)
}

// createClaim creates a claim as a user would: its finalizers and its status come with the next writes.
func (c *Client) createClaim(claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	ctx, cancel := c.request()
	defer cancel()
	plain := claim.DeepCopy()
	plain.Finalizers, plain.Status = nil, resourcev1.ResourceClaimStatus{}
	return c.api.ResourceV1().ResourceClaims(claim.Namespace).Create(ctx, plain, metav1.CreateOptions{})
}

func (c *Client) writeClaimStatus(now *resourcev1.ResourceClaim, status resourcev1.ResourceClaimStatus) (*resourcev1.ResourceClaim, error) {
	ctx, cancel := c.request()
	defer cancel()
	changed := now.DeepCopy()
	changed.Status = status
	return c.api.ResourceV1().ResourceClaims(now.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
}

// unreserve takes the pod's reservation out of a claim. It names the claim's UID and no version: others may reserve the claim meanwhile. The claim
// is nil when it is gone.
func (c *Client) unreserve(pod *v1.Pod, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	body := fmt.Sprintf(`{"metadata":{"uid":%q},"status":{"reservedFor":[{"$patch":"delete","uid":%q}]}}`, claim.UID, pod.UID)
	ctx, cancel := c.request()
	defer cancel()
	now, err := c.api.ResourceV1().ResourceClaims(claim.Namespace).Patch(ctx, claim.Name, types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return now, err
}

// deleteClaim takes away the finalizers of a claim, which would keep it, and deletes it. After a conflict it reads the claim.
func (c *Client) deleteClaim(claim *resourcev1.ResourceClaim) error {
	now := claim
	pauses := conflictRetry
	for {
		err := c.deleteNow(now)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if !apierrors.IsConflict(err) || pauses.Steps <= 1 || !c.pauseFor(pauses.Step()) {
			return err
		}
		fresh, err := c.readClaim(claim.Namespace, claim.Name)
		if apierrors.IsNotFound(err) || err == nil && fresh.UID != claim.UID {
			return nil
		}
		if err != nil {
			return err
		}
		now = fresh
	}
}

func (c *Client) deleteNow(claim *resourcev1.ResourceClaim) error {
	api := c.api.ResourceV1().ResourceClaims(claim.Namespace)
	ctx, cancel := c.request()
	defer cancel()
	if len(claim.Finalizers) > 0 {
		free := claim.DeepCopy()
		free.Finalizers = nil
		if _, err := api.Update(ctx, free, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return api.Delete(ctx, claim.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &claim.UID}})
}

// writeExtended writes the name of the claim for the extended resources into the status of the pod. After a conflict it reads the pod.
func (c *Client) writeExtended(pod *v1.Pod, status *v1.PodExtendedResourceClaimStatus) error {
	now := c.view.Pod(pod.Namespace, pod.Name)
	return c.again(func() error {
		if now == nil || now.UID != pod.UID {
			return scheduler.ErrGone
		}
		changed := now.DeepCopy()
		changed.Status.ExtendedResourceClaimStatus = status
		body, err := between(now, changed)
		if body == nil {
			return err
		}
		if err = c.sendPatch(now, body); apierrors.IsConflict(err) {
			if fresh, unknown := c.read(pod); unknown == nil {
				now = fresh
			}
		}
		return err
	})
}
