package write

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/podberth/podberth/examples/scheduler"
)

const deviceClaims = "resourceclaims.resource.k8s.io"

// WriteClaims writes the claims of a pod: the finalizers, then the status. A claim without a UID is created first, and is deleted again
// when a later write fails or when the pod does not wait to the end, because the next attempt makes another.
// WriteClaims returns when the scheduler knows every change, and when the devices are ready that the pod waits for.
func (c *Client) WriteClaims(ctx context.Context, pod *v1.Pod, w scheduler.ClaimWrites) error {
	var created []*resourcev1.ResourceClaim
	err := c.writeClaims(ctx, pod, w, &created)
	if err != nil {
		for _, claim := range created {
			if e := c.undo(claim); e != nil {
				c.o.OnError(fmt.Errorf("deleting claim %s/%s: %w", claim.Namespace, claim.Name, e))
			}
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
		now, err := c.writeClaim(ctx, pod, claim, w, k == len(w.Set)-1, created)
		if err != nil {
			return err
		}
		written = append(written, now)
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

// writeClaim writes one claim of the pod. The last one is that of the mappings.
func (c *Client) writeClaim(ctx context.Context, pod *v1.Pod, claim *resourcev1.ResourceClaim, w scheduler.ClaimWrites, last bool, created *[]*resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	have, _ := c.view.Reported(deviceClaims, claim.Namespace, claim.Name).(*resourcev1.ResourceClaim)
	wanted := claim
	if claim.UID == "" {
		now, err := c.createClaim(claim)
		if err != nil {
			return nil, err
		}
		*created = append(*created, now)
		if last && len(w.Mappings) > 0 {
			if err := c.writeExtended(pod, &v1.PodExtendedResourceClaimStatus{ResourceClaimName: now.Name, RequestMappings: w.Mappings}); err != nil {
				return nil, err
			}
		}
		have, wanted = now, now.DeepCopy()
		wanted.Status = claim.Status
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

func (c *Client) createClaim(claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	ctx, cancel := c.request()
	defer cancel()
	return c.api.ResourceV1().ResourceClaims(claim.Namespace).Create(ctx, claim, metav1.CreateOptions{})
}

func (c *Client) writeClaimStatus(now *resourcev1.ResourceClaim, status resourcev1.ResourceClaimStatus) (*resourcev1.ResourceClaim, error) {
	ctx, cancel := c.request()
	defer cancel()
	changed := now.DeepCopy()
	changed.Status = status
	return c.api.ResourceV1().ResourceClaims(now.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
}

// deleteClaim deletes a claim and takes away its finalizers, which would keep it.
func (c *Client) deleteClaim(claim *resourcev1.ResourceClaim) error {
	api := c.api.ResourceV1().ResourceClaims(claim.Namespace)
	ctx, cancel := c.request()
	defer cancel()
	free := claim.DeepCopy()
	free.Finalizers, free.Status = nil, resourcev1.ResourceClaimStatus{}
	now, err := api.UpdateStatus(ctx, free, metav1.UpdateOptions{})
	if err == nil && len(now.Finalizers) > 0 {
		now.Finalizers = nil
		now, err = api.Update(ctx, now, metav1.UpdateOptions{})
	}
	if err == nil {
		err = api.Delete(ctx, claim.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &now.UID}})
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// writeExtended writes which claim stands for the extended resources of the pod. After a conflict it reads the pod.
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
