package report

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/overhead"
)

// The documents' "kubectl describe node | grep test-pod -B2".
func TestDescribePods(t *testing.T) {
	pod := testkit.Containers(testkit.Kata)
	pod.CreationTimestamp = metav1.NewTime(testkit.Epoch)
	ended := testkit.Containers(testkit.Kata)
	ended.Status.Phase = v1.PodSucceeded
	young := testkit.Containers("container a requests cpu=100m")
	young.Name = "other"
	age := func(pod *v1.Pod) string {
		if pod.CreationTimestamp.IsZero() {
			return "<unknown>"
		}
		return duration.HumanDuration(testkit.Epoch.Add(36 * time.Minute).Sub(pod.CreationTimestamp.Time))
	}
	require.Equal(t, ""+
		"  Namespace  Name      CPU Requests  CPU Limits   Memory Requests  Memory Limits  Age\n"+
		"  ---------  ----      ------------  ----------   ---------------  -------------  ---\n"+
		"  default    test-pod  2250m (56%)   2250m (56%)  320Mi (1%)       320Mi (1%)     36m\n"+
		"  default    other     100m (2%)     0 (0%)       0 (0%)           0 (0%)         <unknown>\n",
		DescribePods([]*v1.Pod{pod, nil, ended, young}, testkit.Resources("cpu=4,memory=20Gi"), age))
}

func TestDescribeResources(t *testing.T) {
	a, b := testkit.Containers(testkit.Kata), testkit.Containers("container a requests cpu=1,example.com/gpu=2 limits example.com/gpu=2")
	require.Equal(t, ""+
		"  Resource           Requests     Limits\n"+
		"  --------           --------     ------\n"+
		"  cpu                3250m (81%)  2250m (56%)\n"+
		"  memory             320Mi (3%)   320Mi (3%)\n"+
		"  ephemeral-storage  0 (0%)       0 (0%)\n"+
		"  example.com/gpu    2            2\n",
		DescribeResources(total(overhead.Requests, a, b), total(overhead.Limits, a, b),
			testkit.Resources("cpu=4,memory=8Gi,ephemeral-storage=100Gi,pods=110,example.com/gpu=4")))
}

// total returns the sum of the amounts that of returns for each pod.
func total(of func(pod *v1.Pod, o overhead.Options) v1.ResourceList, pods ...*v1.Pod) v1.ResourceList {
	sum := v1.ResourceList{}
	for _, pod := range pods {
		for name, q := range of(pod, overhead.Options{}) {
			whole := sum[name]
			whole.Add(q)
			sum[name] = whole
		}
	}
	return sum
}

func TestPercent(t *testing.T) {
	type test struct{ name, why, resource, q, whole, want string }
	testkit.Run(t, []test{
		{"truncated", "2250 of 4000 is 56.25%", "cpu", "2250m", "4", "2250m (56%)"},
		{"nothing offered", "no share", "cpu", "1", "0", "1 (0%)"},
		{"more than all", "overcommitted", "memory", "2Gi", "1Gi", "2Gi (200%)"},
		{"no quotient in sight", "bounded", "memory", "9223372036854775807", "1", "9223372036854775807 (2147483647%)"},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.want, percent(v1.ResourceName(c.resource), resource.MustParse(c.q), resource.MustParse(c.whole)))
	})
}
