package compare

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/podberth/podberth/score"
)

// scores compares raw, normalized and weighted scores and totals: over the nodes that the pod can go to, and over some
// other set of nodes, since the profile need not be the only one to reject nodes.
func (s *Side) scores(w *World, pod *v1.Pod, seed int64) error {
	nodes, err := s.Real.NodeInfos()
	if err != nil || len(nodes) == 0 {
		return err
	}
	r := rand.New(rand.NewSource(seed))
	var some []fwk.NodeInfo
	for _, n := range nodes {
		if r.Intn(4) > 0 {
			some = append(some, n)
		}
	}
	if len(some) == 0 {
		some = nodes
	}
	sets := [][]fwk.NodeInfo{some}
	var feasible []fwk.NodeInfo
	a := w.Plan.Prepare(pod)
	if !a.Rejected() {
		for _, n := range nodes {
			slot := w.Snapshot.Slot(n.Node().Name)
			if slices.Contains(a.Candidates(), slot) && a.Predicates.First(slot).Verdict == 0 {
				feasible = append(feasible, n)
			}
		}
	}
	if len(feasible) > 0 {
		sets = append(sets, feasible)
	}
	for _, set := range sets {
		if err := s.scoreSet(w, pod, set); err != nil {
			return err
		}
	}
	return nil
}

func (s *Side) scoreSet(w *World, pod *v1.Pod, nodes []fwk.NodeInfo) error {
	slots := make([]int, len(nodes))
	for k, n := range nodes {
		slots[k] = w.Snapshot.Slot(n.Node().Name)
	}
	a := w.Plan.Prepare(pod)
	columns, totals, ourErr := a.Scores(slots)
	theirs, ok, theirErr := s.Real.Totals(pod, nodes)
	if !ok {
		return nil
	}
	what := fmt.Sprintf("pod %s/%s", pod.Namespace, pod.Name)
	if !same(s, "total", what+" error", errText(theirErr), errText(ourErr)) || theirErr != nil {
		return nil
	}
	for _, weighted := range s.Profile.Scores {
		name := weighted.Plugin.Name
		area := "score/" + name
		real, err := s.Real.Score(name, pod, nodes)
		if err != nil {
			return err
		}
		k := slices.IndexFunc(columns, func(c score.Column) bool { return c.Plugin == name })
		if real.Skip || k < 0 {
			if k < 0 && allZero(real.Raw) && allZero(real.Normalized) { // a plugin without PreScore gives 0 to all
				s.Seen.Compared(area)
				s.Seen.Produced(area, "skip")
				continue
			}
			same(s, area, what+" skips", real.Skip, k < 0)
			continue
		}
		c := columns[k]
		for j, n := range nodes {
			at := fmt.Sprintf("%s node %s of %d", what, n.Node().Name, len(nodes))
			same(s, area, at+" raw", real.Raw[j], c.Raw[j])
			same(s, area, at+" normalized", real.Normalized[j], c.Scores[j])
			s.Seen.Score(name, real.Normalized[j])
			weight := weighted.Weight
			if weight == 0 {
				weight = 1
			}
			for _, x := range theirs[j].Scores {
				if x.Name == name {
					same(s, area, at+" weighted", x.Score, c.Scores[j]*weight)
				}
			}
		}
	}
	var best, ours []string
	for j, n := range nodes {
		same(s, "total", what+" node "+n.Node().Name, theirs[j].TotalScore, totals[j])
		if top(totals, totals[j]) {
			ours = append(ours, n.Node().Name)
		}
	}
	for j, n := range nodes {
		if !slices.ContainsFunc(theirs, func(x fwk.NodePluginScores) bool { return x.TotalScore > theirs[j].TotalScore }) {
			best = append(best, n.Node().Name)
		}
	}
	same(s, "best", what, strings.Join(best, " "), strings.Join(ours, " "))
	return nil
}

func top(totals []int64, t int64) bool { return slices.Max(totals) == t }

func allZero(list []int64) bool {
	return !slices.ContainsFunc(list, func(n int64) bool { return n != 0 })
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
