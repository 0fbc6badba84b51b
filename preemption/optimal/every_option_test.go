package optimal_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/preemption/optimal"
)

// dense makes one or two nodes with many small pods and an extended resource, so that many sets of victims are enough.
func dense(r *rand.Rand) situation {
	s := chance(r, false)
	s.nodes, s.pods, s.options = s.nodes[:0], nil, preemption.Options{}
	for i := range 1 + r.IntN(2) {
		s.nodes = append(s.nodes, testkit.Node(fmt.Sprint("n", i)).Zone("a").Capacity("cpu=4,memory=8Gi,example.com/gpu=6").Obj())
		cpu, memory, gpu := 0, 0, 0
		for k := range 6 + r.IntN(9) {
			c, m, g := 100*(1+r.IntN(8)), 128*(1+r.IntN(10)), max(0, r.IntN(5)-3)
			if cpu+c > 4000 || memory+m > 8192 || gpu+g > 6 {
				continue
			}
			cpu, memory, gpu = cpu+c, memory+m, gpu+g
			p := testkit.Pod(fmt.Sprintf("v%d-%d", i, k)).Request(fmt.Sprintf("cpu=%dm,memory=%dMi", c, m)).Priority(int32(r.IntN(3) - 1)).On(s.nodes[i].Name)
			if r.IntN(3) > 0 {
				p = p.Labels("app=" + []string{"x", "y"}[r.IntN(2)])
			}
			q := p.Obj()
			if g > 0 {
				n := testkit.Resources(fmt.Sprintf("example.com/gpu=%d", g))
				q.Spec.Containers[0].Resources.Limits = n
				q.Spec.Containers[0].Resources.Requests["example.com/gpu"] = n["example.com/gpu"]
			}
			if r.IntN(4) > 0 {
				at := metav1.NewTime(testkit.Epoch.Add(time.Duration(r.IntN(5)) * time.Minute))
				q.Status.StartTime = &at
			}
			s.pods = append(s.pods, q)
		}
	}
	if len(s.pods) > 5 && r.IntN(4) == 0 { // pods that leave together
		s.options.Units = []preemption.Unit{{Pods: s.pods[:2]}, {Pods: s.pods[3:6]}}
	}
	s.pod = testkit.Pod("p").Priority(int32(r.IntN(3))).Request(fmt.Sprintf("cpu=%dm,memory=%dMi", 500+100*r.IntN(25), 512+128*r.IntN(40))).Obj()
	if r.IntN(4) == 0 {
		n := testkit.Resources(fmt.Sprintf("example.com/gpu=%d", 1+r.IntN(5)))
		s.pod.Spec.Containers[0].Resources.Limits = n
		s.pod.Spec.Containers[0].Resources.Requests["example.com/gpu"] = n["example.com/gpu"]
	}
	return s
}

// The victims in situations of many kinds, by random options, in short: how many searches had an answer, the sum of their steps, and a
// hash of the victims and of what each search proved.
func TestEveryOption(t *testing.T) {
	var out strings.Builder
	for part := range uint64(80) {
		h, found, steps := testkit.Hash32(t, part), 0, 0
		for k := range uint64(30) {
			r := rand.New(rand.NewPCG(part*30+k, 29))
			var s situation
			if k%3 == 0 {
				s = chance(r, part%2 == 0)
			} else {
				s = dense(r)
			}
			o := draw(r)
			if r.IntN(8) == 0 {
				o.Steps = 1 + r.IntN(30)
			}
			if r.IntN(6) == 0 {
				o.Order = []optimal.Criterion{optimal.PrioritySum, optimal.Victims, optimal.HighestPriority}
				o.Cost = nil
			}
			if r.IntN(6) == 0 {
				o.Order = []optimal.Criterion{optimal.Cost, optimal.PrioritySum}
				o.Cost = func(v preemption.Placed) int64 { return int64(len(v.Pod.Labels)+len(v.Pod.Name)%3) - 2 } // less than 0 counts as 0
			}
			with := search(t, o)
			got := s.preempt(t, with.Options(s.options))
			if got == nil {
				continue
			}
			if got.Outcome == preemption.Success {
				found++
				for _, c := range got.Candidates {
					fmt.Fprint(h, c.Node, with.Of(c, now))
				}
			}
			p := with.Proof()
			steps += p.Steps
			fmt.Fprintln(h, shown(got), p)
		}
		fmt.Fprintf(&out, "%d: %d found, %d steps, %08x\n", part, found, steps, h.Sum32())
		require.Greater(t, found, 5)
	}
	testkit.Golden(t, "testdata/every_option.txt", out.String())
}
