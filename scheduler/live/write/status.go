package write

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/podberth/podberth/scheduler"
)

// PatchStatus changes the pod's status. The condition PodScheduled is written later, and PatchStatus returns nil at once. For every other
// patch PatchStatus waits and returns its error.
func (c *Client) PatchStatus(_ context.Context, pod *v1.Pod, patch scheduler.StatusPatch) error {
	if patch.Condition != nil && patch.Condition.Type == v1.PodScheduled {
		c.status.later(pod, patch)
		return nil
	}
	release, err := c.status.hold(c.life, pod.UID)
	if err != nil {
		return err
	}
	defer release()
	if before, ok := c.status.take(pod.UID); ok {
		if err := c.patchNow(before.pod, before.patch); err != nil {
			c.o.OnError(err)
		}
	}
	return c.again(func() error { return c.patchNow(pod, patch) })
}

// patchNow sends one patch, made from the pod as the informer has it, and after a conflict once more from the pod as the API
// server has it. A patch that changes nothing is not sent, nor one about the scheduling of a pod that has a node.
func (c *Client) patchNow(pod *v1.Pod, patch scheduler.StatusPatch) error {
	now := c.view.Pod(pod.Namespace, pod.Name)
	for fresh := false; ; fresh = true {
		if now == nil || now.UID != pod.UID {
			return scheduler.ErrGone
		}
		victim := patch.Condition != nil && patch.Condition.Type == v1.DisruptionTarget
		if now.Spec.NodeName != "" && !victim {
			return nil
		}
		body, err := difference(now, patch)
		if err != nil {
			return err
		}
		if body != nil {
			if err = c.tryPatch(now, patch, body); err == nil {
				return nil
			}
		} else if fresh || !c.unseen(patch, pod.UID) {
			return nil
		} else {
			err = errUnseen
		}
		stale := err == errUnseen || apierrors.IsConflict(err) || apierrors.IsInvalid(err) || apierrors.IsNotFound(err)
		if fresh || !stale {
			return fmt.Errorf("updating the status of pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
		var unknown error
		if now, unknown = c.read(pod); unknown != nil {
			return err
		}
	}
}

// nominations is how many pods the client remembers for which it has tried to write a nomination.
const nominations = 4096

// errUnseen is the failure of a patch if the API server does not say whether the pod is nominated.
var errUnseen = errors.New("a nomination may have been written that the informer does not show")

// unseen reports whether a patch ends a nomination, and this client may have written one that the informer has not seen yet.
func (c *Client) unseen(patch scheduler.StatusPatch, uid types.UID) bool {
	if patch.NominatedNode == nil || *patch.NominatedNode != "" {
		return false
	}
	_, tried := c.nominated.Get(uid)
	return tried
}

func (c *Client) tryPatch(now *v1.Pod, patch scheduler.StatusPatch, body []byte) error {
	if patch.NominatedNode != nil && *patch.NominatedNode != "" {
		c.nominated.Add(now.UID, nil)
	}
	err := c.sendPatch(now, body)
	if err == nil && patch.NominatedNode != nil && *patch.NominatedNode == "" {
		c.nominated.Remove(now.UID)
	}
	return err
}

func (c *Client) sendPatch(pod *v1.Pod, body []byte) error {
	ctx, cancel := c.request()
	defer cancel()
	_, err := c.api.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
	return err
}

// difference returns the strategic merge patch that brings the pod's status to what the patch asks for; nil if the pod has it
// already. The time of the condition's transition moves only with its status.
func difference(pod *v1.Pod, patch scheduler.StatusPatch) ([]byte, error) {
	if patch.Condition != nil {
		c := *patch.Condition
		c.ObservedGeneration, c.LastTransitionTime = pod.Generation, metav1.Now()
		for _, have := range pod.Status.Conditions {
			if have.Type != c.Type {
				continue
			}
			if have.Status == c.Status {
				c.LastTransitionTime = have.LastTransitionTime
				if have.Reason == c.Reason && have.Message == c.Message {
					c.ObservedGeneration = have.ObservedGeneration
				}
			}
			c.LastProbeTime = have.LastProbeTime
		}
		patch.Condition = &c
	}
	return between(pod, patch.Apply(pod))
}

// between returns the strategic merge patch from the status of one version of a pod to that of another, with the UID and the
// resource version of the first; nil if the statuses are equal.
func between(pod, wanted *v1.Pod) ([]byte, error) {
	before, err := json.Marshal(v1.Pod{Status: pod.Status})
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(v1.Pod{Status: wanted.Status})
	if err != nil {
		return nil, err
	}
	body, err := strategicpatch.CreateTwoWayMergePatch(before, after, v1.Pod{})
	if err != nil || string(body) == "{}" {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, err
	}
	fields["metadata"] = map[string]string{"uid": string(pod.UID), "resourceVersion": pod.ResourceVersion}
	return json.Marshal(fields)
}
