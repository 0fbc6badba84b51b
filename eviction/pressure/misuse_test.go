package pressure

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"
)

// Nil and zero arguments, and nil in lists, are answered.
func TestNil(t *testing.T) {
	p := pod("p", 0, "memory=1Gi")
	pods := []*v1.Pod{nil, p, nil}
	policy := compile(t, Default(Config{}, "linux"), Options{})
	use := map[types.UID]PodStats{p.UID: {}}
	low := map[Signal]Measurement{memoryAvailable: {Capacity: gi}}
	testkit.Misuse(t, map[string]any{
		"Admit": Admit, "CriticalVictims": CriticalVictims, "Rank": Rank, "Measure": Measure, "Reclaims": Reclaims, "DetectLayout": DetectLayout,
		"Compile": Compile, "Default": Default, "ParseThresholds": ParseThresholds, "ParseSettings": ParseSettings, "CgroupMemory": CgroupMemory, "Processes": Processes,
		"Observe": policy.Observe, "Relieved": policy.Relieved, "Forecast": policy.Forecast, "NextChange": policy.NextChange, "Thresholds": policy.Thresholds,
		"Signals": Signals, "zero Observe": new(Policy).Observe, "zero Relieved": new(Policy).Relieved, "zero NextChange": new(Policy).NextChange,
	}, nil, p, pods, use, low, memoryAvailable, nodeFsInodesFree, singleFilesystem, []Missing{{Name: v1.ResourceMemory, Amount: 1}}, []v1.NodeConditionType{v1.NodeMemoryPressure},
		Observation{Signals: low, Layout: singleFilesystem, Pods: pods, Stats: use}, Observation{Layout: singleFilesystem, Pods: pods}, policy.Thresholds(singleFilesystem)[0],
		Config{EvictionHard: settings{"memory.available": ""}}, NodeStats{Memory: &MemoryStats{}, NodeFs: &FsStats{}, Processes: &ProcessStats{}})
}

// The program of the package comment compiles and runs: it stands in the examples.
func TestComment(t *testing.T) {
	testkit.CommentRuns(t, "doc.go", "example_comment_test.go")
}
