package place

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/overhead/kubelet"
	"github.com/podberth/podberth/overhead/quota"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/tools/report"
)

// describePod says what the pod really asks for: each resource with its parts, the table of "kubectl describe node" beside
// what the node offers, the quality of service class, the values of the pod's cgroup and what it is charged with in quotas
// at the time now. node is where it goes; nil: nowhere, and the table is left out.
func describePod(pod *v1.Pod, node *v1.Node, now time.Time) string {
	var b strings.Builder
	b.WriteString("What it asks for:\n")
	parts := overhead.Explain(pod, overhead.Options{})
	for _, part := range parts {
		report.Textf(&b, "  %s\n", part)
	}
	if len(parts) == 0 {
		b.WriteString("  nothing\n")
	}
	if node != nil {
		report.Textf(&b, "Of what %s offers:\n", node.Name)
		b.WriteString(report.DescribeResources(
			overhead.Requests(pod, overhead.Options{}), overhead.Limits(pod, overhead.Options{}), node.Status.Allocatable))
	}
	report.Textf(&b, "QoS class: %s\n", kubelet.QoS(pod, release.Current))
	report.Textf(&b, "Cgroup: %s\n", describeCgroup(kubelet.PodCgroup(pod, kubelet.CgroupOptions{})))
	report.Textf(&b, "Quota charge: %s\n", describeList(quota.Usage(pod, now, release.Current)))
	return b.String()
}

// describeCgroup names the values as the kernel does, cgroup v1 first. Values that the kubelet does not set are left out.
func describeCgroup(g kubelet.Cgroup) string {
	parts := []string{fmt.Sprintf("cpu.shares %d (cpu.weight %d)", g.Shares, g.Weight)}
	if g.QuotaMicros != nil && g.PeriodMicros != nil && *g.QuotaMicros > 0 {
		parts = append(parts, fmt.Sprintf("cpu.cfs_quota_us %d, cpu.cfs_period_us %d", *g.QuotaMicros, *g.PeriodMicros))
	}
	if g.MemoryBytes != nil && *g.MemoryBytes > 0 {
		parts = append(parts, fmt.Sprintf("memory.limit_in_bytes %d (%s)", *g.MemoryBytes, resources.Human("memory", *g.MemoryBytes)))
	}
	for _, size := range slices.Sorted(maps.Keys(g.HugePages)) {
		parts = append(parts, fmt.Sprintf("hugetlb.%sB.limit_in_bytes %d", strings.TrimSuffix(size, "i"), g.HugePages[size]))
	}
	return strings.Join(parts, ", ")
}

// describeList writes the amounts in the order of their names.
func describeList(list v1.ResourceList) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		q := list[name]
		parts = append(parts, string(name)+"="+q.String())
	}
	return strings.Join(parts, ", ")
}
