package drain

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// Labels that all pods with a scale share, and a Job's pod lacks, narrow a budget. The pods keep their labels.
func TestNarrowing(t *testing.T) {
	web := func(name, labels string) *v1.Pod {
		return testkit.Pod(name).Labels(labels).Owner("apps/v1", "ReplicaSet", "web").Obj()
	}
	first := web("a", "app=web,tier=x,only=a")
	job := testkit.Pod("j").Labels("app=web").Owner("batch/v1", "Job", "j").Obj()
	require.Equal(t, [][2]string{{"tier", "x"}}, narrowing([]*v1.Pod{first, job, web("b", "app=web,tier=x")}))
	require.Equal(t, map[string]string{"app": "web", "tier": "x", "only": "a"}, first.Labels)
}
