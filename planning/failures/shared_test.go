package failures

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// Scenarios do not see each other: a gated pod that waits is left out of each again, and each charges the quotas of the input anew.
func TestScenariosShareNothing(t *testing.T) {
	w := five("cpu=2,pods=9")
	web := w.app("web", "cpu=1", "n1 n2", nil)
	web.Spec.Template.Spec.Containers[0].Resources.Requests = testkit.Resources("cpu=2") // a new pod asks for more than an old one
	gated := testkit.Pod("gated").Request("cpu=1").Obj()
	gated.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "wait"}}
	w.in.Pending = []*v1.Pod{gated, testkit.Pod("a").Request("cpu=1").Obj(), testkit.Pod("b").Request("cpu=1").Obj()}
	quota := &v1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "q"}}
	quota.Spec.Hard = v1.ResourceList{"requests.cpu": resource.MustParse("3")}
	w.in.Quotas = admission.NewQuotas([]*v1.ResourceQuota{quota}, w.objects.Pods, testkit.Epoch, release.Current)
	p := w.planner(t)
	again := Scenario{"n1 fails", []string{"n1"}}
	results, err := p.Run([]Scenario{again, again, again}, Options{})
	require.NoError(t, err)
	require.Equal(t, results[0], results[1])
	require.Equal(t, results[0], results[2])
	require.NoError(t, w.in.Quotas.Charge(testkit.Pod("c").Request("cpu=1").Obj()), "the quotas of the caller are not charged")
	later, err := p.Run([]Scenario{again}, Options{})
	require.NoError(t, err)
	require.Equal(t, results[0], later[0], "what the caller charges later is not the planner's")
}
