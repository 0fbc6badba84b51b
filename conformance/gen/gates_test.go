package gen_test

import (
	"slices"
	"testing"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/features"
)

// Gates of old documents that the real kube-scheduler does not have: affinity in annotations (v1.6), overhead (v1.16) and spread (v1.16)
// cannot be switched off.
func TestGatesThatAreGone(t *testing.T) {
	known := utilfeature.DefaultMutableFeatureGate.GetAll()
	if _, ok := known[features.TaintTolerationComparisonOperators]; !ok {
		t.Fatal("the gates of kube-scheduler are not known")
	}
	for name := range known {
		if slices.Contains([]string{"AffinityInAnnotations", "NodeAffinity", "PodAffinity", "InterPodAffinity", "PodOverhead", "EvenPodsSpread"}, string(name)) {
			t.Errorf("%s is a gate", name)
		}
	}
}
