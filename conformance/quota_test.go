package conformance

import (
	"math"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	quota "k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	clocktesting "k8s.io/utils/clock/testing"

	podquota "github.com/podberth/podberth/overhead/quota"
	"github.com/podberth/podberth/release"
)

// How long a deleted pod uses quota. A grace period that a duration cannot hold wraps around in Kubernetes, which is the
// difference that docs/fidelity/overhead.md names.
func TestQuotaOfDeletedPods(t *testing.T) {
	deleted := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := metav1.NewTime(deleted)
	const most = math.MaxInt64 / int64(time.Second)
	for _, grace := range []int64{0, 1, 30, 3600, most, most + 1, 10000000000, math.MaxInt64, -1, -30, -most} {
		for _, after := range []time.Duration{-time.Minute, -30 * time.Second, -1, 0, 1, time.Second, time.Second + 1, 30 * time.Second, 30*time.Second + 1, time.Hour, time.Hour + 1, math.MaxInt64} {
			now := deleted.Add(after)
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", DeletionTimestamp: &at, DeletionGracePeriodSeconds: &grace}}
			theirs := quota.QuotaV1Pod(pod, clocktesting.NewFakeClock(now))
			_, ours := podquota.Usage(pod, now, release.Current)[v1.ResourcePods]
			seen.Compared("quota of deleted pods")
			wraps := grace == most+1 || grace == 10000000000 || grace == math.MaxInt64
			switch {
			case !wraps && ours != theirs:
				t.Errorf("grace %d s, %v after the deletion: Kubernetes %v, podberth %v", grace, after, theirs, ours)
			case wraps && !ours:
				t.Errorf("grace %d s, %v after the deletion: podberth says that the grace is over", grace, after)
			case wraps && theirs && grace != math.MaxInt64 && after >= 0:
				t.Errorf("grace %d s, %v after the deletion: Kubernetes does not wrap around; the difference is gone", grace, after)
			}
		}
	}
}
