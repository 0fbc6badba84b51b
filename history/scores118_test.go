package history_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/history"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/score"
)

// conformance/older/v1_18 makes the file, and longer ones.
var recorded118 = flag.String("scores118", "testdata/scores_v1.18.20.jsonl", "file with scores of v1.18.20")

// profile118 has the plugins of the default profile of the real v1.18.20, and case118 a cluster, a pod and its scores of the nodes.
type (
	profile118 struct {
		Filters []string
		Scores  []struct {
			Name   string
			Weight int64
		}
	}
	case118 struct {
		Name        string
		Nodes       []*v1.Node
		Pods        []*v1.Pod
		Services    []*v1.Service
		ReplicaSets []*appsv1.ReplicaSet
		Pod         *v1.Pod
		Feasible    []int
		Scores      map[string][]int64
	}
)

// readScores118 returns what the real v1.18.20 says.
func readScores118(t *testing.T) (profile profile118, cases []case118) {
	t.Helper()
	file, err := os.Open(*recorded118)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	d := json.NewDecoder(bufio.NewReader(file))
	require.NoError(t, d.Decode(&profile))
	for d.More() {
		var c case118
		require.NoError(t, d.Decode(&c))
		cases = append(cases, c)
	}
	require.NotEmpty(t, cases)
	return profile, cases
}

// The profile has the score plugins of the real v1.18.20 in their order and with their weights, and only filters that v1.18.20 has.
func TestProfile118(t *testing.T) {
	recorded, _ := readScores118(t)
	got := history.Profile118(score.MaxScore)
	require.Len(t, got.Scores, len(recorded.Scores))
	for i, want := range recorded.Scores {
		require.Equal(t, want.Name, got.Scores[i].Name)
		require.Equal(t, want.Weight, got.Scores[i].Weight, want.Name)
	}
	for _, f := range got.Filters {
		require.Contains(t, recorded.Filters, f.Name)
	}
}

// Every score of every node is that of the real v1.18.20: by name the capped images, the affinity that is normalized from 0, and
// the spread; and random clusters. A plugin that has no score for a pod scores 0 there.
func TestScores118(t *testing.T) {
	recorded, cases := readScores118(t)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			if c.Feasible == nil {
				for i := range c.Nodes {
					c.Feasible = append(c.Feasible, i)
				}
			}
			got := scores118(t, cluster.Objects{Nodes: c.Nodes, Pods: c.Pods, Services: c.Services, ReplicaSets: c.ReplicaSets}, c.Pod, c.Feasible)
			for _, p := range recorded.Scores {
				if got[p.Name] == nil {
					got[p.Name] = make([]int64, len(c.Feasible))
				}
			}
			require.Equal(t, c.Scores, got)
		})
	}
}

// scores118 returns the scores of the feasible nodes by plugin.
func scores118(t *testing.T, o cluster.Objects, pod *v1.Pod, feasible []int) map[string][]int64 {
	t.Helper()
	s, err := cluster.New(o)
	require.NoError(t, err)
	plan, err := placement.New(s, history.Profile118(score.MaxScore))
	require.NoError(t, err)
	columns, _, err := plan.Prepare(pod).Scores(feasible)
	require.NoError(t, err)
	got := map[string][]int64{}
	for _, c := range columns {
		got[c.Plugin] = c.Scores
	}
	return got
}

// The real v1.18.20 ends a search after as many feasible nodes as v1.37 does: at least 100, and not 50 as the documentation says.
func TestSampling118(t *testing.T) {
	data, err := os.ReadFile("testdata/sampling_v1.18.20.txt")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")[1:]
	require.NotEmpty(t, lines)
	for _, line := range lines {
		var nodes, found int
		var percentage int32
		_, err := fmt.Sscan(line, &nodes, &percentage, &found)
		require.NoError(t, err, line)
		require.Equal(t, found, filter.NumToFind(nodes, filter.Sampling{Global: percentage}), line)
	}
}
