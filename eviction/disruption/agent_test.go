package disruption_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/eviction/disruption"
)

// The budgets of instance managers are Longhorn's; those of other controllers, and of kinds of the same name, are a person's.
func TestBudgetAgent(t *testing.T) {
	yes := true
	of := func(version, kind string) string {
		p := &v1.Pod{Spec: v1.PodSpec{NodeName: "n1"}}
		if kind != "" {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: "x", Controller: &yes}}
		}
		return disruption.BudgetAgent(p)
	}
	require.Equal(t, "Longhorn makes this budget and deletes it when no volume is attached on n1", of("longhorn.io/v1beta2", "InstanceManager"))
	for _, other := range [][2]string{{"longhorn.io/v1beta2", "ShareManager"}, {"example.com/v1", "InstanceManager"}, {"apps/v1", "ReplicaSet"}, {"", ""}} {
		require.Empty(t, of(other[0], other[1]))
	}
}
