// Command v1_18 asks kube-scheduler v1.18.20, the real one, and prints what it says:
//
//	GOWORK=off go run . > ../../../history/testdata/scores_v1.18.20.jsonl
//	GOWORK=off go run . -sampling > ../../../history/testdata/sampling_v1.18.20.txt
//	GOWORK=off go run . -random 2000 -seed 7 > /tmp/scores.jsonl
//
// The first line of the first has the filters and the score plugins of the default profile in their order, the latter with weights.
// Each further line has the objects of a small cluster, a pod, and the score of every feasible node by every score plugin,
// normalized and without the weight. The cases by name are in named.go; after them come random ones.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	framework "k8s.io/kubernetes/pkg/scheduler/framework/v1alpha1"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

func main() {
	sampling := flag.Bool("sampling", false, "print how many feasible nodes end a search")
	random := flag.Int("random", 40, "number of random cases")
	seed := flag.Int64("seed", 1, "seed of the random cases")
	flag.Parse()
	out := bufio.NewWriter(os.Stdout)
	var err error
	if *sampling {
		err = searches(out)
	} else {
		if err = profiles(out); err == nil {
			err = scores(out, append(named(), randomCases(*random, *seed)...))
		}
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "v1_18:", err)
		os.Exit(1)
	}
}

// judge is a scheduler with the default profile, whose informers were never started: its cache and its listers have what they are given.
type judge struct {
	*scheduler.Scheduler
	informers informers.SharedInformerFactory
	profile   *profile.Profile
}

func newJudge(percentage int32) (*judge, error) {
	client := fake.NewSimpleClientset()
	j := &judge{informers: informers.NewSharedInformerFactory(client, 0)}
	recorders := func(string) events.EventRecorder { return &events.FakeRecorder{} }
	var err error
	j.Scheduler, err = scheduler.New(client, j.informers, scheduler.NewPodInformer(client, 0), recorders, make(chan struct{}),
		scheduler.WithPercentageOfNodesToScore(percentage))
	if err != nil {
		return nil, err
	}
	j.profile = j.Profiles[v1.DefaultSchedulerName]
	return j, nil
}

// load gives the scheduler the objects of a case. Each node comes twice, as a node that reports its status does: the cache counts for a
// node the other nodes that had its images when the node came.
func (j *judge) load(c Case) error {
	for _, n := range c.Nodes {
		if err := j.SchedulerCache.AddNode(n); err != nil {
			return err
		}
	}
	for _, n := range c.Nodes {
		if err := j.SchedulerCache.UpdateNode(n, n); err != nil {
			return err
		}
	}
	for _, p := range c.Pods {
		if err := j.SchedulerCache.AddPod(p); err != nil {
			return err
		}
	}
	for _, s := range c.Services {
		if err := j.informers.Core().V1().Services().Informer().GetIndexer().Add(s); err != nil {
			return err
		}
	}
	for _, s := range c.ReplicaSets {
		if err := j.informers.Apps().V1().ReplicaSets().Informer().GetIndexer().Add(s); err != nil {
			return err
		}
	}
	return nil
}

// profiles prints the plugins of the default profile.
func profiles(out *bufio.Writer) error {
	j, err := newJudge(100)
	if err != nil {
		return err
	}
	type weighted struct {
		Name   string `json:"name"`
		Weight int32  `json:"weight"`
	}
	var line struct {
		Filters []string   `json:"filters"`
		Scores  []weighted `json:"scores"`
	}
	for _, p := range j.profile.ListPlugins()["FilterPlugin"] {
		line.Filters = append(line.Filters, p.Name)
	}
	for _, p := range j.profile.ListPlugins()["ScorePlugin"] {
		line.Scores = append(line.Scores, weighted{p.Name, p.Weight})
	}
	return json.NewEncoder(out).Encode(line)
}

// scores prints the cases with their answers.
func scores(out *bufio.Writer, cases []Case) error {
	for _, c := range cases {
		j, err := newJudge(100)
		if err == nil {
			err = j.load(c)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		feasible := c.Nodes
		if c.Feasible != nil {
			feasible = nil
			for _, i := range c.Feasible {
				feasible = append(feasible, c.Nodes[i])
			}
		}
		ctx := context.Background()
		// An attempt brings the snapshot up to date. Whether it finds a node is not asked.
		_, _ = j.Algorithm.Schedule(ctx, j.profile, framework.NewCycleState(), c.Pod)
		state := framework.NewCycleState()
		for _, status := range []*framework.Status{j.profile.RunPreFilterPlugins(ctx, state, c.Pod), j.profile.RunPreScorePlugins(ctx, state, c.Pod, feasible)} {
			if !status.IsSuccess() {
				return fmt.Errorf("%s: %w", c.Name, status.AsError())
			}
		}
		lists, status := j.profile.RunScorePlugins(ctx, state, c.Pod, feasible)
		if !status.IsSuccess() {
			return fmt.Errorf("%s: %w", c.Name, status.AsError())
		}
		c.Scores = map[string][]int64{}
		for _, p := range j.profile.ListPlugins()["ScorePlugin"] {
			for i, s := range lists[p.Name] {
				if s.Name != feasible[i].Name || s.Score%int64(p.Weight) != 0 {
					return fmt.Errorf("%s: %s: %v is not the weighted score of %s", c.Name, p.Name, s, feasible[i].Name)
				}
				c.Scores[p.Name] = append(c.Scores[p.Name], s.Score/int64(p.Weight))
			}
		}
		line, err := short(c)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n", line)
	}
	return nil
}

// searches prints how many nodes are feasible when a search ends, for nodes that all take the pod.
func searches(out *bufio.Writer) error {
	fmt.Fprintln(out, "# kube-scheduler v1.18.20: nodes, percentageOfNodesToScore, feasible nodes when the search ends")
	for _, percentage := range []int32{0, 1, 30, 70, 100} {
		for _, n := range []int{49, 50, 60, 99, 100, 101, 120, 150, 250, 1000, 5000, 6000} {
			j, err := newJudge(percentage)
			if err != nil {
				return err
			}
			c := Case{Pod: pod("p", "", "", "")}
			for k := 0; k < n; k++ {
				c.Nodes = append(c.Nodes, node(fmt.Sprint("n", k), "4", "8Gi"))
			}
			if err := j.load(c); err != nil {
				return err
			}
			result, err := j.Algorithm.Schedule(context.Background(), j.profile, framework.NewCycleState(), c.Pod)
			if err != nil {
				return err
			}
			fmt.Fprintln(out, n, percentage, result.FeasibleNodes)
		}
	}
	return nil
}

// short is the JSON of a case without fields that are null, empty or 0.
func short(c Case) ([]byte, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	var x interface{}
	if err := json.Unmarshal(data, &x); err != nil {
		return nil, err
	}
	prune(x)
	return json.Marshal(x)
}

// prune drops fields of x and reports whether x says anything.
func prune(x interface{}) bool {
	switch x := x.(type) {
	case nil:
		return false
	case string:
		return x != ""
	case float64:
		return x != 0
	case map[string]interface{}:
		for k, v := range x {
			if !prune(v) {
				delete(x, k)
			}
		}
		return len(x) > 0
	case []interface{}:
		for i := range x {
			prune(x[i])
		}
	}
	return true
}
