package decider

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// Pods come and leave: each has a claim for every entry whose template exists while the pod is there, and none afterwards.
func FuzzClaims(f *testing.F) {
	f.Add([]byte("pods come and leave, some with claims"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		s, err := cluster.New(cluster.Objects{})
		require.NoError(t, err)
		template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "there"}}
		require.NoError(t, s.Set(template))
		there := map[string]*v1.Pod{}
		for n := 0; b.More() && n < 100; n++ {
			name := fmt.Sprint("p", b.Below(3))
			if pod := there[name]; pod != nil {
				ReleaseClaims(s, pod)
				delete(there, name)
			} else {
				pod := testkit.Pod(name).Obj()
				pod.UID = types.UID(fmt.Sprint(name, n))
				for k := range b.Below(3) {
					from := testkit.Pick(b, "there", "absent")
					pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, v1.PodResourceClaim{Name: fmt.Sprint("c", k), ResourceClaimTemplateName: &from})
				}
				MakeClaims(s, pod, fmt.Sprint("-", n))
				there[name] = pod
			}
			claims := cluster.List[*resourcev1.ResourceClaim](s)
			want := 0
			for _, pod := range there {
				made := 0
				for _, e := range pod.Spec.ResourceClaims {
					if *e.ResourceClaimTemplateName == "there" {
						made++
					}
				}
				require.Len(t, pod.Status.ResourceClaimStatuses, made)
				for _, status := range pod.Status.ResourceClaimStatuses {
					_, ok := claims.Get(pod.Namespace, *status.ResourceClaimName)
					require.True(t, ok, status.Name)
				}
				want += made
			}
			have := 0
			for range claims.All() {
				have++
			}
			require.Equal(t, want, have)
		}
	})
}
