package live

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// endDeletions does what kubelets do with the pods that are being deleted, and returns their names. A deletion without a grace period is
// two writes of the API server: the first gives the pod a deletionTimestamp, the second removes it. When the caller hangs up between
// them, as a leader does that loses the lease, the pod stays until its kubelet deletes it. Until then its preemptor waits, and keeps the
// room from others, as with kube-scheduler (rule P2.4).
func endDeletions(api kubernetes.Interface, namespace string) (ended []string, err error) {
	pods, err := api.CoreV1().Pods(namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for k := range pods.Items {
		p := &pods.Items[k]
		if p.DeletionTimestamp == nil {
			continue
		}
		o := now()
		o.Preconditions = &metav1.Preconditions{UID: &p.UID}
		if err := api.CoreV1().Pods(namespace).Delete(context.Background(), p.Name, o); err != nil && !apierrors.IsNotFound(err) {
			return ended, err
		}
		ended = append(ended, p.Name)
	}
	return ended, nil
}

// hangUps is how many deletions are cut until one is cut between the two writes of the API server.
const hangUps = 2000

// A deletion without a grace period whose caller hangs up can leave the pod with a deletionTimestamp. Its preemptor waits, and so does a
// pod of lower priority that would fit into the room. When the kubelet has deleted the pod, the preemptor gets its room.
func TestCutDeletion(t *testing.T) {
	w := newWorld(t)
	w.priorityClass("high", 1000)
	w.node("n1", "2")
	var cut *v1.Pod
	for k := 0; k < hangUps && cut == nil; k++ {
		w.pod("victim", "1500m", func(p *v1.Pod) { p.Spec.NodeName = "n1" })
		victim := w.get("victim")
		victim.Status.Conditions = append(victim.Status.Conditions, v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonPreemptionByScheduler})
		_, err := w.api.CoreV1().Pods("default").UpdateStatus(t.Context(), victim, metav1.UpdateOptions{})
		require.NoError(t, err)
		ctx, hangUp := context.WithTimeout(t.Context(), time.Duration(k%200)*250*time.Microsecond)
		_ = w.api.CoreV1().Pods("default").Delete(ctx, "victim", metav1.DeleteOptions{}) // any answer, or none
		hangUp()
		w.until("the API server is done", func() bool {
			now, err := w.api.CoreV1().Pods("default").Get(t.Context(), "victim", metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return true
			}
			if w.last = err; err == nil && now.DeletionTimestamp == nil {
				err := w.api.CoreV1().Pods("default").Delete(t.Context(), "victim", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}) // cut before the first write, or not done yet
				require.True(t, err == nil || apierrors.IsNotFound(err), err)
				return true
			}
			if err == nil && now.DeletionTimestamp != nil && time.Since(now.DeletionTimestamp.Time) > 5*time.Second {
				cut = now
			}
			return cut != nil
		})
	}
	require.NotNil(t, cut, "no deletion was cut between the two writes")
	require.Equal(t, ptr.To[int64](0), cut.DeletionGracePeriodSeconds)

	hi := w.pod("hi", "1", func(p *v1.Pod) { p.Spec.PriorityClassName = "high" })
	hi.Status.NominatedNodeName = "n1"
	_, err := w.api.CoreV1().Pods("default").UpdateStatus(t.Context(), hi, metav1.UpdateOptions{})
	require.NoError(t, err)
	w.pod("small", "500m")
	w.podberth()
	const waits = "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to a terminating pod on the nominated node."
	w.until("hi waits for the victim", func() bool { return condition(w.get("hi"), v1.PodScheduled).Message == waits })
	w.until("small waits for hi", func() bool { return condition(w.get("small"), v1.PodScheduled).Status == v1.ConditionFalse })
	require.Equal(t, "n1", w.get("hi").Status.NominatedNodeName)
	ended, err := endDeletions(w.api, "default")
	require.NoError(t, err)
	require.Equal(t, []string{"victim"}, ended)
	w.bound("hi", "n1")
	w.bound("small", "n1")
}
