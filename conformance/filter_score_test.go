package conformance

import (
	"testing"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
)

// Filters, scores, choices and messages of the default profile.
func TestDefaultProfile(t *testing.T) {
	run(t, gen.Count(1500, 28), gen.New, defaultProfile(t), (*compare.Side).Cluster)
}

// roomyFeatures are what roomy clusters turn on, one each.
var roomyFeatures = []gen.Focus{gen.Taints, gen.NodeAffinity, gen.PodAffinity, gen.Spread, gen.Spread, gen.Images}

// Pods that may go anywhere: many different scores.
func TestScores(t *testing.T) {
	run(t, gen.Count(300, 22), func(seed int64) *gen.Cluster {
		shape := gen.Shape{Roomy: true, Nodes: 9, Running: 25, Pending: 6, Focus: roomyFeatures[seed%int64(len(roomyFeatures))]}
		if shape.Focus == gen.Spread {
			shape.Running = 120
		}
		return gen.Of(seed, shape)
	}, defaultProfile(t), (*compare.Side).Cluster)
}

// Pending pods that are nominated to nodes.
func TestNominated(t *testing.T) {
	run(t, gen.Count(400, 10), func(seed int64) *gen.Cluster {
		return gen.Of(seed, gen.Shape{Nominated: true, Pending: 5, Volumes: seed%4 == 0})
	}, defaultProfile(t), (*compare.Side).Cluster)
}

// Pods with inter-pod affinity terms that cannot be read, with the plugin as filter and score and as score alone.
func TestUnreadableTerms(t *testing.T) {
	make := func(seed int64) *gen.Cluster { return gen.Unreadable(gen.New(seed)) }
	run(t, gen.Count(100, 1), make, defaultProfile(t), (*compare.Side).Cluster)
	scoreOnly, err := compare.ScoreOnly("InterPodAffinity")
	if err != nil {
		t.Fatal(err)
	}
	run(t, gen.Count(100, 1), make, scoreOnly, (*compare.Side).Cluster)
}

// Tolerations that compare numbers, which the scheduler and the API server take with a feature gate.
func TestNumericTolerations(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.TaintTolerationComparisonOperators, true)
	p, err := compare.Numeric()
	if err != nil {
		t.Fatal(err)
	}
	make := func(seed int64) *gen.Cluster {
		return gen.Of(seed, gen.Shape{Numeric: true, Roomy: seed%3 == 0, Focus: gen.Taints | gen.Spread})
	}
	run(t, gen.Count(300, 2), make, p, (*compare.Side).Cluster)
	run(t, gen.Count(50, 1), make, p, (*compare.Side).Hints)
}
