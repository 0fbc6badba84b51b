package place

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/overhead/runtimeclass"
)

var podTestTime = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

func amounts(pairs ...string) v1.ResourceList {
	list := v1.ResourceList{}
	for k := 0; k < len(pairs); k += 2 {
		list[v1.ResourceName(pairs[k])] = resource.MustParse(pairs[k+1])
	}
	return list
}

func podOf(containers ...v1.ResourceRequirements) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "test-pod"}}
	for k, r := range containers {
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: string(rune('a' + k)), Resources: r})
	}
	return p
}

// kata is the pod of the documentation's "Pod Overhead" after admission.
func kata(t *testing.T) *v1.Pod {
	t.Helper()
	name := "kata-fc"
	class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Overhead: &nodev1.Overhead{PodFixed: amounts("cpu", "250m", "memory", "120Mi")}}
	p := podOf(v1.ResourceRequirements{Limits: amounts("cpu", "500m", "memory", "100Mi")},
		v1.ResourceRequirements{Limits: amounts("cpu", "1500m", "memory", "100Mi")})
	p.Spec.RuntimeClassName = &name
	p, err := runtimeclass.Admit(overhead.Default(p), []*nodev1.RuntimeClass{class})
	require.NoError(t, err)
	return p
}

func TestDescribePod(t *testing.T) {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: v1.NodeStatus{Allocatable: amounts("cpu", "4", "memory", "8Gi", "pods", "110")}}
	huge := podOf(v1.ResourceRequirements{Requests: amounts("cpu", "1", "example.com/gpu", "2"), Limits: amounts("hugepages-2Mi", "64Mi", "memory", "1Gi")})
	ended := podOf()
	ended.Status.Phase = v1.PodSucceeded
	type test struct {
		name, why string
		pod       *v1.Pod
		node      *v1.Node
		want      string
	}
	testkit.Run(t, []test{
		{"kata on its node", "the documents' numbers, as kubectl describe node prints them", kata(t), node, `What it asks for:
  cpu 2250m: the containers 2 + overhead 250m
  memory 320Mi: the containers 200Mi + overhead 120Mi
Of what n1 offers:
  Resource  Requests     Limits
  --------  --------     ------
  cpu       2250m (56%)  2250m (56%)
  memory    320Mi (3%)   320Mi (3%)
QoS class: Guaranteed
Cgroup: cpu.shares 2304 (cpu.weight 88), cpu.cfs_quota_us 225000, cpu.cfs_period_us 100000, memory.limit_in_bytes 335544320 (320Mi)
Quota charge: count/pods=1, cpu=2250m, limits.cpu=2250m, limits.memory=320Mi, memory=320Mi, pods=1, requests.cpu=2250m, requests.memory=320Mi
`},
		{"without a node", "no table where the pod goes nowhere; a device has no share, huge pages have their limit", overhead.Default(huge), nil, `What it asks for:
  cpu 1: the containers 1
  memory 1Gi: the containers 1Gi
  example.com/gpu 2: the containers 2
  hugepages-2Mi 64Mi: the containers 64Mi
QoS class: Burstable
Cgroup: cpu.shares 1024 (cpu.weight 39), memory.limit_in_bytes 1073741824 (1Gi), hugetlb.2MB.limit_in_bytes 67108864
Quota charge: count/pods=1, cpu=1, hugepages-2Mi=64Mi, limits.memory=1Gi, memory=1Gi, pods=1, requests.cpu=1, requests.example.com/gpu=2, requests.hugepages-2Mi=64Mi, requests.memory=1Gi
`},
		{"best effort", "asks for nothing and has the smallest share", podOf(v1.ResourceRequirements{}), nil, `What it asks for:
  nothing
QoS class: BestEffort
Cgroup: cpu.shares 2 (cpu.weight 1)
Quota charge: count/pods=1, pods=1
`},
		{"ended", "is charged as an object only", ended, nil, `What it asks for:
  nothing
QoS class: BestEffort
Cgroup: cpu.shares 2 (cpu.weight 1)
Quota charge: count/pods=1
`},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.want, describePod(c.pod, c.node, podTestTime), c.why)
	})
}
