package write

import (
	"errors"
	"net/http"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// unclear reports whether the API server may still be at work on a request that ended with the error: the connection was lost, or
// the time was over.
func unclear(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code == http.StatusGatewayTimeout || apierrors.IsServerTimeout(err)
	}
	return !utilnet.IsConnectionRefused(err)
}

// settled returns the pod after a binding that ended with an error. While the API server may still bind the pod, the pod keeps its room:
// settled reads the pod until it has a node or is gone, or until the API server is done with the binding. It gives up, with an error, when
// the API server refuses to say, when Close is called, and when another may write.
func (c *Client) settled(pod *v1.Pod, err error, over time.Time) (*v1.Pod, error) {
	for pause := 100 * time.Millisecond; ; pause *= 2 {
		began := time.Now()
		now, unknown := c.read(pod)
		switch decided := unknown == nil && (now == nil || now.Spec.NodeName != ""); {
		case decided, !unclear(err), unknown == nil && began.After(over), final(unknown), !c.mayWrite():
			return now, unknown
		}
		wait := min(pause, 5*time.Second)
		if unknown == nil {
			wait = min(wait, max(time.Until(over), time.Millisecond))
		}
		c.pause(wait) // after Close the next read fails for good
	}
}
