package admission

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// What is returned shares nothing with what was given: a caller may write into it.
func TestNothingIsShared(t *testing.T) {
	huge := v1.ResourceList{"cpu": resource.MustParse("123456789012345678901")} // more than an int64 holds: the amount is behind a pointer
	leveled := podAsking("p", "1")
	leveled.Spec.Resources = &v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("2")}}
	ranges := []*v1.LimitRange{limitRange("r", v1.LimitRangeItem{Type: v1.LimitTypeContainer, Default: huge, DefaultRequest: huge})}
	more := func(list v1.ResourceList) {
		amount := list["cpu"]
		amount.Add(amount)
		list["cpu"] = amount
	}
	unnamed := podAsking("", "1")
	unnamed.GenerateName = "web-"
	counted := &v1.ResourceQuota{Status: v1.ResourceQuotaStatus{Hard: v1.ResourceList{"pods": resource.MustParse("5")}, Used: v1.ResourceList{"pods": resource.MustParse("1")}}}
	counted.Namespace = leveled.Namespace
	type test struct {
		name, why string
		write     func(t *testing.T)
	}
	testkit.Run(t, []test{
		{"pod-level resources", "v1.37 fills them late", func(t *testing.T) {
			for _, v := range []release.Version{release.V1_36, release.V1_37} {
				p, _, err := Admit(leveled, Cluster{}, Options{Release: v})
				require.NoError(t, err)
				more(p.Spec.Resources.Requests)
			}
		}},
		{"defaults of a LimitRange", "the next pod gets them too", func(t *testing.T) {
			p := podAsking("p", "")
			p.Namespace = ranges[0].Namespace
			p = WithLimitRanges(p, ranges)
			more(p.Spec.Containers[0].Resources.Requests)
			more(p.Spec.Containers[0].Resources.Limits)
		}},
		{"a pod without a name", "refusals need one, the pod does not get it", func(t *testing.T) {
			p, _, err := Admit(unnamed, Cluster{}, Options{})
			require.NoError(t, err)
			require.Equal(t, []string{"", "web-"}, []string{p.Name, p.GenerateName})
		}},
		{"tolerations of a namespace", "the pod as it was has none", func(t *testing.T) {
			p, err := (&TolerationRestriction{Default: tols(v1.Toleration{Key: "a", Operator: v1.TolerationOpExists})}).Admit(unnamed, nil, v1.PodQOSBurstable)
			require.NoError(t, err)
			require.NotEmpty(t, p.Spec.Tolerations)
		}},
		{"what is used of a quota", "the status is the caller's", func(t *testing.T) {
			require.NoError(t, NewQuotas([]*v1.ResourceQuota{counted}, nil, testkit.Epoch, release.Current).Charge(leveled))
		}},
	}, func(t *testing.T, c test) {
		testkit.Unchanged[runtime.Object](t, func() { c.write(t) }, leveled, ranges[0], unnamed, counted)
	})
}
