package same

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// AsSelector gives the selector of the API.
func FuzzAsSelector(f *testing.F) {
	f.Add([]byte("selectors of some labels"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for b := testkit.NewBytes(data); b.More(); {
			var s *metav1.LabelSelector
			if b.Below(8) > 0 {
				s = &metav1.LabelSelector{}
				for range b.Below(4) {
					if s.MatchLabels == nil {
						s.MatchLabels = map[string]string{}
					}
					s.MatchLabels[testkit.Pick(b, "a", "b", "example.com/c", "d", "", "-")] = testkit.Pick(b, "", "x", "y", "z", "_")
				}
				for range b.Below(4) % 3 {
					s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{
						Key:      testkit.Pick(b, "a", "e", "-"),
						Operator: testkit.Pick(b, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, "", "Gt"),
						Values:   testkit.Pick(b, nil, []string{"x"}, []string{"y", "x"}, []string{"-"}),
					})
				}
			}
			want, fails := metav1.LabelSelectorAsSelector(s)
			got, err := AsSelector(s)
			require.Equal(t, fails == nil, err == nil, "%v", s)
			if err == nil {
				require.Equal(t, want, got, "%v", s)
			}
		}
	})
}
