package spread

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// Lists of constraints are equal when their parts are, nil or empty.
func FuzzEqualConstraints(f *testing.F) {
	f.Add([]byte("constraints of two pods, often equal"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for b := testkit.NewBytes(data); b.More(); {
			one, other := someConstraints(b), someConstraints(b)
			want := equality.Semantic.DeepEqual(one, other)
			require.Equal(t, want, equalConstraints(one, other))
			require.Equal(t, want, equalConstraints(other, one))
			require.True(t, equalConstraints(one, one))
		}
	})
}

func someConstraints(b *testkit.Bytes) (out []v1.TopologySpreadConstraint) {
	for range b.Below(3) {
		c := v1.TopologySpreadConstraint{TopologyKey: testkit.Pick(b, "zone", "host"), MaxSkew: 1 + int32(b.Below(2)),
			MatchLabelKeys: testkit.Pick(b, nil, []string{}, []string{"a"})}
		if b.Below(2) == 1 {
			c.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": testkit.Pick(b, "x", "y"), "b": "z"}}
		}
		out = append(out, c)
	}
	return out
}
