package extender

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// runs is a pod of a random node.
type runs struct {
	name          string
	priority, cpu int
	guarded       bool // by a budget that allows no disruption
}

// victimsOf returns the pods that preemption evicts on a node with free CPUs, by the rule of kube-scheduler: all pods of lower priority
// leave, then each comes back if there is room, first those whose budget the eviction breaks, each time those of higher priority first.
func victimsOf(free, want, priority int, pods []runs) (victims []string, violations int64) {
	var lower []runs
	for _, p := range pods {
		if p.priority < priority {
			lower = append(lower, p)
			free += p.cpu
		}
	}
	if free < want || len(lower) == 0 {
		return nil, 0
	}
	slices.SortStableFunc(lower, func(a, b runs) int {
		if a.guarded != b.guarded {
			return map[bool]int{true: -1, false: 1}[a.guarded]
		}
		return cmp.Compare(b.priority, a.priority)
	})
	for _, p := range lower {
		if free-p.cpu >= want {
			free -= p.cpu
			continue
		}
		victims = append(victims, p.name)
		if p.guarded {
			violations++
		}
	}
	return victims, violations
}

// Random nodes and random victims, held against the three rules of preempt.
func TestPreemptByItsRules(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	answers := map[string]int{}
	for range 300 {
		var text strings.Builder
		text.WriteString("{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b, namespace: shop, generation: 1}, spec: {minAvailable: 9, selector: {matchLabels: {guarded: 'true'}}}, status: {observedGeneration: 1, desiredHealthy: 9}}\n")
		nodes := map[string][]runs{}
		reserved := map[string]int{} // by node, the CPUs of a nominated pod of high priority
		for k := range 3 {
			node := fmt.Sprint("n", k)
			fmt.Fprintf(&text, "---\n{apiVersion: v1, kind: Node, metadata: {name: %s}, status: {allocatable: {cpu: '8', pods: '110'}}}\n", node)
			left := 8
			for i := range 4 {
				p := runs{fmt.Sprintf("%s-%d", node, i), i*2 + random.IntN(2), 1 + random.IntN(3), random.IntN(3) == 0}
				if left -= p.cpu; left < 0 {
					break
				}
				nodes[node] = append(nodes[node], p)
				fmt.Fprintf(&text, "---\n{apiVersion: v1, kind: Pod, metadata: {name: %[1]s, namespace: shop, uid: %[1]s, labels: {guarded: '%[2]v'}}, spec: {nodeName: %[3]s, priority: %[4]d, containers: [{name: c, resources: {requests: {cpu: '%[5]d'}}}]}, status: {startTime: '2026-01-01T00:00:00Z'}}\n",
					p.name, p.guarded, node, p.priority, p.cpu)
			}
			if random.IntN(4) == 0 {
				reserved[node] = 1
				fmt.Fprintf(&text, "---\n{apiVersion: v1, kind: Pod, metadata: {name: %[1]s-next, namespace: shop, uid: %[1]s-next}, spec: {priority: 1000, containers: [{name: c, resources: {requests: {cpu: '1'}}}]}, status: {nominatedNodeName: %[1]s}}\n", node)
			}
		}
		w, err := newWorld(input(t, text.String()), nil, nil)
		require.NoError(t, err)
		want := 1 + random.IntN(8)
		pod := podAsking(fmt.Sprint(want))
		*pod.Spec.Priority = int32(random.IntN(10))
		pod.Status.NominatedNodeName = []string{"", "n0"}[random.IntN(2)]
		asked := &extenderv1.ExtenderPreemptionArgs{Pod: pod, NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{}, NodeNameToVictims: map[string]*extenderv1.Victims{}}
		plain := map[string]string{}
		for node, pods := range nodes {
			free, room, known := 8-reserved[node], 0, true
			var uids []string
			for _, p := range pods {
				free -= p.cpu
				if random.IntN(3) == 0 {
					uids = append(uids, p.name)
					room += p.cpu
				}
			}
			if random.IntN(5) == 0 {
				uids, known = append(uids, "stranger"), false
			}
			given := int64(random.IntN(3))
			uids = append(uids, uids[:min(random.IntN(2), len(uids))]...) // one twice
			if random.IntN(2) == 0 {
				v := &extenderv1.MetaVictims{NumPDBViolations: given}
				for _, uid := range uids {
					v.Pods = append(v.Pods, &extenderv1.MetaPod{UID: uid})
				}
				asked.NodeNameToMetaVictims[node] = v
			} else {
				v := &extenderv1.Victims{NumPDBViolations: given}
				for _, uid := range uids {
					v.Pods = append(v.Pods, &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}})
				}
				asked.NodeNameToVictims[node] = v
			}
			slices.Sort(uids)
			uids = slices.Compact(uids)
			switch own, violations := victimsOf(free, want, int(*pod.Spec.Priority), pods); {
			case !known:
				answers["unknown"]++
				plain[node] = fmt.Sprint(uids, given)
			case free+room >= want:
				answers["enough"]++
				plain[node] = fmt.Sprint(uids, given)
			case own != nil:
				answers["more"]++
				both := append(uids, own...)
				slices.Sort(both)
				plain[node] = fmt.Sprint(slices.Compact(both), max(given, violations))
			default:
				answers["in vain"]++
			}
		}
		nominated := pod.Status.NominatedNodeName
		got, err := w.preempt(asked)
		require.NoError(t, err)
		require.Equal(t, nominated, pod.Status.NominatedNodeName, "the pod of the request stays")
		said := map[string]string{}
		for node, v := range got.NodeNameToMetaVictims {
			var uids []string
			for _, p := range v.Pods {
				uids = append(uids, p.UID)
			}
			slices.Sort(uids)
			said[node] = fmt.Sprint(uids, v.NumPDBViolations)
		}
		require.Equal(t, plain, said, text.String())
	}
	for _, kind := range []string{"unknown", "enough", "more", "in vain"} {
		require.Greater(t, answers[kind], 50, kind)
	}
}
