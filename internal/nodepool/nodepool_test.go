package nodepool

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestOf(t *testing.T) {
	for want, labels := range map[string]map[string]string{
		"karpenter.sh/nodepool big": {"karpenter.sh/nodepool": "big", "pool": "small"},
		"pool small":                {"pool": "small"},
		"nodepool x":                {"pool": "small", "nodepool": "x", "agentpool": ""},
		" ":                         {"app": "x"},
	} {
		name, key := Of(&v1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels}})
		require.Equal(t, want, key+" "+name)
	}
}
