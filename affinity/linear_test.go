package affinity

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// Compiling takes time in the number of requirements, not in its square: 64 times the requirements take far less than 4,096
// times the time.
func TestSelectorsCompileInLinearTime(t *testing.T) {
	took := func(n int) time.Duration {
		pods, nodes := &metav1.LabelSelector{}, v1.NodeSelectorTerm{}
		for i := range n {
			pods.MatchExpressions = append(pods.MatchExpressions, metav1.LabelSelectorRequirement{Key: fmt.Sprint("k", i), Operator: metav1.LabelSelectorOpExists})
			nodes.MatchExpressions = append(nodes.MatchExpressions, v1.NodeSelectorRequirement{Key: fmt.Sprint("k", i), Operator: v1.NodeSelectorOpExists})
		}
		pod := &v1.Pod{Spec: v1.PodSpec{Affinity: &v1.Affinity{
			PodAffinity:  &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{TopologyKey: "zone", LabelSelector: pods}}},
			NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{nodes}}},
		}}}
		best := time.Hour
		for range 4 {
			begin := testkit.ProcessorTime(t)
			_, err := CompilePods(pod, PodOptions{})
			require.NoError(t, err)
			_, err = CompileRequired(pod)
			require.NoError(t, err)
			best = min(best, testkit.ProcessorTime(t)-begin)
		}
		return best
	}
	small, large := took(300), took(19200)
	require.Less(t, large, 1000*small)
}
