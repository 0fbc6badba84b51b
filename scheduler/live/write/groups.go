package write

import (
	"context"
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/scheduler"
)

var _ scheduler.GroupClient = (*Client)(nil)

// PatchGroup writes a condition of a PodGroup, and tries again as other writes do. The time of the transition moves only with the status
// of the condition. A group that is gone or was replaced is ErrGone.
func (c *Client) PatchGroup(_ context.Context, g *podgroup.Group, condition metav1.Condition) error {
	condition.LastTransitionTime = metav1.Now()
	for _, have := range g.Conditions {
		if have.Type == condition.Type && have.Status == condition.Status {
			condition.LastTransitionTime = have.LastTransitionTime
		}
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": g.UID}, "status": map[string]any{"conditions": []metav1.Condition{condition}},
	})
	if err != nil {
		return err
	}
	err = c.again(func() error {
		ctx, cancel := c.request()
		defer cancel()
		_, err := c.api.SchedulingV1beta1().PodGroups(g.Namespace).Patch(ctx, g.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
		return err
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // a conflict is about the UID: the patch names no version
		return scheduler.ErrGone
	}
	return err
}
