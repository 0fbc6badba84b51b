package write

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/podberth/podberth/scheduler"
)

// Delete deletes the pod with the pod's own grace period. A pod of the same name with another UID stays.
func (c *Client) Delete(ctx context.Context, pod *v1.Pod) error {
	err := c.again(func() error {
		request, cancel := c.request()
		defer cancel()
		err := c.api.CoreV1().Pods(pod.Namespace).Delete(request, pod.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(pod.UID)}})
		if apierrors.IsNotFound(err) {
			return scheduler.ErrGone
		}
		if apierrors.IsConflict(err) {
			if now, unknown := c.read(pod); unknown == nil && now == nil {
				return scheduler.ErrGone
			}
		}
		return err
	})
	if err == nil || err == scheduler.ErrGone {
		c.refused.Forget(pod.UID)
		return err
	}
	select {
	case <-time.After(c.refused.When(pod.UID)):
	case <-ctx.Done():
	case <-c.life.Done():
	}
	return err
}
