package daemon

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/pager"
	"k8s.io/klog/v2"
)

// boundPod is a pod that has a node.
type boundPod struct {
	namespace, name string
	uid             types.UID
}

// goneCheck is how often pods that do not arrive are asked for: they may have been deleted meanwhile.
const goneCheck = time.Second

// catchUp waits until the scheduler knows every pod that has a node now, or until the context ends. The leader before may have bound
// pods that a watch of this replica, if it is behind, has not shown yet, and their room would be given away twice.
func (d *Daemon) catchUp(ctx context.Context) error {
	missing, err := d.boundPods(ctx)
	if ctx.Err() != nil {
		return nil // a stop is no failure
	}
	if err != nil {
		return err
	}
	for first := true; ; first = false {
		changed := d.Feed.Changed()
		missing = slices.DeleteFunc(missing, d.knows)
		if len(missing) == 0 {
			return nil
		}
		if first {
			klog.InfoS("Waiting for the watch of pods, which is behind", "pods", len(missing))
		}
		select {
		case <-changed:
		case <-time.After(goneCheck):
			missing = slices.DeleteFunc(missing, func(p boundPod) bool { return d.isGone(ctx, p) })
		case <-ctx.Done():
			return nil
		}
	}
}

// boundPods asks the API server for the pods that have a node and have not finished.
func (d *Daemon) boundPods(ctx context.Context) (out []boundPod, err error) {
	list := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return d.api.CoreV1().Pods(metav1.NamespaceAll).List(ctx, o)
	})
	err = answered(ctx, nil, func() error {
		out = nil
		return list.EachListItem(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"}, func(o runtime.Object) error {
			p := o.(*v1.Pod)
			out = append(out, boundPod{p.Namespace, p.Name, p.UID})
			return nil
		})
	})
	return out, err
}

// knows reports whether the scheduler was told that the pod has a node.
func (d *Daemon) knows(p boundPod) bool {
	now, ok := d.Feed.Reported("pods", p.namespace, p.name).(*v1.Pod)
	return ok && now.UID == p.uid && now.Spec.NodeName != ""
}

// isGone reports whether the API server says that the pod does not exist or has finished.
func (d *Daemon) isGone(ctx context.Context, p boundPod) bool {
	now, err := d.api.CoreV1().Pods(p.namespace).Get(ctx, p.name, metav1.GetOptions{})
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	return now.UID != p.uid || now.Status.Phase == v1.PodSucceeded || now.Status.Phase == v1.PodFailed
}
