package quota_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/overhead/quota"
	"github.com/podberth/podberth/release"
)

func web() *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: v1.PodSpec{
			Containers: []v1.Container{{Name: "server", Resources: v1.ResourceRequirements{
				Requests: v1.ResourceList{"cpu": resource.MustParse("500m")},
			}}},
			Overhead: v1.ResourceList{"cpu": resource.MustParse("250m")},
		},
	}
}

// Quotas count overhead.
func ExampleCheck() {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	hard := v1.ResourceList{"requests.cpu": resource.MustParse("2")}
	used := v1.ResourceList{"requests.cpu": resource.MustParse("1500m")}
	fmt.Println(quota.Check("team", hard, used, web(), now, release.Current))
	// Output: pods "web" is forbidden: exceeded quota: team, requested: requests.cpu=750m, used: requests.cpu=1500m, limited: requests.cpu=2
}

func ExampleUsage() {
	pod := web()
	pod.Status.Phase = v1.PodSucceeded
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	fmt.Println(len(quota.Usage(web(), now, release.Current)), len(quota.Usage(pod, now, release.Current)))
	// Output: 4 1
}
