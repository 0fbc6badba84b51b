package report

import (
	"math"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
)

// foremost are the resources that come before the others, with percentages.
var foremost = [...]v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage}

// percent returns an amount as "kubectl describe node" prints it beside what the node offers: "2250m (56%)". The percentage
// is truncated, and 0 where the node offers nothing.
func percent(name v1.ResourceName, q, allocatable resource.Quantity) string {
	percent := int64(0)
	if whole := resources.Value(name, allocatable); whole != 0 {
		f := float64(resources.Value(name, q)) / float64(whole) * 100
		percent = int64(max(math.MinInt64, min(f, math.MaxInt32))) // the conversion of a number beyond int64 has no defined result
	}
	return q.String() + " (" + strconv.FormatInt(percent, 10) + "%)"
}

// DescribeResources returns requests and limits beside what a node offers, like the table "Allocated resources" of "kubectl
// describe node": cpu, memory and ephemeral-storage with percentages, and then by name, without percentages, the other
// counted resources that the node offers. A nil list is an empty list.
func DescribeResources(requests, limits, allocatable v1.ResourceList) string {
	rows := [][]string{{"Resource", "Requests", "Limits"}, {"--------", "--------", "------"}}
	for _, name := range foremost {
		if offered, ok := allocatable[name]; ok {
			rows = append(rows, []string{string(name), percent(name, requests[name], offered), percent(name, limits[name], offered)})
		}
	}
	var others []v1.ResourceName
	for name := range allocatable {
		if !slices.Contains(foremost[:], name) && resources.IsScalar(name) {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	for _, name := range others {
		request, limit := requests[name], limits[name]
		rows = append(rows, []string{string(name), request.String(), limit.String()})
	}
	return alignColumns(rows)
}

// DescribePods returns the pods of a node like the table "Non-terminated Pods" of "kubectl describe node": requests and
// limits of cpu and memory, overhead included, beside what the node offers, and the text that age returns (kubectl uses
// duration.HumanDuration of k8s.io/apimachinery). Pods keep the order of the list. Pods that have ended are left out. A nil
// list is an empty list. age must not be nil.
func DescribePods(pods []*v1.Pod, allocatable v1.ResourceList, age func(pod *v1.Pod) string) string {
	rows := [][]string{{"Namespace", "Name", "CPU Requests", "CPU Limits", "Memory Requests", "Memory Limits", "Age"},
		{"---------", "----", "------------", "----------", "---------------", "-------------", "---"}}
	for _, pod := range pods {
		if pod == nil || pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
			continue
		}
		requests, limits := overhead.Requests(pod, overhead.Options{}), overhead.Limits(pod, overhead.Options{})
		row := []string{pod.Namespace, pod.Name}
		for _, name := range [...]v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
			row = append(row, percent(name, requests[name], allocatable[name]), percent(name, limits[name], allocatable[name]))
		}
		rows = append(rows, append(row, age(pod)))
	}
	return alignColumns(rows)
}

// alignColumns aligns the columns, with two spaces between columns and before the first column.
func alignColumns(rows [][]string) string {
	rows = escapedRows(rows)
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			line += "  " + cell + strings.Repeat(" ", widths[i]-len(cell))
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
